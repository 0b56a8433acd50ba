"""The statements on flags. A flag is raised once for equal causes in one conversation, until it is accepted.

A transaction that takes the gate raises flags under it, never before: a raise may wait for the row of an equal flag.
A transaction that changes flags never takes the gate, and locks one flag, or several with SKIP LOCKED.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import AsyncCursor

from companion.notifications import NOTIFY, notify_parameters, split_flags
from companion.rows import Row
from companion.supervision.causes import FlagCause
from companion.supervision.states import FlagStepKind

log = logging.getLogger(__name__)

REPEATED_EVERY_S = 60
"""A flag that is raised again and again has one step about it in this time, in seconds. Every cause is counted."""

# A press or a message that comes again while the flag is open is a step of it. The last step is found by index.
RAISE_FLAG = f"""
WITH raised AS (
    INSERT INTO companion_flag AS f (tier, kind, source, rule, rules_version, about_staff, conversation_id,
                                     participant, site_id, turn, next_stage_at)
    SELECT %(tier)s, %(kind)s, %(source)s, %(rule)s, %(rules_version)s, %(about_staff)s, c.id, p.id, p.site_id,
           %(turn)s, clock_timestamp() + make_interval(secs => CASE WHEN %(about_staff)s THEN 0 ELSE s.first_ring_s END)
    FROM companion_conversation c
    JOIN companion_participant p ON p.id = c.participant_id
    JOIN companion_site s ON s.id = p.site_id
    WHERE c.id = %(conversation)s
    ON CONFLICT (conversation_id, tier, kind) WHERE state = 'open'
    DO UPDATE SET count = f.count + 1, last_at = clock_timestamp(),
                  about_staff = f.about_staff OR excluded.about_staff,
                  next_stage_at = CASE WHEN excluded.about_staff AND NOT f.about_staff AND f.stage = 0
                                       THEN excluded.next_stage_at ELSE f.next_stage_at END
    RETURNING f.id, f.site_id, f.count, f.seen_at
),
step AS (
    INSERT INTO companion_flagstep (flag_id, what)
    SELECT id, CASE WHEN count = 1 THEN '{FlagStepKind.OPENED}' ELSE '{FlagStepKind.REPEATED}' END FROM raised
    WHERE count = 1 OR NOT EXISTS (
        SELECT 1 FROM (SELECT what, at FROM companion_flagstep WHERE flag_id = raised.id
                       ORDER BY flag_id DESC, id DESC LIMIT 1) last
        WHERE last.what = '{FlagStepKind.REPEATED}'
          AND last.at > clock_timestamp() - make_interval(secs => {REPEATED_EVERY_S}))
)
SELECT id, site_id, count FROM raised
"""

FLAG_IS_SEEN = """EXISTS (
    SELECT 1 FROM companion_flag f
    WHERE f.id = %(flag)s AND (f.shown_count >= %(count)s OR f.state <> 'open')
)"""
"""Whether a screen of the site's staff has shown cause `count` of the flag, or a person has accepted it since.

An earlier cause does not count: the screen that showed it may be gone.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class RaisedFlag:
    """A flag that this transaction raised. `count` is over 1 if an equal flag was open: it now has one cause more."""

    flag: int
    site: int
    count: int


async def raise_flag(cursor: AsyncCursor[Row], cause: FlagCause) -> RaisedFlag | None:
    """Raise a flag, or count one cause more of an equal open one. None: the conversation is erased."""
    await cursor.execute(RAISE_FLAG, flag_parameters(cause))
    row = await cursor.fetchone()
    if row is None:
        return None
    flag, site, count = row
    # Its turn may be one that another process drives, or none at all.
    log.info(
        "flag.raised flag=%d turn=%s tier=%s causes=%d", flag, cause.turn or "-", cause.tier.value, count
    )
    return RaisedFlag(flag=flag, site=site, count=count)


def flag_parameters(cause: FlagCause) -> dict[str, Any]:
    return {
        "conversation": cause.conversation,
        "tier": cause.tier.value,
        "kind": cause.kind,
        "source": cause.source.value,
        "rule": cause.rule,
        "rules_version": cause.rules_version,
        "about_staff": cause.about_staff,
        "turn": cause.turn,
    }


async def notify_flags_changed(cursor: AsyncCursor[Row], flags: Sequence[RaisedFlag]) -> None:
    """Notify every process, when this transaction commits, of the flags that it changed."""
    # A full batch of messages may raise more flags than one notification holds.
    for part in split_flags([(flag.flag, flag.site) for flag in flags]):
        await cursor.execute(NOTIFY, notify_parameters(part))
