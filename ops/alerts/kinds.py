"""The closed list of alerts: when each is raised, what it says to a person, and what there is to do."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType

from companion.states import Reason
from companion.turn_end import TurnEnd
from routing.errors import UNOPENED_THOUGHTS, FailureClass, unknown_finish_word


class Kind(StrEnum):
    """What an alert is about. The values stand in rows, e-mails and webhooks."""

    MISCONFIGURED = "misconfigured"
    BAD_REQUEST = "bad_request"
    QUOTA = "quota"
    UNKNOWN_FAILURE = "unknown_failure"
    ALL_LANES_OPEN = "all_lanes_open"
    REGION = "region"
    PIN_LONG = "pin_long"
    PIN_REVERTED = "pin_reverted"
    DRILL_FAILED = "drill_failed"
    DRILL_OVERDUE = "drill_overdue"
    INVALID_DOCUMENT = "invalid_document"
    PERSONA_CHANGED = "persona_changed"
    RESTORE_UNPROVED = "restore_unproved"
    WORKER_AWAY = "worker_away"
    FILE_REFUSED = "file_refused"
    FILE_CHANGED = "file_changed"
    PROCESSES_DIFFER = "processes_differ"
    SELECTION_UNRECORDED = "selection_unrecorded"
    NO_FALLBACK = "no_fallback"
    WINDOW_TOO_SMALL = "window_too_small"
    TOO_LONG = "too_long"
    UNKNOWN_FINISH = "unknown_finish_word"
    THOUGHTS_SHOWN = "thoughts_shown"
    SCRIPTED_REPLIES = "scripted_replies"
    CHEAPER_LANE = "cheaper_lane"
    CONTENT_REFUSED = "content_refused"
    PEOPLE_REFUSED = "people_refused"
    TURNS_LOST = "turns_lost"
    TURNS_UNSTORED = "turns_unstored"
    TURNS_FAULTED = "turns_faulted"
    TURNS_HUNG = "turns_hung"
    MANY_PAUSES = "many_pauses"
    STANDING_QUEUE = "standing_queue"
    BACKUP_FAILED = "backup_failed"
    BACKUP_OLD = "backup_old"
    PERSONA_UNAPPROVED = "persona_unapproved"
    PERSONA_OVERDUE = "persona_overdue"
    NOT_SENT = "not_sent"
    CHECK_FAILED = "check_failed"
    CHECK_OVERDUE = "check_overdue"


DAILY = timedelta(hours=23)
"""An open alert that comes again after so long goes out again. Less than a day: what is raised daily is sent daily."""
OFTENER = timedelta(hours=6)
SOONEST = timedelta(minutes=15)
"""For content refusals: a later one may be about another person."""
QUIET = timedelta(hours=1)
_OFTENER = frozenset({Kind.MISCONFIGURED, Kind.QUOTA, Kind.ALL_LANES_OPEN})


def again_after(kind: Kind) -> timedelta:
    """How long after it went out an open alert goes out again, if it comes again."""
    if kind is Kind.CONTENT_REFUSED:
        return SOONEST
    return OFTENER if kind in _OFTENER else DAILY


def quiet_after(kind: Kind) -> timedelta:
    """How long after an alert was closed the same thing goes out again at the earliest. Pages show it at once.

    A content refusal is not kept back: the next one may be about somebody else.
    """
    return timedelta(0) if kind is Kind.CONTENT_REFUSED else QUIET


@dataclass(frozen=True, kw_only=True, slots=True)
class Meaning:
    """`says` has one place for what the alert is about. `runbook` is a file of ops/runbooks/."""

    says: str
    do: str
    runbook: str

    def of(self, about: str) -> str:
        """The sentence."""
        return self.says.replace("{}", about)


_NIGHT = "change-routing-at-night.md"
_FAILING = "a-provider-is-failing.md"
MEANINGS: Mapping[Kind, Meaning] = MappingProxyType(
    {
        Kind.MISCONFIGURED: Meaning(
            says="Lane {} does not accept our key, or does not know the model. Its turns pause.",
            do="Select a preset without this lane; then have the lane mended.",
            runbook=_NIGHT,
        ),
        Kind.BAD_REQUEST: Meaning(
            says="Lane {} could not read what we sent. Its turns pause.",
            do="Select a preset without this lane; if every lane says so, go back to the release before.",
            runbook=_FAILING,
        ),
        Kind.QUOTA: Meaning(
            says="Our account for lane {} has no credit or allowance left.",
            do="The next lanes of the chain take over. Have the account renewed.",
            runbook=_FAILING,
        ),
        Kind.UNKNOWN_FAILURE: Meaning(
            says="Lane {} failed in a way that is on no list.",
            do="Look at the turn's attempts under Turns, and tell the engineers.",
            runbook=_FAILING,
        ),
        Kind.ALL_LANES_OPEN: Meaning(
            says="Every lane of preset {} had failed lately. The one that recovers soonest was tried.",
            do="Select a preset with other lanes, if there is one.",
            runbook=_NIGHT,
        ),
        Kind.REGION: Meaning(
            says="A site may not be served by any lane of preset {}. Its turns pause.",
            do="Select a preset with a lane in the site's region.",
            runbook=_NIGHT,
        ),
        Kind.PIN_LONG: Meaning(
            says="Something other than the normal chain has been in force for an hour: {}.",
            do="If it is still needed, leave it: it ends by itself. If not, go back to normal.",
            runbook=_NIGHT,
        ),
        Kind.PIN_REVERTED: Meaning(
            says="The time of {} was up. The normal chain is in force again.",
            do="If it is still needed, select it again with a reason.",
            runbook=_NIGHT,
        ),
        Kind.DRILL_FAILED: Meaning(
            says="{} failed its drill and is not trusted.",
            do="Do not select a preset that begins with it before a drill has passed.",
            runbook=_NIGHT,
        ),
        Kind.DRILL_OVERDUE: Meaning(
            says="It is overdue: {}.",
            do="Run it by hand, and find out why the schedule did not.",
            runbook=_NIGHT,
        ),
        Kind.INVALID_DOCUMENT: Meaning(
            says="A selection could not be used: {}. The chain that was in force stays in force.",
            do="Select a preset that this release has. Processes of two releases may run side by side.",
            runbook=_NIGHT,
        ),
        Kind.PERSONA_CHANGED: Meaning(
            says="The character's file is another one than before: {}.",
            do="If nobody meant that, put the file of before back.",
            runbook=_NIGHT,
        ),
        Kind.RESTORE_UNPROVED: Meaning(
            says="Nobody knows just now that a backup restores: {}.",
            do="Drill last night's backup with manage.py restore_drill.",
            runbook="restore-drill.md",
        ),
        Kind.WORKER_AWAY: Meaning(
            says="The worker has not looked through the alerts for {}. Nothing goes out by e-mail or webhook.",
            do="Look at its log and start it again. Until then no lane is drilled either.",
            runbook=_NIGHT,
        ),
        Kind.FILE_REFUSED: Meaning(
            says="The {} on disk has become wrong: a process that starts anew would refuse it.",
            do="Mend it; manage.py serve --check names the place. Running processes go on with what they read.",
            runbook=_NIGHT,
        ),
        Kind.FILE_CHANGED: Meaning(
            says="The {} on disk is not the one that is served.",
            do="If it is meant, restart the web processes and the worker in turn. If not, put the old file back.",
            runbook=_NIGHT,
        ),
        Kind.PROCESSES_DIFFER: Meaning(
            says="Web processes serve from more than one version of the {}.",
            do="Give every machine the same files, and restart those that differ.",
            runbook=_NIGHT,
        ),
        Kind.SELECTION_UNRECORDED: Meaning(
            says="A web process serves {}, which stands in no row: the database was restored, it seems.",
            do="Look with manage.py route show, then go back to normal or select what is needed.",
            runbook=_NIGHT,
        ),
        Kind.WINDOW_TOO_SMALL: Meaning(
            says="The character's text leaves no room for a question in the window of lane {}. Its turns pause.",
            do="Mend context_tokens of that lane, give its model a larger window, or select a preset without it.",
            runbook=_FAILING,
        ),
        Kind.TOO_LONG: Meaning(
            says="A question alone was too long for lane {}, though its window should have held it. The turn paused.",
            do="Set context_tokens of that lane to what its server really takes; manage.py check_lanes asks it.",
            runbook=_FAILING,
        ),
        Kind.UNKNOWN_FINISH: Meaning(
            says="A reply ended with a word that is on no list, so it counts as broken off. Lane and word: {}.",
            do="Tell the engineers the word. If the lane always says so, select a preset without it.",
            runbook=_FAILING,
        ),
        Kind.THOUGHTS_SHOWN: Meaning(
            says="Lane {} sent a model's thoughts as words, without a mark at their start. The reply was taken back.",
            do='Set thoughts = "unopened" for that lane in the routing file, or have its server keep them apart.',
            runbook=_FAILING,
        ),
        Kind.NO_FALLBACK: Meaning(
            says="The normal chain has nothing to fall back on: {}.",
            do="Add a lane of another failure domain to the routing file.",
            runbook=_FAILING,
        ),
        Kind.CHECK_FAILED: Meaning(
            says="The last contract check found that people would notice a change of lane in preset {}.",
            do="Read what differs on the lanes page, and mend the lane or the preset; then run manage.py check_lanes.",
            runbook=_FAILING,
        ),
        Kind.CHECK_OVERDUE: Meaning(
            says="It has not been checked for three days whether the lanes of preset {} are interchangeable.",
            do="Run manage.py check_lanes by hand, and find out why the schedule did not.",
            runbook=_FAILING,
        ),
        Kind.CHEAPER_LANE: Meaning(
            says="A cheaper lane carries the day, and its replies are not marked: {}.",
            do='If its replies are not as good, give it marking = "reduced" in the routing file; mend the lane above.',
            runbook=_FAILING,
        ),
        Kind.SCRIPTED_REPLIES: Meaning(
            says="People are answered with scripted replies of the rehearsal provider: {}.",
            do="Set COMPANION_ROUTING and restart; if scripted replies are meant, set COMPANION_REHEARSED=yes.",
            runbook=_FAILING,
        ),
        Kind.CONTENT_REFUSED: Meaning(
            says="A provider refused to answer what a person wrote. This can be a sign of danger. Site: {}.",
            do="Read the turn now, and see how the person is.",
            runbook=_FAILING,
        ),
        Kind.PEOPLE_REFUSED: Meaning(
            says="People were asked to try again, because no place became free within the longest wait: {}.",
            do="Look at the ceiling and at the lanes on the page of the moment.",
            runbook=_FAILING,
        ),
        Kind.TURNS_LOST: Meaning(
            says="Replies broke off because a web process died or lost the database: {}.",
            do="Read log/web-PORT.log of the processes that are missing on the page of the moment.",
            runbook=_FAILING,
        ),
        Kind.TURNS_UNSTORED: Meaning(
            says="Replies broke off because their words could not be stored in time: {}.",
            do="Look at the database: its disk, its load, and how long a commit takes.",
            runbook=_FAILING,
        ),
        Kind.TURNS_FAULTED: Meaning(
            says="Replies broke off because of a fault in this program: {}.",
            do="Give the engineers the log of the web processes.",
            runbook=_FAILING,
        ),
        Kind.TURNS_HUNG: Meaning(
            says="Replies broke off because a provider went silent or took too long: {}.",
            do="Look at the attempts of these turns; select a preset with another lane if it goes on.",
            runbook=_FAILING,
        ),
        Kind.MANY_PAUSES: Meaning(
            says="Many replies break off: {}.",
            do="Read the leading reason on the page of the moment, then follow the runbook.",
            runbook=_FAILING,
        ),
        Kind.STANDING_QUEUE: Meaning(
            says="The waiting room does not empty: {}.",
            do="See whether replies have become slow, or whether the ceiling is too low.",
            runbook=_FAILING,
        ),
        Kind.BACKUP_FAILED: Meaning(
            says="A backup was not made: {}.",
            do="Run manage.py backup by hand; it says what is wrong.",
            runbook="restore-drill.md",
        ),
        Kind.BACKUP_OLD: Meaning(
            says="There is no recent backup: {}.",
            do="Run manage.py backup, and find out why its timer did not.",
            runbook="restore-drill.md",
        ),
        Kind.PERSONA_UNAPPROVED: Meaning(
            says="People meet a character that is not approved for real use: {}.",
            do="Have a clinician read every line, then set approver and approved_on in the character's file.",
            runbook=_NIGHT,
        ),
        Kind.PERSONA_OVERDUE: Meaning(
            says="The character's lines should have been read again: {}.",
            do="Have a clinician read every line, then set approver, approved_on and review_by.",
            runbook=_NIGHT,
        ),
        Kind.NOT_SENT: Meaning(
            says="Alerts do not go out by {}.",
            do="Look for alerts.not_sent in the worker's log: it names the cause. Then mend the setting or the server.",
            runbook=_NIGHT,
        ),
    }
)

EVERYBODY = "all sites"
"""What alerts of ended turns are about, where no site is named."""

_FAILURES = {
    FailureClass.MISCONFIGURED: Kind.MISCONFIGURED,
    FailureClass.BAD_REQUEST: Kind.BAD_REQUEST,
    FailureClass.QUOTA: Kind.QUOTA,
    FailureClass.UNKNOWN: Kind.UNKNOWN_FAILURE,
}


def alerts_of(end: TurnEnd) -> Iterator[tuple[Kind, str]]:
    """What there is to tell of a turn that has ended: kind and what about."""
    for attempt in end.attempts:
        if attempt.failure in _FAILURES:
            yield _FAILURES[attempt.failure], attempt.lane
        if word := unknown_finish_word(attempt.code):
            yield Kind.UNKNOWN_FINISH, f"{attempt.lane}, {word}"
        if attempt.code == UNOPENED_THOUGHTS:
            yield Kind.THOUGHTS_SHOWN, attempt.lane
    if end.reason == FailureClass.TOO_LONG and end.attempts:
        yield Kind.TOO_LONG, end.attempts[-1].lane
    if any(lane.tried for lane in end.passed_over):
        yield Kind.ALL_LANES_OPEN, end.preset
    if end.reason is Reason.REGION:
        yield Kind.REGION, end.preset


def is_content_refusal(end: TurnEnd) -> bool:
    """Whether a provider refused what the person wrote now, or what was asked along with it."""
    return end.reason == FailureClass.REFUSED or any(
        attempt.failure is FailureClass.REFUSED for attempt in end.attempts
    )
