"""PURE. A look: what a page carries on its root element, as data attributes, so that its first paint is right.

| attribute | values; absent: the usual |
|---|---|
| `data-type` | 125, 150, 200: the size of letters in percent |
| `data-contrast` | strong |
| `data-words` | whole, slow: how a reply comes |
| `data-aloud` | button, each: what the browser's own voice reads |
| `data-aloud-next` | end: what is being read aloud is read to its end when a new message comes |
"""

from collections.abc import Mapping

from companion.needs.choices import UNRECORDED, Value

Look = dict[str, str]
"""The attributes by their names without `data-`; empty for a participant of whom nothing is recorded."""

LOOK_FIELDS = ("type_percent", "contrast", "whole_messages", "pace", "read_aloud", "reads_newest")


def make_look(values: Mapping[str, Value] = UNRECORDED) -> Look:
    """The look of these fields of a record. Attributes with their usual value are left out."""
    words = "whole" if values["whole_messages"] else "slow" if values["pace"] == "slow" else ""
    look = {
        "type": "" if values["type_percent"] == 100 else str(values["type_percent"]),
        "contrast": "strong" if values["contrast"] == "strong" else "",
        "words": words,
        "aloud": "" if values["read_aloud"] == "off" else str(values["read_aloud"]),
        "aloud-next": "" if values["reads_newest"] else "end",
    }
    return {name: value for name, value in look.items() if value}
