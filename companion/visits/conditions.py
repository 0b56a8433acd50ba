"""SQL conditions on a visit `v`, for every statement that asks whether its participant may act."""

LIMIT_PASSED = "v.locks_at <= clock_timestamp()"

HAS_NOT_ENDED = "coalesce(v.ended_at, 'infinity') = 'infinity'"
"""For statements that find the visit by its id, or visits by their participant.

Not `ended_at IS NULL`: a plan made while the table was small would read the index of visits that have not ended.
"""

# With the time of the statement, so that the index of a participant's visits leaves out those that have expired.
IS_OPEN = f"{HAS_NOT_ENDED} AND v.expires_at > statement_timestamp()"
"""Live or locked: its participant may ask for a person, come back, or end it."""

IS_LIVE = f"{IS_OPEN} AND v.locked_at IS NULL AND ({LIMIT_PASSED}) IS NOT TRUE"
"""Its participant may read and write. A visit whose limit has passed is locked, also before the sweep has seen it."""

IS_LOCKED = f"{IS_OPEN} AND (v.locked_at IS NOT NULL OR ({LIMIT_PASSED}) IS TRUE)"

WITH_PERSON = """JOIN companion_participant p ON p.id = v.participant_id AND p.is_active
JOIN companion_site s ON s.id = p.site_id AND s.is_open
JOIN companion_conversation c ON c.participant_id = p.id"""
"""Joins the active participant `p` of visit `v`, the open site `s` and the conversation `c`.

Together with `IS_LIVE` it is every condition of access: a withdrawn card and a closed site count at once.
"""
