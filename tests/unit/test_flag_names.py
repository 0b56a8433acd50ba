"""What staff read for each kind of flag is plain words, and not the key of a rule (S2)."""

import re

from companion.supervision.noticing import BROKEN
from companion.supervision.states import FlagKind
from ops.staff.desk_text import describe_kind, name_kinds
from personas.safety import name_kinds as name_kinds_of_rules


def test_every_kind_of_the_rules_has_a_plain_name_of_its_own() -> None:
    names = name_kinds_of_rules()
    assert len(set(names.values())) == len(names) > 30
    for kind, name in names.items():
        assert re.fullmatch(r"[A-Z][a-z ,]+", name), (kind, name)
        assert " " in name, kind


def test_kinds_that_no_rule_raises_have_names_too() -> None:
    assert {*FlagKind, BROKEN} <= set(name_kinds())


def test_a_kind_of_earlier_rules_is_read_as_words() -> None:
    assert describe_kind("some-old_kind") == "Some old kind"
