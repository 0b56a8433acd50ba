"""The record of who read and did what. A reading is written before anything is shown."""

from ops.models import AuditEntry

READ_STORY = "read_story"
READ_TRANSCRIPT = "read_transcript"
SELECTED_PRESET = "selected_preset"
SAW_ALERT = "saw_alert"


def record(what: str, *, who: str, about: int | None = None, note: str = "") -> None:
    """Put it on record that `who` did `what` about a participant (by id), if about one.

    `note` holds ids, counts and codes only.
    """
    AuditEntry.objects.create(who=who[:150], what=what, about=about, note=note[:200])
