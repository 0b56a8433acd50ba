"""The rules that ship read messages and replies; a file that cannot be used is refused with one plain sentence."""

from pathlib import Path

import pytest

from personas.errors import SafetyInvalid
from personas.safety import SafetyRules, Tier, check_file, load, load_file, name_kinds
from personas.safety.files import rules_path

WHOLE = rules_path("en").read_text(encoding="utf-8")


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


def test_a_process_has_the_rules_of_english_once_by_name_and_by_default() -> None:
    assert load() is load("en")
    assert name_kinds() is name_kinds("en")


def test_the_file_that_ships_passes_its_lint() -> None:
    assert check_file(rules_path("en")).version == load().version


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
    "text",
    [
        *("bye", "Good night Robin", "I have to go now", "ok goodbye", "Goodbye, see you tomorrow"),
        *("Thank you so much for listening. Goodnight!", "i feel better now. bye", "byeee", "gotta go, ttyl"),
        *("Thank you Robin. Goodbye, see you tomorrow", "Good bye", "thank you for today. bye"),
    ],
)
def test_a_farewell_alone_is_seen(rules: SafetyRules, text: str) -> None:
    assert rules.is_farewell(text)
    assert rules.ends_with_farewell(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "My dog died today. Goodnight",
            "I had a horrible day. Bye.",
            "So this is it. Goodbye and thank you",
        ),
        "I went to the shop, and then I could not find my way home again. Anyway. Bye",
    ],
)
def test_a_farewell_after_something_else_is_seen_at_the_end_alone(rules: SafetyRules, text: str) -> None:
    assert rules.ends_with_farewell(text)
    assert not rules.is_farewell(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "…", "We said our prayers and had tea", "How do I say goodbye to her?", "See you tomorrow?"),
        *("He said goodbye and drove off", "We said goodnight and I cried", "I want to say goodbye"),
        *(
            "I need to go to the hospital",
            "Goodbye, and can you remind me what we said?",
            "I'm sorry, goodbye",
        ),
        *("See you in heaven", "Goodbye, forgive me", "Bye, it's over", "Goodbye, I won't be here tomorrow"),
        *("Bye, don't tell anyone", "Bye, I can't do this anymore"),
        *("Bye. But first, what was that song", "goodbye forever", "x" * 4_000, "bye " * 1_000),
    ],
)
def test_what_tells_or_asks_something_takes_no_leave(rules: SafetyRules, text: str) -> None:
    assert not rules.is_farewell(text)
    assert not rules.ends_with_farewell(text)
