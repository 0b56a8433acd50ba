"""The recorder of the ordeal: one clock for events, logs of providers and stored times."""

import json
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ops.ordeal.arena.recorder import Recorder
from ops.ordeal.history import RunHistory, read_history

FILE_NAME = "history.jsonl"


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    made = Recorder(tmp_path / FILE_NAME)
    yield made
    made.close()


def read_back(recorder: Recorder) -> RunHistory:
    recorder.close()
    return read_history(recorder.path)


def write_log(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines))
    return path


def test_what_was_written_before_the_start_happened_at_nought(recorder: Recorder) -> None:
    recorder.write("process:web-1", "started", pid=7, id=None)
    recorder.start_clock()
    recorder.write("run", "began", seed=1)

    first, second = read_back(recorder).events
    assert (first.who, first.at) == ("process:web-1", 0.0)
    assert second.who == "run" and second.at > 0.0


def test_a_stored_time_is_told_by_the_clock_of_the_run(recorder: Recorder) -> None:
    recorder.start_clock()
    row = {"id": uuid.uuid4(), "at": datetime.now(UTC) + timedelta(seconds=5), "text": "x", "none": None}
    recorder.write_rows("entries", [row])

    [told] = read_back(recorder).rows("entries")
    assert told["at"] == pytest.approx(5.0, abs=1.0)
    assert (told["id"], told["text"], told["none"]) == (str(row["id"]), "x", None)


def test_the_log_of_a_provider_joins_the_history_at_its_own_times(recorder: Recorder, tmp_path: Path) -> None:
    recorder.start_clock()
    now = time.perf_counter()
    asked = {"at": now + 1, "what": "asked", "call": 3, "request": "turn-9", "messages": []}
    ended = {"at": now + 2, "what": "finished", "call": 3, "reason": "stop"}
    log = write_log(tmp_path / "log.jsonl", json.dumps(asked), json.dumps(ended))
    recorder.write_provider_log("first", log, prefix="first-1.", ended_at=60.0)

    first, last = read_back(recorder).of("provider")
    assert (first.what, first.data["call"], first.data["request"]) == ("asked", "first-1.3", "turn-9")
    assert first.at == pytest.approx(1.0, abs=0.5) and last.at - first.at == pytest.approx(1.0)


def test_a_call_that_was_open_when_its_provider_was_killed_broke_then(
    recorder: Recorder, tmp_path: Path
) -> None:
    recorder.start_clock()
    asked = json.dumps({"at": time.perf_counter(), "what": "asked", "call": 1, "messages": []})
    log = write_log(tmp_path / "log.jsonl", asked, '{"at": 12.5, "what": "pie')
    recorder.write_provider_log("first", log, prefix="first-1.", ended_at=7.0)

    events = [(event.what, event.data["call"]) for event in read_back(recorder).of("provider")]
    assert events == [("asked", "first-1.1"), ("broke", "first-1.1")]


def test_a_provider_that_wrote_no_log_adds_nothing(recorder: Recorder, tmp_path: Path) -> None:
    recorder.write_provider_log("first", tmp_path / "none.jsonl", prefix="first-1.", ended_at=7.0)

    assert list(read_back(recorder).events) == []
