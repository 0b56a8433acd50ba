"""PURE. Ids of rows, as addresses and forms name them."""

LARGEST_ID = 2**63 - 1
"""The largest bigint of PostgreSQL."""


def parse_id(text: str | None) -> int | None:
    """Return the id in a text; None for any other text."""
    # Bounded before it is parsed: a long text of digits costs time, and PostgreSQL refuses what is no bigint.
    if text is None or not (text.isascii() and text.isdigit()) or len(text) > len(str(LARGEST_ID)):
        return None
    return min(int(text), LARGEST_ID)
