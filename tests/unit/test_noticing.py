"""What the rules report becomes a notice; what breaks is amber, and reported to operators (S1, S9)."""

from companion.supervision.noticing import Noticing
from companion.supervision.states import FlagTier
from tests.noticing import BracketReader, BracketRules


class BrokenReader(BracketReader):
    def feed(self, text: str) -> None:
        raise RuntimeError(text)


class BrokenReplies(BracketRules):
    def reply_reader(self) -> BracketReader:
        return BrokenReader()


def test_a_message_has_the_tier_kind_and_version_of_its_rule() -> None:
    notice = Noticing(BracketRules()).read_message("I am [red] [staff]")
    assert notice is not None
    assert (notice.tier, notice.kind, notice.rule, notice.rules_version, notice.about_staff) == (
        FlagTier.RED,
        "self_harm",
        "red-1",
        "test-rules",
        True,
    )
    assert Noticing(BracketRules()).read_message("Good morning") is None


def test_rules_that_raise_count_as_amber_and_operators_are_alerted() -> None:
    broken: list[str] = []
    notice = Noticing(BracketRules(), on_broken=broken.append).read_message("[break]")
    assert notice is not None and notice.tier is FlagTier.AMBER
    assert broken == ["broken-rule"]


def test_a_rule_that_reports_itself_broken_is_amber_though_no_other_matched() -> None:
    broken: list[str] = []
    notice = Noticing(BracketRules(), on_broken=broken.append).read_message("[broken]")
    assert notice is not None and notice.tier is FlagTier.AMBER
    assert "broken" in broken


def test_a_reply_is_caught_by_the_words_that_complete_a_rule() -> None:
    watch = Noticing(BracketRules()).watch_reply()
    assert watch.catch("You should [st") is None
    caught = watch.catch("op] taking it")
    assert caught is not None and caught.kind == "medicine"
    assert watch.finish() is None


def test_a_reply_is_flagged_once_it_is_over() -> None:
    watch = Noticing(BracketRules()).watch_reply()
    assert watch.catch("I [flag] you") is None
    flagged = watch.finish()
    assert flagged is not None and (flagged.tier, flagged.kind) == (FlagTier.AMBER, "love")


def test_a_reader_that_breaks_ends_no_reply_and_is_flagged() -> None:
    broken: list[str] = []
    watch = Noticing(BrokenReplies(), on_broken=broken.append).watch_reply()
    assert watch.catch("words") is None
    assert watch.catch("more words") is None
    flagged = watch.finish()
    assert flagged is not None and flagged.kind == "broken-rule"
    assert broken == ["broken-rule"]
