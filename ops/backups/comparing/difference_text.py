"""PURE: describes a differing part of an object. Names yes and no, and no other value."""

from collections.abc import Mapping

YES_OR_NO: Mapping[str, str] = {"true": "yes", "false": "no", "t": "yes", "f": "no"}
NAMES: Mapping[str, str] = {
    "on": "table",
    "of type": "type",
    "range of": "subtype",
    "partition of": "partition bound",
    "partitioned by": "partition key",
    "parents": "list of parents",
    "labels in order": "list or order of labels",
    "what": "selection of changes",
    "using": "condition (USING)",
    "with check": "condition (WITH CHECK)",
    "options": "set of options",
    "options of its TOAST": "set of options of its TOAST table",
}
"""Names for parts whose keys do not read as nouns."""
ENABLED: Mapping[str, str] = {
    "O": "enabled",
    "D": "disabled",
    "D,O": "partly disabled",
    "R": "enabled on a replica only",
    "A": "always enabled",
}


def describe_part(kind: str, part: str, source: str | None, copy: str | None) -> str:
    """Describe a part that differs. None: the object has no such part on that side."""
    name = f"grant to {part}" if kind.endswith("grant") else NAMES.get(part, part)
    if source is None:
        return f"its {name} is only in the copy"
    if copy is None:
        return f"its {name} is missing in the copy"
    is_state = part == "enabled" or part.startswith("enforcement")
    known = ENABLED if is_state else YES_OR_NO
    if source in known and copy in known:
        left = "" if part == "enabled" else f"{name}: "
        return f"{left}{known[source]} in the source, {known[copy]} in the copy"
    return f"another {name}"
