"""PURE. The choices that a participant or staff make, and what each stores.

The words of a choice are those of `personas.schema.ChoiceLines`: `type` is the heading of the choice `type`, and
`type_big` the label of its option `big`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Value = int | str | bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Option:
    """One way to answer a choice: the fields of `Needs` that it stores."""

    name: str
    stores: Mapping[str, Value]


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """One question of the page, with its options in the order in which they are shown."""

    name: str
    options: tuple[Option, ...]

    def get_option(self, name: str) -> Option | None:
        return next((option for option in self.options if option.name == name), None)

    def find_chosen(self, values: Mapping[str, Value]) -> str:
        """The name of the option that these values are; empty: none of them, as staff may have set."""
        for option in self.options:
            if all(values[field] == value for field, value in option.stores.items()):
                return option.name
        return ""


def _choice(name: str, **options: Mapping[str, Value]) -> Choice:
    return Choice(
        name=name,
        options=tuple(Option(name=option, stores=stores) for option, stores in options.items()),
    )


CHOICES = (
    _choice(
        "type",
        usual={"type_percent": 100},
        bigger={"type_percent": 125},
        big={"type_percent": 150},
        biggest={"type_percent": 200},
    ),
    _choice("contrast", usual={"contrast": "normal"}, strong={"contrast": "strong"}),
    # Whole messages have no pace, so both are one choice.
    _choice(
        "words",
        written={"whole_messages": False, "pace": "normal"},
        slow={"whole_messages": False, "pace": "slow"},
        whole={"whole_messages": True, "pace": "normal"},
    ),
    _choice("aloud", off={"read_aloud": "off"}, button={"read_aloud": "button"}, each={"read_aloud": "each"}),
    _choice("aloud_next", new={"reads_newest": True}, end={"reads_newest": False}),
    _choice("easy", usual={"easy_words": False}, short={"easy_words": True}),
    _choice(
        "time",
        usual={"idle_factor": 1},
        double={"idle_factor": 2},
        five={"idle_factor": 5},
        ten={"idle_factor": 10},
    ),
    # Those of `settings.LANGUAGES`. Each is named in itself.
    _choice("language", en={"language": "en"}, es={"language": "es"}),
)
"""All choices, in the order of the page."""

UNRECORDED: Mapping[str, Value] = {
    "type_percent": 100,
    "contrast": "normal",
    "whole_messages": False,
    "pace": "normal",
    "idle_factor": 1,
    "read_aloud": "off",
    "reads_newest": True,
    "easy_words": False,
    "language": "",
}
"""What holds for a participant of whom nothing is recorded."""
RECORDED: Mapping[str, Value] = {**UNRECORDED, "whole_messages": True}
"""What a first record holds, apart from the choice that made it: whole messages, until another way is chosen."""

FIELDS = tuple(UNRECORDED)


@dataclass(frozen=True, kw_only=True, slots=True)
class OfferedOption:
    """An option as the page shows it."""

    name: str
    label: str
    is_chosen: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class OfferedChoice:
    """A choice as the page shows it."""

    name: str
    heading: str
    options: tuple[OfferedOption, ...]


def offer_choices(values: Mapping[str, Value], lines: Mapping[str, str]) -> Iterator[OfferedChoice]:
    """The choices with their words. `values` are the fields of a record, or `UNRECORDED`."""
    for choice in CHOICES:
        chosen = choice.find_chosen(values)
        yield OfferedChoice(
            name=choice.name,
            heading=lines[choice.name],
            options=tuple(
                OfferedOption(
                    name=option.name,
                    label=lines[f"{choice.name}_{option.name}"],
                    is_chosen=option.name == chosen,
                )
                for option in choice.options
            ),
        )


def find_option(facts: Mapping[str, str]) -> tuple[Choice, Option] | None:
    """The choice and the option that a form names; None: it names none that there is."""
    for choice in CHOICES:
        if (option := choice.get_option(facts.get(choice.name, ""))) is not None:
            return choice, option
    return None
