"""Who acts: a member of staff, by id and by the name that participants read. PURE."""

from dataclasses import dataclass

MAX_NAME_CHARS = 150


@dataclass(frozen=True, kw_only=True, slots=True)
class Staff:
    """A member of staff whose rights the caller has checked. `name` stands in rows and outlives the account."""

    user: int
    name: str
