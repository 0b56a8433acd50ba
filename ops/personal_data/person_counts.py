"""How many rows of a participant there are, by what they hold. Counting reads no word."""

from dataclasses import dataclass

from companion.models import Draft, Flag, Needs, Participant, TranscriptEntry, Turn, Visit


@dataclass(frozen=True, kw_only=True, slots=True)
class PersonCounts:
    """Rows of one participant."""

    turns: int
    entries: int
    visits: int
    flags: int
    drafts: int
    needs: int

    def __str__(self) -> str:
        return (
            f"{self.turns} turns, {self.entries} entries of staff and the service, {self.visits} visits, "
            f"{self.flags} flags, {self.drafts} drafts, {self.needs} needs"
        )

    @property
    def note(self) -> str:
        """The same for the audit record, which holds 200 characters."""
        return (
            f"{self.turns} turns, {self.entries} entries, {self.visits} visits, {self.flags} flags, "
            f"{self.drafts} drafts, {self.needs} needs"
        )


def count_person(person: Participant) -> PersonCounts:
    """Count what is kept of a participant."""
    of_person = {"conversation__participant": person}
    return PersonCounts(
        turns=Turn.objects.filter(**of_person).count(),
        entries=TranscriptEntry.objects.filter(**of_person).count(),
        visits=Visit.objects.filter(participant=person).count(),
        flags=Flag.objects.filter(**of_person).count(),
        drafts=Draft.objects.filter(**of_person).count(),
        needs=Needs.objects.filter(participant=person).count(),
    )
