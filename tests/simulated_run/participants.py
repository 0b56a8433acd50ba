"""What participants of the model do on their pages."""

from typing import Any

from tests.simulated_run.record import PAUSE, ModelPerson, ModelRecord
from tests.simulated_run.service import ModelService
from tests.simulated_run.staff import ModelStaff

SAFETY = "Please call the number on the wall of your site."


class ModelParticipants:
    """Each act is of one person, and every message has the person's code."""

    def __init__(self, record: ModelRecord, service: ModelService, staff: ModelStaff) -> None:
        self._record = record
        self._service = service
        self._staff = staff

    def _write(self, person: ModelPerson, text: str, **facts: Any) -> tuple[str, str]:
        person.said += 1
        text = f"{text} {person.code}-{person.said}."
        key = f"key-{person.code}-{person.said}"
        frame = {"type": "say", "key": key, "text": text}
        self._record.note(person.who, "sent", frame=frame, **facts)
        return key, text

    def say(self, person: ModelPerson, *, extra_words: int = 0) -> None:
        key, text = self._write(person, "I walked by the river")
        if person.taken_by:
            done = {"state": "handed_over", "reason": "person", "closed_at": self._record.now}
            turn = self._service.open_turn(person, key, text, **done)
            self._record.show(person, type="handed_over", turn=turn.row["id"], seq=0)
            return
        if person.is_paused:
            done = {"state": "paused", "reason": "staff_pause", "closed_at": self._record.now, "line": PAUSE}
            turn = self._service.open_turn(person, key, text, **done)
            self._record.show(person, type="paused", turn=turn.row["id"], seq=0, line=PAUSE)
            return
        turn = self._service.open_turn(person, key, text)
        turn.extra_words = extra_words
        self._service.admit_or_wait(turn, person)

    def say_twice(self, person: ModelPerson) -> None:
        self.say(person)
        last = person.turns[-1].row
        self._record.note(
            person.who, "sent", frame={"type": "say", "key": last["key"], "text": last["question"]}
        )
        self._record.show(person, type="accepted", key=last["key"], turn=last["id"])

    def say_red(self, person: ModelPerson) -> None:
        if person.taken_by:
            return
        key, text = self._write(person, "I do not want to live", red=True)
        for turn in [one for one in person.turns if one.is_live]:
            self._service.close_turn(turn, person, "handed_over", "red")
        facts = {"state": "safety", "reason": "red", "line": SAFETY, "closed_at": self._record.now}
        turn = self._service.open_turn(person, key, text, **facts)
        self._staff.raise_flag(person, turn.row["id"])
        self._record.show(person, type="safety", turn=turn.row["id"], line=SAFETY)
        self._service.admit()

    def press_help(self, person: ModelPerson) -> None:
        """The participant asks for a person."""
        self._record.note(person.who, "sent", frame={"type": "help"})
        self._staff.raise_flag(person, None, kind="help", source="button")
        self._record.show(person, type="help", line=SAFETY)

    def stop(self, person: ModelPerson) -> None:
        live = [turn for turn in person.turns if turn.is_live]
        if live:
            self._record.note(person.who, "sent", frame={"type": "stop", "turn": live[-1].row["id"]})
            self._service.close_turn(live[-1], person, "stopped", "stopped")
            self._service.admit()
