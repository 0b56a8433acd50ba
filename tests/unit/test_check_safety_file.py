"""`manage.py check_safety --file --json` reads one message a line and reports each in one line, without a database."""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.prefork import prefork

DANGER = "I'm going to kill myself tonight"
WORRY = "I feel like a burden to everyone"


def check(path: Path) -> "subprocess.CompletedProcess[str]":
    """Run it in a process of its own, without any settings."""
    return prefork.run(
        ["manage.py", "check_safety", "--file", str(path), "--json"],
        env={"PATH": os.environ["PATH"], "COMPANION_STATE_DIR": str(path.parent / "state")},
        timeout_s=120,
    )


def write(folder: Path, rows: list[Any]) -> Path:
    path = folder / "messages.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_each_line_is_reported_with_its_tier_and_rule(tmp_path: Path) -> None:
    done = check(
        write(
            tmp_path,
            [{"id": "a1", "text": "I had tea"}, {"id": 2, "text": WORRY}, {"id": "a3", "text": DANGER}],
        )
    )

    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr) == (0, "")
    assert [set(row) for row in rows] == [{"id", "tier", "rule"}] * 3
    assert [(row["id"], row["tier"]) for row in rows] == [("a1", "none"), (2, "amber"), ("a3", "red")]
    assert rows[0]["rule"] is None
    assert all(isinstance(row["rule"], str) for row in rows[1:])


def test_bad_lines_are_named_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "messages.jsonl"
    bad = [
        "{",
        "[]",
        '{"text": "no id"}',
        '{"id": true, "text": "x"}',
        '{"id": "x"}',
        '{"id": "x", "text": 5}',
    ]
    path.write_text("\n".join([*bad, "", '{"id": "good", "text": "hello"}']), encoding="utf-8")

    done = check(path)

    assert done.returncode == 2
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == ["good"]
    assert [f"line {number}:" in done.stderr for number in range(1, 9)] == [True] * 6 + [False] * 2
    assert "6 lines were not read." in done.stderr


def test_a_file_that_cannot_be_read_ends_with_1(tmp_path: Path) -> None:
    (tmp_path / "latin.jsonl").write_bytes(b'{"id": "a", "text": "caf\xe9"}')

    for name in ("none.jsonl", "latin.jsonl"):
        done = check(tmp_path / name)
        assert (done.returncode, done.stdout) == (1, "")
        assert "cannot be read" in done.stderr


def test_strange_texts_are_read_like_others(tmp_path: Path) -> None:
    texts = ["", " ", "\0", "\ud83d", "\udc00 tea", "😀" * 4000, "a" * 4000, "🔪\u200d🔪", "\u202e" + "tea"]
    rows = [{"id": number, "text": text} for number, text in enumerate(texts)]
    rows += [
        {"id": "\ud800", "text": f"\0 {DANGER} \ud83d"},
        {"id": "long", "text": f"{'tea ' * 990}. {DANGER}"},
    ]

    done = check(write(tmp_path, rows))

    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr) == (0, "")
    assert [row["id"] for row in found] == [row["id"] for row in rows]
    assert [row["tier"] for row in found[-2:]] == ["red", "red"]
    assert all(row["rule"] != "broken-rule" for row in found)


def test_ten_thousand_lines_are_read_in_seconds(tmp_path: Path) -> None:
    path = write(tmp_path, [{"id": number, "text": f"{WORRY}, number {number}"} for number in range(10_000)])
    began = time.monotonic()

    done = check(path)

    assert len(done.stdout.splitlines()) == 10_000
    # A few seconds on a machine that does nothing else.
    assert time.monotonic() - began < 60
