"""The rules that ship read messages and replies; a file that cannot be used is refused with one plain sentence."""

from pathlib import Path

import pytest

from personas.errors import SafetyInvalid
from personas.safety import SafetyRules, Tier, check_file, load, load_file
from personas.safety.load import FOLDER

WHOLE = (FOLDER / "en.toml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def rules() -> SafetyRules:
    return load()


def refusal(folder: Path, before: str, after: str) -> str:
    assert WHOLE.count(before) == 1, before
    path = folder / "en.toml"
    path.write_text(WHOLE.replace(before, after), encoding="utf-8")
    with pytest.raises(SafetyInvalid) as refused:
        check_file(path)
    return str(refused.value)


FIRST_RULE = '    "@i_am ~2 @intend ~2 @kill_self",\n'


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        ("kill? myself?", "matches the empty text"),
        ("~3", "matches the empty text"),
        ("~2 tonight", "begins or ends with a gap"),
        ("i am to", "so it matches everything"),
        ("tea|coffee", "matches “i am fine thank you"),
        ("Kill myself", "matches nothing"),
        ("dont live", "matches nothing, because it is read as “do not”"),
        ("@no_such_class now", "names no class"),
    ],
)
def test_a_pattern_that_matches_everything_or_nothing_is_refused(
    tmp_path: Path, pattern: str, fault: str
) -> None:
    assert fault in refusal(tmp_path, FIRST_RULE, f'{FIRST_RULE}    "{pattern}",\n')


def test_the_file_that_ships_passes_its_lint() -> None:
    assert check_file(FOLDER / "en.toml").version == load().version


@pytest.mark.parametrize("pattern", ["kill? myself?", "@no_such_class now", "Kill myself", "the", "to the"])
def test_a_start_refuses_a_pattern_that_cannot_be_read_or_matches_everyday_talk(
    tmp_path: Path, pattern: str
) -> None:
    path = tmp_path / "en.toml"
    path.write_text(WHOLE.replace(FIRST_RULE, f'{FIRST_RULE}    "{pattern}",\n'), encoding="utf-8")

    with pytest.raises(SafetyInvalid):
        load_file(path)


def test_an_unknown_key_is_refused_by_name(tmp_path: Path) -> None:
    assert "onwer: is not a key of a file of safety rules" in refusal(tmp_path, "\nowner = ", "\nonwer = ")


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    text = refusal(
        tmp_path, 'id = "kill-self-intent"\nkind = "suicide-intent"', 'id = "a-rule"\nkind = "sadness"'
    )

    assert "rules.a-rule: its kind “sadness” is not in the list of kinds" in text


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SafetyInvalid, match="there is no such file"):
        load_file(tmp_path / "none.toml")


def test_a_finding_names_its_rule_and_kind_and_holds_no_text(rules: SafetyRules) -> None:
    finding = rules.read_message("I'm going to kill myself tonight, my name is Rosa")

    assert (finding.tier, finding.kind, finding.broken) == (Tier.RED, "suicide-intent", False)
    assert "Rosa" not in repr(finding)


def test_a_finding_about_staff_says_so(rules: SafetyRules) -> None:
    assert rules.read_message("my carer slapped me").about_staff


def test_a_rule_that_breaks_counts_as_amber(rules: SafetyRules) -> None:
    finding = rules.read_message(None)  # type: ignore[arg-type]

    assert (finding.tier, finding.rule, finding.broken) == (Tier.AMBER, "broken-rule", True)


def test_an_empty_message_is_nothing(rules: SafetyRules) -> None:
    assert all(rules.read_message(text).tier is Tier.NONE for text in ("", " ", "\n\n", "?!", "👍"))


@pytest.mark.parametrize(
    "text", ["are you a real person?", "r u a bot", "Am I talking to a human", "are you real"]
)
def test_a_question_for_a_person_is_seen(rules: SafetyRules, text: str) -> None:
    assert rules.asks_if_human(text)
    assert not rules.asks_if_human("my sister is a real star")


@pytest.mark.parametrize(
    "text", ["bye", "Good night Robin", "I have to go now", "ok goodbye", "see you tomorrow"]
)
def test_a_goodbye_is_seen(rules: SafetyRules, text: str) -> None:
    assert rules.is_goodbye(text)
    assert not rules.is_goodbye("We said our prayers and had tea")
