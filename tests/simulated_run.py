"""A small model of the service that writes valid histories from a seed, in which the judge must find nothing.

It keeps every promise by construction: words are stored as they are shown, a line of first come first served stands in
front of a ceiling, half answers stay out of prompts, a swept turn is held and answered first.
"""

import heapq
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ops.ordeal.history import HistoryEvent, RunHistory

PAUSE = "I have to stop here for a moment."
QUEUED = "I will be with you in a little while."
SAFETY = "Please call the number on the wall of your site."
BACK = "I am back. First to what you asked before."
JOINS = "A person from your site is with you now."
LEAVES = "The person has left. I am here again."
WORD_S = 0.05
STEP_S = 0.01
LEASE_S = 10.0
WAIT_CEILING_S = 20.0


@dataclass(eq=False)
class ModelTurn:
    """One turn of the model, and the row that it becomes."""

    row: dict[str, Any]
    words: list[str] = field(default_factory=list)
    call: str = ""
    shown: int = 0
    held: list["ModelTurn"] = field(default_factory=list)
    breaks_after: int | None = None
    extra_words: int = 0

    @property
    def is_live(self) -> bool:
        return self.row["state"] in ("waiting", "speaking")


@dataclass(eq=False)
class ModelPerson:
    """One participant with one open page."""

    name: str
    conversation: int
    code: str
    process: str
    page: int = 0
    said: int = 0
    turns: list[ModelTurn] = field(default_factory=list)
    taken_by: str = ""
    is_paused: bool = False

    @property
    def first_live(self) -> ModelTurn | None:
        return next((turn for turn in self.turns if turn.is_live), None)

    @property
    def who(self) -> str:
        return f"page:{self.name}/{self.page}"


class SimulatedRun:
    """Writes one history. The same seed writes the same."""

    def __init__(
        self, seed: int, *, people: int = 4, minutes: float = 1.0, ceiling: int = 0, planned: bool = True
    ) -> None:
        self._random = random.Random(seed)
        self._planned = planned
        self._ends_at = minutes * 60
        self._due: list[tuple[float, int, Callable[[], object]]] = []
        self._order = itertools.count()
        self._ids = itertools.count(1)
        self._calls = itertools.count(1)
        self.now = 0.0
        self.events: list[HistoryEvent] = []
        self.ceiling = ceiling or self._random.choice((1, 2, 3))
        self.processes = {"web-1": "p-1-0", "web-2": "p-2-0"}
        self.turns: list[ModelTurn] = []
        self.entries: list[dict[str, Any]] = []
        self.flags: list[dict[str, Any]] = []
        self.steps: list[dict[str, Any]] = []
        self.audit: list[dict[str, Any]] = []
        self.pauses: list[dict[str, Any]] = []
        self.fates: list[int | None] = []
        """After how many words the next replies break off; None: they are whole. Without any, the seed decides."""
        self.people = [
            ModelPerson(f"person{n}", 100 + n, f"heron-{n}", self._random.choice(list(self.processes)))
            for n in range(1, people + 1)
        ]
        self._begin(seed)

    def run(self) -> RunHistory:
        """Play to the end and return the history."""
        while self._due:
            self.now, _, act = heapq.heappop(self._due)
            act()
        self._finish()
        return RunHistory(sorted(self.events, key=lambda event: event.at))

    def _begin(self, seed: int) -> None:
        people = {
            one.name: {
                "conversation": one.conversation,
                "participant": one.conversation,
                "site": 1,
                "code": one.code,
            }
            for one in self.people
        }
        limits = {
            "ceiling": self.ceiling,
            "wait_ceiling_s": WAIT_CEILING_S,
            "lease_s": LEASE_S,
            "hold_s": 3600.0,
            "lanes": {"first": self.ceiling},
            "end_within_s": 15.0,
        }
        self._note("run", "began", seed=seed, people=people, staff={"sam": 7, "tess": 8}, limits=limits)
        for name, process in self.processes.items():
            self._note(f"process:{name}", "started", id=process, pid=1)
        for name in ("sam", "tess"):
            self._note(f"staff:{name}/1", "opens", process="web-1")
            self._note(f"staff:{name}/1", "hello", frame={"type": "hello", "flags": []})
        for person in self.people:
            self._open_page(person)
            if self._planned:
                self._plan(person)
        if self._planned:
            self.later(self._random.uniform(5, 20), self.kill)

    def _plan(self, person: ModelPerson) -> None:
        at = self._random.uniform(0.2, 3.0)
        while at < self._ends_at - WAIT_CEILING_S - 10:
            act = self._random.choices(
                (
                    self.say,
                    self.stop,
                    self.reconnect,
                    self.say_red,
                    self.take_over,
                    self.say_twice,
                    self.pause,
                    self.press_help,
                ),
                weights=(10, 2, 2, 1, 1, 1, 1, 1),
            )[0]
            self.later(at, lambda act=act: act(person))  # type: ignore[misc]
            at += self._random.uniform(1.0, 6.0)

    def later(self, delay_s: float, act: Callable[[], object]) -> None:
        heapq.heappush(self._due, (self.now + delay_s, next(self._order), act))

    def _note(self, who: str, what: str, **data: Any) -> None:
        self.events.append(HistoryEvent(at=round(self.now, 4), who=who, what=what, data=data))

    def _show(self, person: ModelPerson, **frame: Any) -> None:
        self._note(person.who, "got", frame=frame)

    # What people do.

    def _open_page(self, person: ModelPerson) -> None:
        person.page += 1
        self._note(person.who, "opens", process=person.process, device="phone", visit=f"v-{person.name}")
        turns = [self._snapshot(turn) for turn in person.turns]
        there = {"name": person.taken_by} if person.taken_by else None
        items = turns + [
            {"entry": one["id"], "kind": one["kind"], "text": one["text"]}
            for one in self.entries
            if one["conversation"] == person.conversation
        ]
        conversation = {"id": person.conversation, "turns": items, "person": there}
        self._note(person.who, "hello", frame={"type": "hello", "conversation": conversation})

    def _snapshot(self, turn: ModelTurn) -> dict[str, Any]:
        row = turn.row
        hidden = row["state"] == "paused"
        text = "" if hidden else "".join(turn.words[: turn.shown])
        return {"id": row["id"], "key": row["key"], "state": row["state"], "reply": text, "seq": turn.shown}

    def _write(self, person: ModelPerson, text: str, **facts: Any) -> tuple[str, str]:
        person.said += 1
        text = f"{text} {person.code}-{person.said}."
        key = f"key-{person.code}-{person.said}"
        frame = {"type": "say", "key": key, "text": text}
        self._note(person.who, "sent", frame=frame, **facts)
        return key, text

    def _open(self, person: ModelPerson, key: str, text: str, **facts: Any) -> ModelTurn:
        row: dict[str, Any] = {
            "id": next(self._ids),
            "conversation": person.conversation,
            "key": key,
            "question": text,
            "state": "waiting",
            "owner": self.processes[person.process],
            "created_at": self.now,
            "attempts": [],
        }
        turn = ModelTurn(row | facts)
        self.turns.append(turn)
        person.turns.append(turn)
        self._show(person, type="accepted", key=key, turn=row["id"])
        return turn

    def say(self, person: ModelPerson, *, extra_words: int = 0) -> None:
        key, text = self._write(person, "I walked by the river")
        if person.taken_by:
            done = {"state": "handed_over", "reason": "person", "closed_at": self.now}
            turn = self._open(person, key, text, **done)
            self._show(person, type="handed_over", turn=turn.row["id"], seq=0)
            return
        if person.is_paused:
            done = {"state": "paused", "reason": "staff_pause", "closed_at": self.now, "line": PAUSE}
            turn = self._open(person, key, text, **done)
            self._show(person, type="paused", turn=turn.row["id"], seq=0, line=PAUSE)
            return
        turn = self._open(person, key, text)
        turn.extra_words = extra_words
        self._admit()
        if turn.row["state"] == "waiting":
            self._show(person, type="waiting", turn=turn.row["id"], line=QUEUED)
            self.later(WAIT_CEILING_S, lambda: self._refuse(turn, person))

    def _refuse(self, turn: ModelTurn, person: ModelPerson) -> None:
        before = [
            one.row["closed_at"] for one in person.turns if one.row["id"] < turn.row["id"] and not one.is_live
        ]
        waits_from = max([turn.row["created_at"], *before])
        if turn.row["state"] != "waiting" or person.first_live is not turn:
            return
        if self.now - waits_from < WAIT_CEILING_S:
            self.later(waits_from + WAIT_CEILING_S - self.now + STEP_S, lambda: self._refuse(turn, person))
            return
        self._close(turn, person, "refused", "wait_ceiling")

    def say_twice(self, person: ModelPerson) -> None:
        self.say(person)
        last = person.turns[-1].row
        self._note(person.who, "sent", frame={"type": "say", "key": last["key"], "text": last["question"]})
        self._show(person, type="accepted", key=last["key"], turn=last["id"])

    def say_red(self, person: ModelPerson) -> None:
        if person.taken_by:
            return
        key, text = self._write(person, "I do not want to live", red=True)
        for turn in [one for one in person.turns if one.is_live]:
            self._close(turn, person, "handed_over", "red")
        facts = {"state": "safety", "reason": "red", "line": SAFETY, "closed_at": self.now}
        turn = self._open(person, key, text, **facts)
        self._raise_flag(person, turn.row["id"])
        self._show(person, type="safety", turn=turn.row["id"], line=SAFETY)
        self._admit()

    def _raise_flag(
        self, person: ModelPerson, turn: int | None, *, kind: str = "harm", source: str = "message"
    ) -> None:
        flag: dict[str, Any] = {
            "id": len(self.flags) + 1,
            "tier": "red",
            "kind": kind,
            "source": source,
            "conversation": person.conversation,
            "participant": person.conversation,
            "turn": turn,
            "count": 1,
            "state": "open",
            "owner": None,
            "owner_name": "",
            "opened_at": self.now,
            "accepted_at": None,
            "closed_at": None,
            "closed_by_name": "",
            "outcome": "",
        }
        self.flags.append(flag)
        self._step(flag, "opened", "")
        for name in ("sam", "tess"):
            frame = {"type": "flag", "id": flag["id"], "tier": "red", "state": "open"}
            self._note(f"staff:{name}/1", "got", frame=frame)
        self.later(self._random.uniform(1, 5), lambda: self._accept(flag))

    def _step(self, flag: dict[str, Any], what: str, who: str) -> None:
        step = {"id": len(self.steps) + 1, "flag": flag["id"], "what": what, "who": who, "at": self.now}
        self.steps.append(step)

    def _accept(self, flag: dict[str, Any]) -> None:
        flag.update(state="accepted", owner=7, owner_name="sam", accepted_at=self.now)
        self._act_on_flag(flag, "accept", "accepted_flag", "accepted")
        if self._random.random() < 0.5:
            self.later(2.0, lambda: self._close_flag(flag))

    def _close_flag(self, flag: dict[str, Any]) -> None:
        flag.update(state="closed", closed_at=self.now, closed_by_name="sam", outcome="concern")
        self._act_on_flag(flag, "close", "closed_flag", "closed")

    def _act_on_flag(self, flag: dict[str, Any], act: str, recorded: str, step: str) -> None:
        self._note("staff:sam/1", "sent", frame={"type": act, "flag": flag["id"]})
        self._step(flag, step, "sam")
        self._record(recorded, flag["participant"], f"flag {flag['id']}")
        self._note("staff:sam/1", "got", frame={"type": "done", "act": act, "flag": flag["id"]})

    def _record(self, what: str, about: int, note: str) -> None:
        row = {
            "id": len(self.audit) + 1,
            "at": self.now,
            "who": "sam",
            "what": what,
            "about": about,
            "note": note,
        }
        self.audit.append(row)

    def take_over(self, person: ModelPerson) -> None:
        if person.taken_by:
            return
        frame = {"type": "take_over", "conversation": person.conversation}
        self._note("staff:sam/1", "sent", frame=frame)
        for turn in [one for one in person.turns if one.is_live]:
            self._close(turn, person, "handed_over", "person")
        person.taken_by = "sam"
        entry = self._enter(person, "joins", JOINS, "took_over")
        done = {"type": "done", "act": "take_over", "conversation": person.conversation, "entry": entry}
        self._note("staff:sam/1", "got", frame=done)
        self._admit()
        self.later(1.0, lambda: self._enter(person, "said", f"I am here {person.code}-0.", "said"))
        self.later(3.0, lambda: self._hand_back(person))

    def _hand_back(self, person: ModelPerson) -> None:
        person.taken_by = ""
        self._enter(person, "leaves", LEAVES, "handed_back")

    def _enter(self, person: ModelPerson, kind: str, text: str, act: str) -> int:
        row: dict[str, Any] = {
            "id": len(self.entries) + 1,
            "conversation": person.conversation,
            "kind": kind,
            "key": f"entry-key-{len(self.entries)}" if kind == "said" else None,
            "person": 7,
            "name": "sam",
            "text": text,
            "after_turn": person.turns[-1].row["id"] if person.turns else 0,
            "at": self.now,
        }
        self.entries.append(row)
        self._record(act, person.conversation, f"entry {row['id']}")
        if kind == "said":
            self._show(person, type="said", id=row["id"], text=text)
        else:
            self._show(person, type="person", id=row["id"], state=kind, line=text)
        return int(row["id"])

    def pause(self, person: ModelPerson) -> None:
        """Staff pause the companion for this person for a while."""
        if person.is_paused:
            return
        person.is_paused = True
        row: dict[str, Any] = {
            "id": len(self.pauses) + 1,
            "scope": "person",
            "about": person.conversation,
            "by_name": "sam",
            "at": self.now,
            "ended_at": None,
        }
        self.pauses.append(row)
        self._record("paused_companion", person.conversation, "")
        for turn in [one for one in person.turns if one.is_live]:
            self._close(turn, person, "paused", "staff_pause")
        self._admit()
        self.later(4.0, lambda: self._resume(person, row))

    def _resume(self, person: ModelPerson, row: dict[str, Any]) -> None:
        person.is_paused = False
        row["ended_at"] = self.now
        self._record("resumed_companion", person.conversation, "")

    def press_help(self, person: ModelPerson) -> None:
        """The participant asks for a person."""
        self._note(person.who, "sent", frame={"type": "help"})
        self._raise_flag(person, None, kind="help", source="button")
        self._show(person, type="help", line=SAFETY)

    def stop(self, person: ModelPerson) -> None:
        live = [turn for turn in person.turns if turn.is_live]
        if live:
            self._note(person.who, "sent", frame={"type": "stop", "turn": live[-1].row["id"]})
            self._close(live[-1], person, "stopped", "stopped")
            self._admit()

    def reconnect(self, person: ModelPerson) -> None:
        self._note(person.who, "closed", code=1001)
        person.process = self._random.choice(list(self.processes))
        self._open_page(person)

    # What the service does.

    def kill(self) -> None:
        """Kill any process."""
        self._kill_process(self._random.choice(list(self.processes)))

    def kill_busy(self) -> None:
        """Kill the process of the turn that speaks."""
        owners = {turn.row["owner"] for turn in self.turns if turn.row["state"] == "speaking"}
        self._kill_process(next(name for name, owner in self.processes.items() if owner in owners))

    def _kill_process(self, name: str) -> None:
        dead = self.processes[name]
        self._note("fault", "begins", fault="kill", target=name)
        self._note(f"process:{name}", "ended", code=-9)
        self._note("fault", "ends", fault="kill", target=name)
        self.processes[name] = f"{dead}-again"
        for turn in self.turns:
            if turn.row["owner"] == dead and turn.is_live:
                self._leave(turn)
        self._note(f"process:{name}", "started", id=self.processes[name], pid=2)
        for person in self.people:
            if person.process == name:
                self.reconnect(person)
        self.later(LEASE_S, lambda: self._sweep(dead))

    def _sweep(self, dead: str) -> None:
        for person in self.people:
            for turn in person.turns:
                if turn.row["owner"] == dead and turn.is_live:
                    self._close(turn, person, "paused", "lost")
        self._admit()

    def _admit(self) -> None:
        alive = set(self.processes.values())
        for turn in self.turns:
            speaking = sum(1 for one in self.turns if one.row["state"] == "speaking")
            if turn.row["state"] != "waiting" or speaking >= self.ceiling:
                continue
            person = self._person_of(turn)
            if person.first_live is turn and turn.row["owner"] in alive:
                turn.row.update(state="speaking", admitted_at=self.now)
                fates = self.fates[:1] or [self._random.choice((None, None, None, 0, 2))]
                del self.fates[:1]
                turn.breaks_after = fates[0]
                self.later(STEP_S, lambda turn=turn: self._ask(turn))  # type: ignore[misc]

    def _person_of(self, turn: ModelTurn) -> ModelPerson:
        return next(one for one in self.people if one.conversation == turn.row["conversation"])

    def _ask(self, turn: ModelTurn) -> None:
        if not turn.is_live or turn.row["owner"] not in self.processes.values():
            return
        person = self._person_of(turn)
        earlier = [one for one in person.turns if one.row["id"] < turn.row["id"]]
        turn.held = [
            one for one in earlier if one.row["state"] == "paused" and not one.row.get("answered_by")
        ]
        questions = [one.row["question"] for one in turn.held] + [turn.row["question"]]
        turn.words = [f"{word} " for one in questions for word in f"About {one} I think this.".split()]
        turn.words += [f"word{number} " for number in range(turn.extra_words)]
        turn.call = f"call-{next(self._calls)}"
        messages = [{"role": "system", "content": "You are kind."}, *self._dialogue(earlier)]
        messages.append({"role": "user", "content": "\n\n".join(questions)})
        request = f"turn-{turn.row['id']}"
        self._note("provider:first", "asked", call=turn.call, request=request, messages=messages)
        turn.row["attempts"] = [{"number": 0, "lane": "first", "failure": "", "words": 1}]
        turn.row["lane"] = "first"
        self.later(WORD_S, lambda: self._speak(turn, turn.call))

    def _dialogue(self, earlier: list[ModelTurn]) -> list[dict[str, str]]:
        messages = []
        for one in earlier:
            row = one.row
            if row["state"] == "complete" or (
                row["state"] == "stopped" and row.get("admitted_at") is not None
            ):
                reply = row["reply"] if row["state"] == "complete" else f"{row['reply'].rstrip()} …".lstrip()
                messages.append({"role": "user", "content": row["question"]})
                messages.append({"role": "assistant", "content": reply})
        return messages

    def _speak(self, turn: ModelTurn, call: str) -> None:
        if not turn.is_live or not turn.call:
            return
        person = self._person_of(turn)
        if turn.breaks_after == turn.shown:
            self._note("provider:first", "broke", call=call, kind="reset")
            turn.call, turn.row["attempts"][0]["failure"] = "", "network"
            self._close(turn, person, "paused", "network")
            self._admit()
            return
        if turn.shown == len(turn.words):
            self._note("provider:first", "finished", call=call, reason="stop")
            turn.call = ""
            self._close(turn, person, "complete", "")
            self._admit()
            return
        self._note("provider:first", "piece", call=call, text=turn.words[turn.shown])
        if turn.shown == 0:
            turn.row["first_word_at"] = self.now
            if turn.held:
                turn.row["openings"] = [{"kind": "i_am_back", "line": BACK}]
                self._show(person, type="opening", turn=turn.row["id"], kind="i_am_back", line=BACK)
        turn.shown += 1
        self._show(person, type="words", turn=turn.row["id"], seq=turn.shown, text=turn.words[turn.shown - 1])
        self._note(person.who, "sent", frame={"type": "ack", "turn": turn.row["id"], "seq": turn.shown})
        self.later(WORD_S, lambda: self._speak(turn, call))

    def _leave(self, turn: ModelTurn) -> None:
        if turn.call:
            self._note("provider:first", "left", call=turn.call)
            turn.call = ""

    def _close(self, turn: ModelTurn, person: ModelPerson, state: str, reason: str) -> None:
        self._leave(turn)
        line = PAUSE if state in ("paused", "refused") else ""
        row = turn.row
        row.update(state=state, reason=reason, closed_at=self.now, line=line)
        row.update(reply="".join(turn.words[: turn.shown]), seq=turn.shown)
        if state == "paused":
            row["held_until"] = self.now + 3600
        if state == "complete":
            for one in turn.held:
                one.row["answered_by"] = row["id"]
        frame = {"type": state, "turn": row["id"], "seq": turn.shown}
        self._show(person, **frame, **({"line": line} if line else {}))

    def _finish(self) -> None:
        self.now = max(self.now, self._ends_at)
        self._note("run", "calm")
        self.now += 1.0
        self._note("run", "ended")
        for table, rows in (
            ("turns", [turn.row for turn in self.turns]),
            ("chunks", []),
            ("entries", self.entries),
            ("flags", self.flags),
            ("flag_steps", self.steps),
            ("pauses", self.pauses),
            ("audit", self.audit),
            ("left", []),
        ):
            self.now += 0.01
            self._note("record", "stored", table=table, rows=rows)
