"""Who may speak in a conversation, as its control row says it. Every change of the row compares and sets.

`seizure`, `take_overs` and `quiet` have the changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg import AsyncCursor

from companion.languages import OF_PERSON
from companion.notifications import NOTIFY, notify_parameters, split_control
from companion.rows import Row
from companion.supervision.pauses import choose_pause_line, pause_in_force
from companion.supervision.states import PauseScope
from companion.turn_policy import DraftedLines

CARE_S = 86_400
"""Time after a quiet spell for which prompts carry the instruction for care."""

IS_QUIET = "(k.quiet_since IS NOT NULL AND (k.quiet_until IS NULL OR k.quiet_until > clock_timestamp()))"
"""Whether the companion is quiet in the conversation of the control row `k`."""

IS_CARE_DUE = f"""(k.care_until IS NOT NULL AND k.care_until > clock_timestamp()
    OR k.quiet_until <= clock_timestamp()
       AND k.quiet_until > clock_timestamp() - make_interval(secs => {CARE_S}))"""
"""Whether prompts of the control row `k` carry the instruction for care."""

READ_CONTROL = f"""
SELECT k.conversation_id, k.person, k.person_name, k.person_since, {IS_QUIET}, pause.scope, {OF_PERSON}
FROM companion_control k
JOIN companion_conversation c ON c.id = k.conversation_id
JOIN companion_participant p ON p.id = c.participant_id
JOIN companion_site s ON s.id = p.site_id
LEFT JOIN LATERAL ({pause_in_force("p.id", "p.site_id")}) pause ON true
WHERE k.conversation_id = ANY(%(conversations)s)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ControlView:
    """Who may speak in a conversation. `person` is the id of the member of staff who has taken over, or None."""

    conversation: int
    person: int | None = None
    name: str = ""
    since: datetime | None = None
    is_quiet: bool = False
    pause_scope: PauseScope | None = None
    """The narrowest scope for which staff have paused the companion here; None: it is not paused."""
    language: str = ""
    """Of the participant."""

    @property
    def is_paused(self) -> bool:
        """Whether staff have paused the companion for the person, the site or everyone."""
        return self.pause_scope is not None

    def choose_pause_line(self, lines: DraftedLines) -> str:
        """The drafted line about the pause; empty if there is none."""
        return "" if self.pause_scope is None else choose_pause_line(lines, self.pause_scope)

    def to_person(self) -> dict[str, str] | None:
        """The shape in `hello`: {name, since}, or None if no person has taken over."""
        return None if self.since is None else {"name": self.name, "since": self.since.isoformat()}


def make_control(row: Row) -> ControlView:
    """The view of a row that `READ_CONTROL` returned."""
    conversation, person, name, since, is_quiet, scope, language = row
    return ControlView(
        conversation=conversation,
        person=person,
        name=name,
        since=since,
        is_quiet=is_quiet,
        pause_scope=None if scope is None else PauseScope(scope),
        language=language,
    )


async def notify_control_changed(cursor: AsyncCursor[Row], *, by: UUID, conversations: Sequence[int]) -> None:
    """Notify every process, when this transaction commits, that control rows or entries have changed."""
    for part in split_control(by, conversations):
        await cursor.execute(NOTIFY, notify_parameters(part))
