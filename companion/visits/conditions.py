"""SQL conditions on a visit `v`, for every statement that asks whether its participant may act."""

LIMIT_PASSED = "v.locks_at <= clock_timestamp()"

IS_OPEN = "v.ended_at IS NULL AND v.expires_at > clock_timestamp()"
"""Live or locked: its participant may ask for a person, come back, or end it."""

IS_LIVE = f"{IS_OPEN} AND v.locked_at IS NULL AND ({LIMIT_PASSED}) IS NOT TRUE"
"""Its participant may read and write. A visit whose limit has passed is locked, also before the sweep has seen it."""

IS_LOCKED = f"{IS_OPEN} AND (v.locked_at IS NOT NULL OR ({LIMIT_PASSED}) IS TRUE)"
