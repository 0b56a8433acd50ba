"""What a provider is sent: alternating roles, held questions first, the latest dialogue that fits."""

from hypothesis import given
from hypothesis import strategies as st

from companion.prompt import Draft, held_that_fit, tokens, write_prompt

PAIRS = st.lists(st.tuples(st.text(min_size=1), st.text(min_size=1)), max_size=12)


def draft(**changes: object) -> Draft:
    facts: dict[str, object] = {
        "system": "You are Robin.",
        "instruction_held": "Answer these first, then the newest.",
        "dialogue": [],
        "held": [],
        "question": "How are you?",
    }
    return Draft(**(facts | changes))  # type: ignore[arg-type]


@given(dialogue=PAIRS, held=st.lists(st.text(min_size=1), max_size=4), window=st.integers(100, 200_000))
def test_roles_alternate_whatever_happened_before(
    dialogue: list[tuple[str, str]], held: list[str], window: int
) -> None:
    messages = write_prompt(draft(dialogue=dialogue, held=held), context_tokens=window)
    roles = [message.role for message in messages]
    assert roles[0] == "system"
    assert roles[1:] == (["user", "assistant"] * len(roles))[: len(roles) - 1]
    assert roles[-1] == "user"


def test_held_questions_are_asked_in_order_and_before_the_new_one() -> None:
    asked = write_prompt(draft(held=["First?", "Second?"]), context_tokens=8_000)[-1].text
    assert asked.startswith("Answer these first")
    assert asked.index("First?") < asked.index("Second?") < asked.index("How are you?")


def test_of_held_questions_too_many_for_the_window_the_newest_are_asked_and_the_rest_stay_held() -> None:
    many = draft(held=[f"{number}: " + "word " * 800 for number in range(8)])
    fitting = held_that_fit(many, context_tokens=8_000)
    messages = write_prompt(many, context_tokens=8_000)
    assert 0 < fitting < 8
    assert [number for number in range(8) if f"{number}: " in messages[-1].text] == list(
        range(8 - fitting, 8)
    )
    assert sum(tokens(message.text) for message in messages) < 8_000
    assert held_that_fit(many, context_tokens=64_000) == 8


def test_without_held_questions_the_new_one_stands_alone() -> None:
    assert write_prompt(draft(), context_tokens=8_000)[-1].text == "How are you?"


def test_a_small_window_keeps_the_latest_pairs_and_always_the_question() -> None:
    dialogue = [(f"question {number}", "word " * 200) for number in range(20)]
    messages = write_prompt(draft(dialogue=dialogue), context_tokens=3_000)
    kept = [message.text for message in messages if message.role == "user"]
    assert kept[-1] == "How are you?"
    assert kept[-2] == "question 19"
    assert "question 0" not in kept
    assert sum(tokens(message.text) for message in messages) < 3_000


def test_a_window_too_small_for_anything_still_asks_the_question() -> None:
    messages = write_prompt(draft(dialogue=[("a", "b")]), context_tokens=10)
    assert [message.role for message in messages] == ["system", "user"]
