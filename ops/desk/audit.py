"""The record of who read and did what. A reading is written before anything is shown."""

import os
import pwd

from ops.models import AuditEntry

READ_STORY = "read_story"
READ_TRANSCRIPT = "read_transcript"
SELECTED_PRESET = "selected_preset"
SAW_ALERT = "saw_alert"
SET_CEILING = "set_ceiling"
SIGNED_IN = "signed_in"

PRINTED_CARD = "printed_card"
ADDED_PERSON = "added_person"
RENEWED_CARD = "renewed_card"
WITHDREW_CARD = "withdrew_card"
RESTORED_CARD = "restored_card"

ADDED_SITE = "added_site"
RENAMED_SITE = "renamed_site"
OPENED_SITE = "opened_site"
CLOSED_SITE = "closed_site"
SET_REGIONS = "set_regions"

ADDED_STAFF = "added_staff"
SUPERVISES = "supervises"
SUPERVISES_NO_LONGER = "supervises_no_longer"
MADE_OPERATOR = "made_operator"
MADE_SUPERVISOR = "made_supervisor"
WITHDREW_STAFF = "withdrew_staff"
RESTORED_STAFF = "restored_staff"
NEW_PASSWORD = "new_password"


def record(what: str, *, who: str, about: int | None = None, note: str = "") -> None:
    """Put it on record that `who` did `what` about a participant (by id), if about one.

    `note` holds ids, counts and codes only.
    """
    AuditEntry.objects.create(who=who[:150], what=what, about=about, note=note[:200])


def by_command(note: str = "") -> str:
    """A note that says it was typed, and in which account: a name that is given with --by is only said."""
    return ", ".join(part for part in (note, f"command, account {this_account()}") if part)


def this_account() -> str:
    """The name of the account this runs as, or its number where it has none."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
