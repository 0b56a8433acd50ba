"""The record of who read what. Written before anything is shown."""

from ops.models import AuditEntry

READ_STORY = "read_story"
READ_TRANSCRIPT = "read_transcript"


def record(what: str, *, who: str, about: int, note: str = "") -> None:
    """Put it on record that `who` did `what` about a participant (by id). `note` holds ids and counts only."""
    AuditEntry.objects.create(who=who[:150], what=what, about=about, note=note[:200])
