"""What staff of the model do: flags, take-overs and pauses."""

from typing import Any

from tests.simulated_run.record import ModelPerson, ModelRecord
from tests.simulated_run.service import ModelService

JOINS = "A person from your site is with you now."
LEAVES = "The person has left. I am here again."


class ModelStaff:
    """Two screens that see every flag; sam acts."""

    def __init__(self, record: ModelRecord, service: ModelService) -> None:
        self._record = record
        self._service = service

    def raise_flag(
        self, person: ModelPerson, turn: int | None, *, kind: str = "harm", source: str = "message"
    ) -> None:
        flag: dict[str, Any] = {
            "id": len(self._record.flags) + 1,
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
            "opened_at": self._record.now,
            "accepted_at": None,
            "closed_at": None,
            "closed_by_name": "",
            "outcome": "",
        }
        self._record.flags.append(flag)
        self._write_step(flag, "opened", "")
        for name in ("sam", "tess"):
            frame = {"type": "flag", "id": flag["id"], "tier": "red", "state": "open"}
            self._record.note(f"staff:{name}/1", "got", frame=frame)
        self._record.later(self._record.random.uniform(1, 5), lambda: self._accept(flag))

    def _write_step(self, flag: dict[str, Any], what: str, who: str) -> None:
        step = {
            "id": len(self._record.steps) + 1,
            "flag": flag["id"],
            "what": what,
            "who": who,
            "at": self._record.now,
        }
        self._record.steps.append(step)

    def _accept(self, flag: dict[str, Any]) -> None:
        flag.update(state="accepted", owner=7, owner_name="sam", accepted_at=self._record.now)
        self._act_on_flag(flag, "accept", "accepted_flag", "accepted")
        if self._record.random.random() < 0.5:
            self._record.later(2.0, lambda: self._close_flag(flag))

    def _close_flag(self, flag: dict[str, Any]) -> None:
        flag.update(state="closed", closed_at=self._record.now, closed_by_name="sam", outcome="concern")
        self._act_on_flag(flag, "close", "closed_flag", "closed")

    def _act_on_flag(self, flag: dict[str, Any], act: str, recorded: str, step: str) -> None:
        self._record.note("staff:sam/1", "sent", frame={"type": act, "flag": flag["id"]})
        self._write_step(flag, step, "sam")
        self._write_audit(recorded, flag["participant"], f"flag {flag['id']}")
        self._record.note("staff:sam/1", "got", frame={"type": "done", "act": act, "flag": flag["id"]})

    def _write_audit(self, what: str, about: int, note: str) -> None:
        row = {
            "id": len(self._record.audit) + 1,
            "at": self._record.now,
            "who": "sam",
            "what": what,
            "about": about,
            "note": note,
        }
        self._record.audit.append(row)

    def take_over(self, person: ModelPerson) -> None:
        if person.taken_by:
            return
        frame = {"type": "take_over", "conversation": person.conversation}
        self._record.note("staff:sam/1", "sent", frame=frame)
        for turn in [one for one in person.turns if one.is_live]:
            self._service.close_turn(turn, person, "handed_over", "person")
        person.taken_by = "sam"
        entry = self._enter(person, "joins", JOINS, "took_over")
        done = {"type": "done", "act": "take_over", "conversation": person.conversation, "entry": entry}
        self._record.note("staff:sam/1", "got", frame=done)
        self._service.admit()
        self._record.later(1.0, lambda: self._enter(person, "said", f"I am here {person.code}-0.", "said"))
        self._record.later(3.0, lambda: self._hand_back(person))

    def _hand_back(self, person: ModelPerson) -> None:
        person.taken_by = ""
        self._enter(person, "leaves", LEAVES, "handed_back")

    def _enter(self, person: ModelPerson, kind: str, text: str, act: str) -> int:
        row: dict[str, Any] = {
            "id": len(self._record.entries) + 1,
            "conversation": person.conversation,
            "kind": kind,
            "key": f"entry-key-{len(self._record.entries)}" if kind == "said" else None,
            "person": 7,
            "name": "sam",
            "text": text,
            "after_turn": person.turns[-1].row["id"] if person.turns else 0,
            "at": self._record.now,
        }
        self._record.entries.append(row)
        self._write_audit(act, person.conversation, f"entry {row['id']}")
        if kind == "said":
            self._record.show(person, type="said", id=row["id"], text=text)
        else:
            self._record.show(person, type="person", id=row["id"], state=kind, line=text)
        return int(row["id"])

    def pause(self, person: ModelPerson) -> None:
        """Staff pause the companion for this person for a while."""
        if person.is_paused:
            return
        person.is_paused = True
        row: dict[str, Any] = {
            "id": len(self._record.pauses) + 1,
            "scope": "person",
            "about": person.conversation,
            "by_name": "sam",
            "at": self._record.now,
            "ended_at": None,
        }
        self._record.pauses.append(row)
        self._write_audit("paused_companion", person.conversation, "")
        for turn in [one for one in person.turns if one.is_live]:
            self._service.close_turn(turn, person, "paused", "staff_pause")
        self._service.admit()
        self._record.later(4.0, lambda: self._resume(person, row))

    def _resume(self, person: ModelPerson, row: dict[str, Any]) -> None:
        person.is_paused = False
        row["ended_at"] = self._record.now
        self._write_audit("resumed_companion", person.conversation, "")
