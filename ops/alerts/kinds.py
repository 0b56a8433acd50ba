"""The closed list of alerts. Each is declared once: its value, its sentence, what to do, its runbook, its timing."""

from datetime import timedelta
from enum import StrEnum

DAILY = timedelta(hours=23)
"""Less than a day, so that a cause that is raised daily is also sent daily."""
OFTEN = timedelta(hours=6)
SOON = timedelta(minutes=15)
QUIET = timedelta(hours=1)

NIGHT = "change-routing-at-night.md"
FAILING = "a-provider-is-failing.md"
RESTORE = "restore-drill.md"
RINGS = "a-flag-rings.md"
PEOPLE = "people-and-cards.md"
DATA = "somebody-asks-for-their-data.md"
MACHINES = "a-machine-is-set-up.md"


class AlertKind(StrEnum):
    """What an alert is about. The values stand in rows, e-mails and webhooks, so they do not change.

    Members are declared as value, sentence, instruction, runbook and, where it is not daily, `resend_after`.
    """

    _value_: str
    text: str
    """The sentence, with one `{}` for what the alert is about."""
    do: str
    runbook: str
    """A file in ops/runbooks/."""
    resend_after: timedelta
    """An open alert that is raised again is sent again once its last sending is this old."""

    def __new__(
        cls, value: str, text: str, do: str, runbook: str, resend_after: timedelta = DAILY
    ) -> "AlertKind":
        kind = str.__new__(cls, value)
        kind._value_ = value
        kind.text, kind.do, kind.runbook, kind.resend_after = text, do, runbook, resend_after
        return kind

    @property
    def quiet_after(self) -> timedelta:
        """How long after it was closed an alert that is raised anew is not sent. Pages show it at once."""
        # A later content refusal may be about another person, so it never waits.
        return timedelta(0) if self is AlertKind.CONTENT_REFUSED else QUIET

    def describe(self, about: str) -> str:
        """The sentence about this lane, site, version or file."""
        return self.text.replace("{}", about)

    # Turns that met a failing lane, as each turn ends.
    MISCONFIGURED = (
        "misconfigured",
        "Lane {} does not accept our key, or does not know the model. Its turns pause.",
        "Select a preset without this lane; then have the lane mended.",
        NIGHT,
        OFTEN,
    )
    BAD_REQUEST = (
        "bad_request",
        "Lane {} could not read what we sent. Its turns pause.",
        "Select a preset without this lane; if every lane says so, go back to the release before.",
        FAILING,
    )
    QUOTA = (
        "quota",
        "Our account for lane {} has no credit or allowance left.",
        "The next lanes of the chain take over. Have the account renewed.",
        FAILING,
        OFTEN,
    )
    UNKNOWN_FAILURE = (
        "unknown_failure",
        "Lane {} failed with an error that is not classified.",
        "Look at the turn's attempts under Turns, and tell the engineers.",
        FAILING,
    )
    ALL_LANES_OPEN = (
        "all_lanes_open",
        "Every lane of preset {} has failed lately. The one that recovers soonest was tried.",
        "Select a preset with other lanes, if there is one.",
        NIGHT,
        OFTEN,
    )
    REGION = (
        "region",
        "No lane of preset {} may serve one of the sites. Its turns pause.",
        "Select a preset with a lane in the site's region.",
        NIGHT,
    )
    TOO_LONG = (
        "too_long",
        "A question alone was too long for lane {}, though its window should have held it. The turn paused.",
        "Set context_tokens of that lane to what its server really takes; manage.py check_lanes asks it.",
        FAILING,
    )
    UNKNOWN_FINISH = (
        "unknown_finish",
        "A reply ended with an unknown finish reason, so it counts as broken off. Lane and reason: {}.",
        "Report the reason to the engineers. If the lane always gives it, select a preset without it.",
        FAILING,
    )
    THOUGHTS_SHOWN = (
        "thoughts_shown",
        "Lane {} sent a model's thoughts as words, without a mark at their start. The reply was taken back.",
        'Set thoughts = "unopened" for that lane in the routing file, or have its server keep them apart.',
        FAILING,
    )
    CONTENT_REFUSED = (
        "content_refused",
        "A provider refused to answer what a person wrote. This can be a sign of danger. Site: {}.",
        "Read the turn now, and see how the person is.",
        FAILING,
        SOON,
    )

    # Turns that ended badly, counted from the kept minutes.
    PEOPLE_REFUSED = (
        "people_refused",
        "People were asked to try again, because no place became free in time: {}.",
        "Look at the ceiling and at the lanes on the page Right now.",
        FAILING,
    )
    TURNS_LOST = (
        "turns_lost",
        "Replies broke off because a web process died or lost the database: {}.",
        "Read log/web-PORT.log of the processes that are missing on the page Right now.",
        FAILING,
    )
    TURNS_UNSTORED = (
        "turns_unstored",
        "Replies broke off because their words could not be stored in time: {}.",
        "Look at the database: its disk, its load, and how long a commit takes.",
        FAILING,
    )
    TURNS_FAULTED = (
        "turns_faulted",
        "Replies broke off because of a fault in this program: {}.",
        "Give the engineers the log of the web processes.",
        FAILING,
    )
    TURNS_HUNG = (
        "turns_hung",
        "Replies broke off because a provider went silent or took too long: {}.",
        "Look at the attempts of these turns; select a preset with another lane if it goes on.",
        FAILING,
    )

    # Routing: selections, drills and contract checks.
    PIN_LONG = (
        "pin_long",
        "Something other than the normal chain has been in force for an hour: {}.",
        "If it is still needed, leave it: it ends by itself. If not, go back to normal.",
        NIGHT,
    )
    PIN_REVERTED = (
        "pin_reverted",
        "The time of {} was up. The normal chain is in force again.",
        "If it is still needed, select it again with a reason.",
        NIGHT,
    )
    INVALID_DOCUMENT = (
        "invalid_document",
        "A selection could not be used: {}. The chain that was in force stays in force.",
        "Select a preset that this release has. Processes of two releases may run side by side.",
        NIGHT,
    )
    SELECTION_UNRECORDED = (
        "selection_unrecorded",
        "A web process serves {}, which has no row: the database seems to have been restored.",
        "Look with manage.py route show, then go back to normal or select what is needed.",
        NIGHT,
    )
    DRILL_FAILED = (
        "drill_failed",
        "{} failed its drill and is not trusted.",
        "Do not select a preset that begins with it before a drill has passed.",
        NIGHT,
    )
    DRILL_OVERDUE = (
        "drill_overdue",
        "This is overdue: {}.",
        "Run manage.py fallback_drill, and find out why the worker did not.",
        NIGHT,
    )
    CHECK_FAILED = (
        "check_failed",
        "The last contract check found that people would notice a change of lane in preset {}.",
        "Read what differs on the lanes page, and mend the lane or the preset; then run manage.py check_lanes.",
        FAILING,
    )
    CHECK_OVERDUE = (
        "check_overdue",
        "It has not been checked for three days whether the lanes of preset {} are interchangeable.",
        "Run manage.py check_lanes, and find out why the worker did not.",
        FAILING,
    )
    CHEAPER_LANE = (
        "cheaper_lane",
        "A cheaper lane gives most of today's replies, and they are not marked: {}.",
        'If its replies are not as good, give it marking = "reduced" in the routing file; mend the lane above.',
        FAILING,
    )

    # Configuration: the routing file and the character's file.
    NO_FALLBACK = (
        "no_fallback",
        "The normal chain has nothing to fall back on: {}.",
        "Add a lane of another failure domain to the routing file.",
        FAILING,
    )
    WINDOW_TOO_SMALL = (
        "window_too_small",
        "The character's text leaves no room for a question in the window of lane {}. Its turns pause.",
        "Mend context_tokens of that lane, give its model a larger window, or select a preset without it.",
        FAILING,
    )
    SCRIPTED_REPLIES = (
        "scripted_replies",
        "People are answered with scripted replies of the rehearsal provider: {}.",
        "Set COMPANION_ROUTING and restart; if scripted replies are meant, set COMPANION_REHEARSED=yes.",
        FAILING,
    )
    FILE_REFUSED = (
        "file_refused",
        "The {} on disk is invalid: a process that starts now would refuse it.",
        "Correct it; manage.py serve --check names the place. Running processes keep what they have read.",
        NIGHT,
    )
    FILE_CHANGED = (
        "file_changed",
        "The {} on disk is not the one that is served.",
        "If it is meant, restart the web processes and the worker in turn. If not, restore the previous file.",
        NIGHT,
    )
    PROCESSES_DIFFER = (
        "processes_differ",
        "Web processes serve from more than one version of the {}.",
        "Give every machine the same files, and restart those that differ.",
        NIGHT,
    )
    PERSONA_CHANGED = (
        "persona_changed",
        "The character's file differs from the one before: {}.",
        "If this is not meant, restore the previous file.",
        NIGHT,
    )
    PERSONA_UNAPPROVED = (
        "persona_unapproved",
        "People meet a character that is not approved for real use: {}.",
        "Have a clinician read every line, then set approver and approved_on in the character's file.",
        NIGHT,
    )
    PERSONA_OVERDUE = (
        "persona_overdue",
        "The character's lines should have been read again: {}.",
        "Have a clinician read every line, then set approver, approved_on and review_by.",
        NIGHT,
    )

    SAFETY_RULE_BROKEN = (
        "safety_rule_broken",
        "A rule that reads messages or replies could not be applied: {}. The message or reply was flagged instead.",
        "Give the engineers the log of the web processes. Until it is mended, look at amber flags of this kind.",
        NIGHT,
        OFTEN,
    )

    SECOND_READING = (
        "second_reading",
        "Messages are not read a second time: {}. The rules read them as always.",
        "Look at the lane that COMPANION_SECOND_READING_LANE names, or raise its budget. To switch it off, empty it.",
        FAILING,
        OFTEN,
    )

    # Sites.
    NO_HELPLINE = (
        "no_helpline",
        "Site {} is open without a complete helpline. Where it has no number, its safety lines name none.",
        "Set it with manage.py site helpline; the site stays open meanwhile.",
        PEOPLE,
    )
    HELPLINE_OVERDUE = (
        "helpline_overdue",
        "The helpline of a site should have been reviewed: {}.",
        "Have its owner call and text both numbers, then set --review-by with manage.py site helpline.",
        PEOPLE,
    )

    # Load.
    MANY_PAUSES = (
        "many_pauses",
        "Many replies break off: {}.",
        "Read the leading reason on the page Right now, then follow the runbook.",
        FAILING,
    )
    STANDING_QUEUE = (
        "standing_queue",
        "The waiting room does not empty: {}.",
        "See whether replies have become slow, or whether the ceiling is too low.",
        FAILING,
    )

    # Supervision.
    SITE_UNWATCHED = (
        "site_unwatched",
        "People are here, and no screen of their staff is open. Site: {}.",
        "Ask the staff of the site to open the desk. Until they do, accept its flags yourself.",
        RINGS,
        SOON,
    )
    FLAG_UNSEEN = (
        "flag_unseen",
        "A red flag stands on no screen of its site's staff: {}.",
        "Open the desk and accept it, or call the site.",
        RINGS,
        SOON,
    )

    # Shared machines.
    MACHINE_COPIED = (
        "machine_copied",
        "The cookie of machine {} was used in two browsers. It opens no visit until it is paired again.",
        "Go to the machine, look who is at it, and pair it again at Machines. If it is gone, withdraw it.",
        MACHINES,
        SOON,
    )

    # Backups, the worker, and the alerts themselves.
    BACKUP_FAILED = (
        "backup_failed",
        "A backup was not made: {}.",
        "Run manage.py backup by hand; it says what is wrong.",
        RESTORE,
    )
    BACKUP_OLD = (
        "backup_old",
        "There is no recent backup: {}.",
        "Run manage.py backup, and find out why its timer did not.",
        RESTORE,
    )
    RESTORE_UNPROVED = (
        "restore_unproved",
        "There is no current proof that a backup restores: {}.",
        "Drill last night's backup with manage.py restore_drill.",
        RESTORE,
    )
    HOLD_OVERDUE = (
        "hold_overdue",
        "The review of a safeguarding hold is overdue: participant {}.",
        "Decide whether it goes on: manage.py hold NAME --end, then --review-by with a new day if it does.",
        DATA,
    )
    WORKER_AWAY = (
        "worker_away",
        "The worker has not looked through the alerts for {}. Nothing goes out by e-mail or webhook.",
        "Look at its log and start it again. Until then no lane is drilled either.",
        NIGHT,
    )
    NOT_SENT = (
        "not_sent",
        "Alerts do not go out by {}.",
        "Look for alerts.not_sent in the worker's log: it names the cause. Then mend the setting or the server.",
        NIGHT,
    )
