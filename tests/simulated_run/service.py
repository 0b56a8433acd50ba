"""What the service of the model does: pages, turns, their calls, and processes that die."""

import itertools
from typing import Any

from tests.simulated_run.record import PAUSE, WAIT_CEILING_S, ModelPerson, ModelRecord, ModelTurn

QUEUED = "I will be with you in a little while."
BACK = "I am back. First to what you asked before."
WORD_S = 0.05
STEP_S = 0.01
LEASE_S = 10.0


class ModelService:
    """Words are stored as they are shown; a line of first come first served stands in front of the ceiling."""

    def __init__(self, record: ModelRecord) -> None:
        self._record = record
        self._calls = itertools.count(1)
        self.fates: list[int | None] = []
        """After how many words the next replies break off; None: they are whole. Without any, the seed decides."""

    def open_page(self, person: ModelPerson) -> None:
        person.page += 1
        self._record.note(
            person.who, "opens", process=person.process, device="phone", visit=f"v-{person.name}"
        )
        turns = [self._snapshot(turn) for turn in person.turns]
        there = {"name": person.taken_by} if person.taken_by else None
        items = turns + [
            {"entry": one["id"], "kind": one["kind"], "text": one["text"]}
            for one in self._record.entries
            if one["conversation"] == person.conversation
        ]
        conversation = {"id": person.conversation, "turns": items, "person": there}
        self._record.note(person.who, "hello", frame={"type": "hello", "conversation": conversation})

    def reconnect(self, person: ModelPerson) -> None:
        self._record.note(person.who, "closed", code=1001)
        person.process = self._record.random.choice(list(self._record.processes))
        self.open_page(person)

    def _snapshot(self, turn: ModelTurn) -> dict[str, Any]:
        row = turn.row
        hidden = row["state"] == "paused"
        text = "" if hidden else "".join(turn.words[: turn.shown])
        return {"id": row["id"], "key": row["key"], "state": row["state"], "reply": text, "seq": turn.shown}

    def open_turn(self, person: ModelPerson, key: str, text: str, **facts: Any) -> ModelTurn:
        row: dict[str, Any] = {
            "id": len(self._record.turns) + 1,
            "conversation": person.conversation,
            "key": key,
            "question": text,
            "state": "waiting",
            "owner": self._record.processes[person.process],
            "created_at": self._record.now,
            "attempts": [],
        }
        turn = ModelTurn(row | facts)
        self._record.turns.append(turn)
        person.turns.append(turn)
        self._record.show(person, type="accepted", key=key, turn=row["id"])
        return turn

    def admit_or_wait(self, turn: ModelTurn, person: ModelPerson) -> None:
        """A new turn speaks at once, or the page is told that it waits."""
        self.admit()
        if turn.row["state"] == "waiting":
            self._record.show(person, type="waiting", turn=turn.row["id"], line=QUEUED)
            self._record.later(WAIT_CEILING_S, lambda: self._refuse(turn, person))

    def _refuse(self, turn: ModelTurn, person: ModelPerson) -> None:
        before = [
            one.row["closed_at"] for one in person.turns if one.row["id"] < turn.row["id"] and not one.is_live
        ]
        waits_from = max([turn.row["created_at"], *before])
        if turn.row["state"] != "waiting" or person.first_live is not turn:
            return
        if self._record.now - waits_from < WAIT_CEILING_S:
            self._record.later(
                waits_from + WAIT_CEILING_S - self._record.now + STEP_S, lambda: self._refuse(turn, person)
            )
            return
        self.close_turn(turn, person, "refused", "wait_ceiling")

    def kill(self) -> None:
        """Kill any process."""
        self._kill_process(self._record.random.choice(list(self._record.processes)))

    def kill_busy(self) -> None:
        """Kill the process of the turn that speaks."""
        owners = {turn.row["owner"] for turn in self._record.turns if turn.row["state"] == "speaking"}
        self._kill_process(next(name for name, owner in self._record.processes.items() if owner in owners))

    def _kill_process(self, name: str) -> None:
        dead = self._record.processes[name]
        self._record.note("fault", "begins", fault="kill", target=name)
        self._record.note(f"process:{name}", "ended", code=-9)
        self._record.note("fault", "ends", fault="kill", target=name)
        self._record.processes[name] = f"{dead}-again"
        for turn in self._record.turns:
            if turn.row["owner"] == dead and turn.is_live:
                self._leave_call(turn)
        self._record.note(f"process:{name}", "started", id=self._record.processes[name], pid=2)
        for person in self._record.people:
            if person.process == name:
                self.reconnect(person)
        self._record.later(LEASE_S, lambda: self._sweep(dead))

    def _sweep(self, dead: str) -> None:
        for person in self._record.people:
            for turn in person.turns:
                if turn.row["owner"] == dead and turn.is_live:
                    self.close_turn(turn, person, "paused", "lost")
        self.admit()

    def admit(self) -> None:
        alive = set(self._record.processes.values())
        for turn in self._record.turns:
            speaking = sum(1 for one in self._record.turns if one.row["state"] == "speaking")
            if turn.row["state"] != "waiting" or speaking >= self._record.ceiling:
                continue
            person = self._person_of(turn)
            if person.first_live is turn and turn.row["owner"] in alive:
                turn.row.update(state="speaking", admitted_at=self._record.now)
                fates = self.fates[:1] or [self._record.random.choice((None, None, None, 0, 2))]
                del self.fates[:1]
                turn.breaks_after = fates[0]
                self._record.later(STEP_S, lambda turn=turn: self._ask(turn))  # type: ignore[misc]

    def _person_of(self, turn: ModelTurn) -> ModelPerson:
        return next(one for one in self._record.people if one.conversation == turn.row["conversation"])

    def _ask(self, turn: ModelTurn) -> None:
        if not turn.is_live or turn.row["owner"] not in self._record.processes.values():
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
        self._record.note("provider:first", "asked", call=turn.call, request=request, messages=messages)
        turn.row["attempts"] = [{"number": 0, "lane": "first", "failure": "", "words": 1}]
        turn.row["lane"] = "first"
        self._record.later(WORD_S, lambda: self._speak(turn, turn.call))

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
            self._record.note("provider:first", "broke", call=call, kind="reset")
            turn.call, turn.row["attempts"][0]["failure"] = "", "network"
            self.close_turn(turn, person, "paused", "network")
            self.admit()
            return
        if turn.shown == len(turn.words):
            self._record.note("provider:first", "finished", call=call, reason="stop")
            turn.call = ""
            self.close_turn(turn, person, "complete", "")
            self.admit()
            return
        self._record.note("provider:first", "piece", call=call, text=turn.words[turn.shown])
        if turn.shown == 0:
            turn.row["first_word_at"] = self._record.now
            if turn.held:
                turn.row["openings"] = [{"kind": "i_am_back", "line": BACK}]
                self._record.show(person, type="opening", turn=turn.row["id"], kind="i_am_back", line=BACK)
        turn.shown += 1
        self._record.show(
            person, type="words", turn=turn.row["id"], seq=turn.shown, text=turn.words[turn.shown - 1]
        )
        self._record.note(
            person.who, "sent", frame={"type": "ack", "turn": turn.row["id"], "seq": turn.shown}
        )
        self._record.later(WORD_S, lambda: self._speak(turn, call))

    def _leave_call(self, turn: ModelTurn) -> None:
        if turn.call:
            self._record.note("provider:first", "left", call=turn.call)
            turn.call = ""

    def close_turn(self, turn: ModelTurn, person: ModelPerson, state: str, reason: str) -> None:
        self._leave_call(turn)
        line = PAUSE if state in ("paused", "refused") else ""
        row = turn.row
        row.update(state=state, reason=reason, closed_at=self._record.now, line=line)
        row.update(reply="".join(turn.words[: turn.shown]), seq=turn.shown)
        if state == "paused":
            row["held_until"] = self._record.now + 3600
        if state == "complete":
            for one in turn.held:
                one.row["answered_by"] = row["id"]
        frame = {"type": state, "turn": row["id"], "seq": turn.shown}
        self._record.show(person, **frame, **({"line": line} if line else {}))
