"""The weights of words are those learned from the known sentences, and are added up as they were learned (S1)."""

import pytest

from personas.safety import SafetyRules, Tier, load
from personas.safety.features import WINDOW_WORDS, FeatureReader, cut_pieces, stem
from personas.safety.files import WEIGHTS
from personas.safety.learn import SETS, digest_sentences, learn, read_sentences
from personas.safety.measure import read_set
from personas.safety.spelling import Spelling
from personas.safety.tokens import Tokenizer, Tokens
from personas.safety.weights import BIAS, Weigher, read_weights

WRITTEN = "# a comment\n(all)\t-1.00\t-2.00\npill\t1.50\t1.00\ntook @some\t2.00\t\n@some&pill\t0.25\t0.50\n"


@pytest.fixture(scope="module")
def rules() -> SafetyRules:
    return load()


@pytest.fixture(scope="module")
def weigher() -> Weigher:
    return Weigher(FeatureReader({"all": "@some", "every": "@some"}), read_weights(WRITTEN))


def tokens_of(text: str) -> Tokens:
    return Tokenizer(Spelling((), ()), expansions={}, ambiguous={}, signs={}).read(text)


def test_the_weights_that_ship_were_learned_from_the_known_sentences_of_today() -> None:
    first = WEIGHTS["en"].read_text(encoding="utf-8").partition("\n")[0]

    assert digest_sentences(read_sentences()) in first, "python -m personas.safety.learn"


def test_no_weight_is_learned_from_a_held_out_sentence() -> None:
    known = {message.text.lower() for message in read_sentences()}
    held_out = {message.text.lower() for path in SETS.glob("held_out*.jsonl") for message in read_set(path)}

    assert not known & held_out


def test_a_message_scores_the_sum_of_its_words_and_pairs(weigher: Weigher) -> None:
    score = weigher.weigh(tokens_of("took all the pills"))

    assert (score.danger, score.concern) == (-1 + 1.5 + 2 + 0.25, -2 + 1 + 0.5)


def test_a_word_counts_once_however_often_it_is_said(weigher: Weigher) -> None:
    assert weigher.weigh(tokens_of("pill pill pills")).danger == 0.5


def test_a_pair_does_not_reach_over_the_end_of_a_sentence(weigher: Weigher) -> None:
    assert weigher.weigh(tokens_of("I took. All pills")).danger == -1 + 1.5 + 0.25


def test_the_reasons_are_the_heaviest_words_first(weigher: Weigher) -> None:
    assert weigher.reasons(tokens_of("took all the pills"), danger=True) == [
        "took @some",
        "pill",
        "@some&pill",
    ]


def test_danger_in_one_sentence_of_a_long_message_is_not_thinned_by_the_others(weigher: Weigher) -> None:
    talk = "We had soup and then we looked at the photographs of the old harbour. " * 20

    assert weigher.weigh(tokens_of(f"{talk} I took all the pills. {talk}")) == weigher.weigh(
        tokens_of("I took all the pills.")
    )


@pytest.mark.parametrize("text", ["", "a", "a " * 41, "a. " * 400, "word " * 400, f"a. {'b ' * 90}. c"])
def test_every_word_is_in_a_piece_and_no_piece_is_longer_than_the_window(text: str) -> None:
    tokens = tokens_of(text)
    pieces = list(cut_pieces(tokens))

    assert set().union(*(range(start, end) for start, end in pieces)) == set(range(len(tokens.plain)))
    assert all(end - start <= WINDOW_WORDS for start, end in pieces)


def test_a_line_that_is_no_weight_is_refused() -> None:
    with pytest.raises(ValueError, match="unpack"):
        read_weights("pill\t1.5\n")


def test_what_stands_in_dangerous_sentences_only_weighs_more_than_nothing() -> None:
    weights, _ = learn([(["took", "pill"], True), (["took", "pill", "all"], True), (["tea"], False)] * 5)

    assert weights["pill"] > 0 > weights["tea"]


@pytest.mark.parametrize(("first", "second"), [("kills", "killing"), ("tries", "tried"), ("stab", "stabbed")])
def test_the_forms_of_a_word_weigh_the_same(first: str, second: str) -> None:
    assert stem(first) == stem(second)


def test_what_no_pattern_names_is_found_by_its_words(rules: SafetyRules) -> None:
    text = "I popped every sleeping tablet out on the plate, and by morning they will find me cold"
    explanations = rules.explain_message(text)

    assert rules.read_message(text).tier is Tier.RED
    assert any(one.rule == "weighed-words" and one.pattern for one in explanations)


def test_a_pattern_among_everyday_words_does_not_count(rules: SafetyRules) -> None:
    assert (
        rules.read_message("the ladies' team beats us at bowls every year and rightly so").tier is Tier.NONE
    )


def test_weighed_words_that_name_staff_ring_beyond_them(rules: SafetyRules) -> None:
    finding = next(
        one.finding
        for one in rules.explain_message("the night nurse holds my nose until I swallow and says keep quiet")
        if one.rule == "weighed-words"
    )

    assert finding.about_staff


def test_the_version_changes_with_the_weights(rules: SafetyRules) -> None:
    assert rules.version.count("-") == 2


def test_the_file_of_weights_names_what_every_message_scores() -> None:
    assert BIAS in read_weights(WEIGHTS["en"].read_text(encoding="utf-8"))
