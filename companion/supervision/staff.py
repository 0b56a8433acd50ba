"""Who acts: a member of staff, by id and by the name that participants read; and the reasons they type. PURE."""

from dataclasses import dataclass

from companion.frames import clean_text, is_visible

MAX_NAME_CHARS = 150
MAX_REASON_CHARS = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Staff:
    """A member of staff whose rights the caller has checked. `name` stands in rows and outlives the account."""

    user: int
    name: str


def clean_reason(typed: str) -> str:
    """The reason as it is stored: one line of at most `MAX_REASON_CHARS`. Empty if a reader would see nothing of it."""
    reason = " ".join(clean_text(typed).split())[:MAX_REASON_CHARS]
    return reason if is_visible(reason) else ""
