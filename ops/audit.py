"""The audit record: who read and changed what. A reading is recorded before anything is shown."""

import logging
import pwd
from datetime import timedelta

from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from ops.models import AuditEntry
from ops.stack.switch import typed_by

log = logging.getLogger(__name__)

READ_STORY = "read_story"
READ_TRANSCRIPT = "read_transcript"
OPENED_CONVERSATION = "opened_conversation"
PRINTED_TRANSCRIPT = "printed_transcript"
SELECTED_PRESET = "selected_preset"
SAW_ALERT = "saw_alert"
SET_CEILING = "set_ceiling"
SIGNED_IN = "signed_in"
WAS_REFUSED = "was_refused"
MADE_BACKUP = "made_backup"
KEPT_DUMP = "kept_dump"

PRINTED_CARD = "printed_card"
ADDED_PERSON = "added_person"
RENEWED_CARD = "renewed_card"
WITHDREW_CARD = "withdrew_card"
RESTORED_CARD = "restored_card"

EXPORTED_PERSON = "exported_person"
ERASED_PERSON = "erased_person"
FORGOT_AGAIN = "forgot_again"
PLACED_HOLD = "placed_hold"
ENDED_HOLD = "ended_hold"
SET_RETENTION = "set_retention"
DELETED_BY_AGE = "deleted_by_age"

ADDED_SITE = "added_site"
RENAMED_SITE = "renamed_site"
OPENED_SITE = "opened_site"
CLOSED_SITE = "closed_site"
SET_REGIONS = "set_regions"
SET_HELPLINE = "set_helpline"
SET_SITE_RULES = "set_site_rules"
ADDED_GROUP = "added_group"
REMOVED_GROUP = "removed_group"
INCLUDED_SITE = "included_site"
EXCLUDED_SITE = "excluded_site"

PAIRED_MACHINE = "paired_machine"
RENAMED_MACHINE = "renamed_machine"
WITHDREW_MACHINE = "withdrew_machine"
MACHINE_CONNECTED = "machine_connected"
MACHINE_COPIED = "machine_copied"
OFFERED_VISIT = "offered_visit"
TOOK_BACK_OFFER = "took_back_offer"
SAID_YES = "said_yes"
SAID_NO = "said_no"
OFFER_GONE = "offer_gone"

ADDED_STAFF = "added_staff"
SUPERVISES = "supervises"
SUPERVISES_NO_LONGER = "supervises_no_longer"
MADE_OPERATOR = "made_operator"
MADE_SUPERVISOR = "made_supervisor"
WITHDREW_STAFF = "withdrew_staff"
RESTORED_STAFF = "restored_staff"
NEW_PASSWORD = "new_password"
SET_EMAIL = "set_email"
SET_SECOND_FACTOR = "set_second_factor"
REMOVED_SECOND_FACTOR = "removed_second_factor"
BOUND_IDENTITY = "bound_identity"
IMPORTED_PEOPLE = "imported_people"
EXPORTED_PEOPLE = "exported_people"

# The acts of staff at their sockets have the codes of `companion.supervision.act_answers.ActKind`.
STATED_REASON = "stated_reason"
OPENED_NEEDS = "opened_needs"
SET_NEEDS = "set_needs"
REVIEWED_NEEDS = "reviewed_needs"
SEARCHED_PEOPLE = "searched_people"
SEARCHED_RECORD = "searched_record"
LISTED_FLAGS = "listed_flags"
REHEARSED_FLAG = "rehearsed_flag"

MAX_REFUSALS_A_MINUTE = 10
"""Recorded refusals of one person in one minute. The note of the last says that further ones are left out."""
_LOOK_BACK_ROWS = 500
UNDEFINED_TABLE = "42P01"


def record(what: str, *, who: str, about: int | None = None, note: str = "") -> None:
    """Record that `who` did `what`, and about which participant (by id), if any.

    `note` holds ids, counts and codes only.
    """
    AuditEntry.objects.create(who=who[:150], what=what, about=about, note=note[:200])


def record_refusal(who: str, *, note: str, about: int | None = None) -> None:
    """Record that `who` was refused a page, at most ten times a minute. A failure is only logged."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            # Without the lock, concurrent requests would all count the same rows.
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 7233151))", [who])
            last = AuditEntry.objects.order_by("-id").values_list("who", "what", "at")[:_LOOK_BACK_ROWS]
            since = timezone.now() - timedelta(minutes=1)
            there = sum((row[0], row[1]) == (who[:150], WAS_REFUSED) and row[2] > since for row in last)
            if there < MAX_REFUSALS_A_MINUTE:
                is_last = there == MAX_REFUSALS_A_MINUTE - 1
                more = "; further ones within a minute are left out" if is_last else ""
                record(WAS_REFUSED, who=who, about=about, note=note[:150] + more)
    except DatabaseError as error:
        log.error("audit.refusal_not_recorded error=%s", type(error).__name__)


def record_command(what: str, note: str) -> str:
    """Record what a command has already done. Returns a sentence if that failed, else an empty text.

    A database without the audit table, such as one that is only drilled, is not a failure.
    """
    try:
        record(what, who=get_account(), note=format_command_note(note))
    except DatabaseError as error:
        if getattr(error.__cause__, "sqlstate", None) != UNDEFINED_TABLE:
            return f"It is done, but it could not be written to the audit record: {type(error).__name__}."
    return ""


def join_note(*parts: str) -> str:
    """Join the parts of a note that are not empty."""
    return ", ".join(part for part in parts if part)


def format_command_note(*parts: str) -> str:
    """A note with the account the command was typed in: a name given with --by is not verified."""
    return join_note(*parts, f"command, account {get_account()}")


def get_account() -> str:
    """The name of the account that started this command, or its number where it has no name."""
    try:
        return pwd.getpwuid(typed_by()).pw_name
    except KeyError:
        return str(typed_by())
