"""The closed list of alerts. Each is declared once: its value, its sentence, what to do, its runbook, its timing."""

from datetime import timedelta
from enum import StrEnum

from django.utils.translation import gettext

from ops.catalogue_marks import gettext_noop as _

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
        return gettext(self.text).replace("{}", about)

    # Turns that met a failing lane, as each turn ends.
    MISCONFIGURED = (
        "misconfigured",
        _("Lane {} does not accept our key, or does not know the model. Its turns pause."),
        _("Select a preset without this lane; then have the lane mended."),
        NIGHT,
        OFTEN,
    )
    BAD_REQUEST = (
        "bad_request",
        _("Lane {} could not read what we sent. Its turns pause."),
        _("Select a preset without this lane; if every lane says so, go back to the release before."),
        FAILING,
    )
    QUOTA = (
        "quota",
        _("Our account for lane {} has no credit or allowance left."),
        _("The next lanes of the chain take over. Have the account renewed."),
        FAILING,
        OFTEN,
    )
    UNKNOWN_FAILURE = (
        "unknown_failure",
        _("Lane {} failed with an error that is not classified."),
        _("Look at the turn's attempts under Turns, and tell the engineers."),
        FAILING,
    )
    ALL_LANES_OPEN = (
        "all_lanes_open",
        _("Every lane of preset {} has failed lately. The one that recovers soonest was tried."),
        _("Select a preset with other lanes, if there is one."),
        NIGHT,
        OFTEN,
    )
    REGION = (
        "region",
        _("No lane of preset {} may serve one of the sites. Its turns pause."),
        _("Select a preset with a lane in the site's region."),
        NIGHT,
    )
    TOO_LONG = (
        "too_long",
        _(
            "A question alone was too long for lane {}, though its window should have held it. The turn paused."
        ),
        _("Set context_tokens of that lane to what its server really takes; manage.py check_lanes asks it."),
        FAILING,
    )
    UNKNOWN_FINISH = (
        "unknown_finish",
        _("A reply ended with an unknown finish reason, so it counts as broken off. Lane and reason: {}."),
        _("Report the reason to the engineers. If the lane always gives it, select a preset without it."),
        FAILING,
    )
    THOUGHTS_SHOWN = (
        "thoughts_shown",
        _(
            "Lane {} sent a model's thoughts as words, without a mark at their start. The reply was taken back."
        ),
        _('Set thoughts = "unopened" for that lane in the routing file, or have its server keep them apart.'),
        FAILING,
    )
    CONTENT_REFUSED = (
        "content_refused",
        _("A provider refused to answer what a person wrote. This can be a sign of danger. Site: {}."),
        _("Read the turn now, and see how the person is."),
        FAILING,
        SOON,
    )

    # Turns that ended badly, counted from the kept minutes.
    PEOPLE_REFUSED = (
        "people_refused",
        _("People were asked to try again, because no place became free in time: {}."),
        _("Look at the ceiling and at the lanes on the page Right now."),
        FAILING,
    )
    TURNS_LOST = (
        "turns_lost",
        _("Replies broke off because a web process died or lost the database: {}."),
        _("Read log/web-PORT.log of the processes that are missing on the page Right now."),
        FAILING,
    )
    TURNS_UNSTORED = (
        "turns_unstored",
        _("Replies broke off because their words could not be stored in time: {}."),
        _("Look at the database: its disk, its load, and how long a commit takes."),
        FAILING,
    )
    TURNS_FAULTED = (
        "turns_faulted",
        _("Replies broke off because of a fault in this program: {}."),
        _("Give the engineers the log of the web processes."),
        FAILING,
    )
    TURNS_HUNG = (
        "turns_hung",
        _("Replies broke off because a provider went silent or took too long: {}."),
        _("Look at the attempts of these turns; select a preset with another lane if it goes on."),
        FAILING,
    )

    # Routing: selections, drills and contract checks.
    PIN_LONG = (
        "pin_long",
        _("Something other than the normal chain has been in force for an hour: {}."),
        _("If it is still needed, leave it: it ends by itself. If not, go back to normal."),
        NIGHT,
    )
    PIN_REVERTED = (
        "pin_reverted",
        _("The time of {} was up. The normal chain is in force again."),
        _("If it is still needed, select it again with a reason."),
        NIGHT,
    )
    INVALID_DOCUMENT = (
        "invalid_document",
        _("A selection could not be used: {}. The chain that was in force stays in force."),
        _("Select a preset that this release has. Processes of two releases may run side by side."),
        NIGHT,
    )
    SELECTION_UNRECORDED = (
        "selection_unrecorded",
        _("A web process serves {}, which has no row: the database seems to have been restored."),
        _("Look with manage.py route show, then go back to normal or select what is needed."),
        NIGHT,
    )
    DRILL_FAILED = (
        "drill_failed",
        _("{} failed its drill and is not trusted."),
        _("Do not select a preset that begins with it before a drill has passed."),
        NIGHT,
    )
    DRILL_OVERDUE = (
        "drill_overdue",
        _("This is overdue: {}."),
        _("Run manage.py fallback_drill, and find out why the worker did not."),
        NIGHT,
    )
    CHECK_FAILED = (
        "check_failed",
        _("The last contract check found that people would notice a change of lane in preset {}."),
        _(
            "Read what differs on the lanes page, and mend the lane or the preset; then run manage.py check_lanes."
        ),
        FAILING,
    )
    CHECK_OVERDUE = (
        "check_overdue",
        _("It has not been checked for three days whether the lanes of preset {} are interchangeable."),
        _("Run manage.py check_lanes, and find out why the worker did not."),
        FAILING,
    )
    CHEAPER_LANE = (
        "cheaper_lane",
        _("A cheaper lane gives most of today's replies, and they are not marked: {}."),
        _(
            'If its replies are not as good, give it marking = "reduced" in the routing file; mend the lane above.'
        ),
        FAILING,
    )

    # Configuration: the routing file and the character's file.
    NO_FALLBACK = (
        "no_fallback",
        _("The normal chain has nothing to fall back on: {}."),
        _("Add a lane of another failure domain to the routing file."),
        FAILING,
    )
    WINDOW_TOO_SMALL = (
        "window_too_small",
        _("The character's text leaves no room for a question in the window of lane {}. Its turns pause."),
        _("Mend context_tokens of that lane, give its model a larger window, or select a preset without it."),
        FAILING,
    )
    SCRIPTED_REPLIES = (
        "scripted_replies",
        _("People are answered with scripted replies of the rehearsal provider: {}."),
        _("Set COMPANION_ROUTING and restart; if scripted replies are meant, set COMPANION_REHEARSED=yes."),
        FAILING,
    )
    FILE_REFUSED = (
        "file_refused",
        _("The {} on disk is invalid: a process that starts now would refuse it."),
        _("Correct it; manage.py serve --check names the place. Running processes keep what they have read."),
        NIGHT,
    )
    FILE_CHANGED = (
        "file_changed",
        _("The {} on disk is not the one that is served."),
        _(
            "If it is meant, restart the web processes and the worker in turn. If not, restore the previous file."
        ),
        NIGHT,
    )
    PROCESSES_DIFFER = (
        "processes_differ",
        _("Web processes serve from more than one version of the {}."),
        _("Give every machine the same files, and restart those that differ."),
        NIGHT,
    )
    PERSONA_CHANGED = (
        "persona_changed",
        _("The character's file differs from the one before: {}."),
        _("If this is not meant, restore the previous file."),
        NIGHT,
    )
    PERSONA_UNAPPROVED = (
        "persona_unapproved",
        _("People meet a character that is not approved for real use: {}."),
        _("Have a clinician read every line, then set approver and approved_on in the character's file."),
        NIGHT,
    )
    PERSONA_OVERDUE = (
        "persona_overdue",
        _("The character's lines should have been read again: {}."),
        _("Have a clinician read every line, then set approver, approved_on and review_by."),
        NIGHT,
    )

    SAFETY_RULE_BROKEN = (
        "safety_rule_broken",
        _(
            "A rule that reads messages or replies could not be applied: {}. The message or reply was flagged instead."
        ),
        _(
            "Give the engineers the log of the web processes. Until it is mended, look at amber flags of this kind."
        ),
        NIGHT,
        OFTEN,
    )

    SECOND_READING = (
        "second_reading",
        _("Messages are not read a second time: {}. The rules read them as always."),
        _(
            "Look at the lane that COMPANION_SECOND_READING_LANE names, or raise its budget. "
            "To switch it off, empty it."
        ),
        FAILING,
        OFTEN,
    )

    # Sites.
    NO_HELPLINE = (
        "no_helpline",
        _("Site {} is open without a complete helpline. Where it has no number, its safety lines name none."),
        _("Set it with manage.py site helpline; the site stays open meanwhile."),
        PEOPLE,
    )
    HELPLINE_OVERDUE = (
        "helpline_overdue",
        _("The helpline of a site should have been reviewed: {}."),
        _("Have its owner call and text both numbers, then set --review-by with manage.py site helpline."),
        PEOPLE,
    )

    # Load.
    MANY_PAUSES = (
        "many_pauses",
        _("Many replies break off: {}."),
        _("Read the leading reason on the page Right now, then follow the runbook."),
        FAILING,
    )
    STANDING_QUEUE = (
        "standing_queue",
        _("The waiting room does not empty: {}."),
        _("See whether replies have become slow, or whether the ceiling is too low."),
        FAILING,
    )

    # Supervision.
    SITE_UNWATCHED = (
        "site_unwatched",
        _("People are here, and no screen of their staff is open. Site: {}."),
        _("Ask the staff of the site to open the desk. Until they do, accept its flags yourself."),
        RINGS,
        SOON,
    )
    FLAG_UNSEEN = (
        "flag_unseen",
        _("A red flag stands on no screen of its site's staff: {}."),
        _("Open the desk and accept it, or call the site."),
        RINGS,
        SOON,
    )

    # Shared machines.
    MACHINE_COPIED = (
        "machine_copied",
        _("The cookie of machine {} was used in two browsers. It opens no visit until it is paired again."),
        _("Go to the machine, look who is at it, and pair it again at Machines. If it is gone, withdraw it."),
        MACHINES,
        SOON,
    )

    # Backups, the worker, and the alerts themselves.
    BACKUP_FAILED = (
        "backup_failed",
        _("A backup was not made: {}."),
        _("Run manage.py backup by hand; it says what is wrong."),
        RESTORE,
    )
    BACKUP_OLD = (
        "backup_old",
        _("There is no recent backup: {}."),
        _("Run manage.py backup, and find out why its timer did not."),
        RESTORE,
    )
    RESTORE_UNPROVED = (
        "restore_unproved",
        _("There is no current proof that a backup restores: {}."),
        _("Drill last night's backup with manage.py restore_drill."),
        RESTORE,
    )
    HOLD_OVERDUE = (
        "hold_overdue",
        _("The review of a safeguarding hold is overdue: participant {}."),
        _(
            "Decide whether it goes on: manage.py hold NAME --end, then --review-by with a new day if it does."
        ),
        DATA,
    )
    WORKER_AWAY = (
        "worker_away",
        _("The worker has not looked through the alerts for {}. Nothing goes out by e-mail or webhook."),
        _("Look at its log and start it again. Until then no lane is drilled either."),
        NIGHT,
    )
    NOT_SENT = (
        "not_sent",
        _("Alerts do not go out by {}."),
        _(
            "Look for alerts.not_sent in the worker's log: it names the cause. Then mend the setting or the server."
        ),
        NIGHT,
    )
