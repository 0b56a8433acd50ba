"""What a provider is sent: alternating roles, held questions first, the latest dialogue that fits."""

from hypothesis import given
from hypothesis import strategies as st

from companion.prompt import BROKEN_OFF, Exchange, PromptDraft, choose_held, estimate_tokens, write_prompt

EXCHANGES = st.lists(
    st.builds(
        Exchange,
        questions=st.lists(st.text(min_size=1), min_size=1, max_size=3).map(tuple),
        reply=st.text(),
        stopped=st.just(True),
    )
    | st.builds(
        Exchange,
        questions=st.lists(st.text(min_size=1), min_size=1, max_size=3).map(tuple),
        reply=st.text(min_size=1),
    ),
    max_size=12,
)


def draft(**changes: object) -> PromptDraft:
    facts: dict[str, object] = {
        "system": "You are Robin.",
        "instruction_held": "Answer these first, then the newest.",
        "dialogue": [],
        "held": [],
        "question": "How are you?",
    }
    return PromptDraft(**(facts | changes))  # type: ignore[arg-type]


def exchange(*questions: str, reply: str = "Yes.", stopped: bool = False) -> Exchange:
    return Exchange(questions=questions, reply=reply, stopped=stopped)


@given(dialogue=EXCHANGES, held=st.lists(st.text(min_size=1), max_size=4), window=st.integers(100, 200_000))
def test_roles_alternate_and_no_message_is_empty_whatever_happened_before(
    dialogue: list[Exchange], held: list[str], window: int
) -> None:
    messages = write_prompt(draft(dialogue=dialogue, held=held), window_tokens=window)
    roles = [message.role for message in messages]
    assert roles[0] == "system"
    assert roles[1:] == (["user", "assistant"] * len(roles))[: len(roles) - 1]
    assert roles[-1] == "user"
    assert all(message.text for message in messages)


def test_an_answered_held_question_stands_before_its_answer_in_later_prompts() -> None:
    before = exchange("First?", "Second?", "Third?", reply="One. Two. Three.")
    _, asked, said, now = write_prompt(draft(dialogue=[before]), window_tokens=8_000)
    assert (asked.role, asked.text) == ("user", "First?\n\nSecond?\n\nThird?")
    assert (said.role, said.text) == ("assistant", "One. Two. Three.")
    assert now.text == "How are you?"


def test_a_stopped_turn_keeps_its_question_and_what_was_said_and_shows_that_it_broke_off() -> None:
    before = exchange("A story?", reply="Once upon a ", stopped=True)
    _, asked, said, _ = write_prompt(draft(dialogue=[before]), window_tokens=8_000)
    assert (asked.text, said.text) == ("A story?", f"Once upon a {BROKEN_OFF}")


def test_a_turn_stopped_before_its_first_word_keeps_its_question_and_a_message_of_each_role() -> None:
    before = exchange("A story?", reply="", stopped=True)
    _, asked, said, _ = write_prompt(draft(dialogue=[before]), window_tokens=8_000)
    assert (asked.role, asked.text, said.role, said.text) == ("user", "A story?", "assistant", BROKEN_OFF)


def test_held_questions_are_asked_in_order_and_before_the_new_one() -> None:
    asked = write_prompt(draft(held=["First?", "Second?"]), window_tokens=8_000)[-1].text
    assert asked.startswith("Answer these first")
    assert asked.index("First?") < asked.index("Second?") < asked.index("How are you?")


def test_of_held_questions_too_many_for_the_window_the_oldest_are_asked_and_the_rest_stay_held() -> None:
    many = draft(held=[f"{number}: " + "word " * 800 for number in range(8)])
    fitting = choose_held(many, window_tokens=8_000)
    messages = write_prompt(many, window_tokens=8_000)
    assert 0 < len(fitting) < 8
    assert fitting == tuple(range(len(fitting)))
    assert [number for number in range(8) if f"{number}: " in messages[-1].text] == list(fitting)
    assert sum(estimate_tokens(message.text) for message in messages) < 8_000
    assert choose_held(many, window_tokens=64_000) == tuple(range(8))


def test_a_held_question_too_large_for_the_window_by_itself_keeps_no_other_from_being_asked() -> None:
    asked = draft(held=["First?", "word " * 4_000, "Third?"])
    assert choose_held(asked, window_tokens=4_000) == (0, 2)
    text = write_prompt(asked, window_tokens=4_000)[-1].text
    assert text.index("First?") < text.index("Third?") < text.index("How are you?")


def test_without_held_questions_the_new_one_stands_alone() -> None:
    assert write_prompt(draft(), window_tokens=8_000)[-1].text == "How are you?"


def test_a_small_window_keeps_the_latest_exchanges_and_always_the_question() -> None:
    dialogue = [exchange(f"question {number}", reply="word " * 200) for number in range(20)]
    messages = write_prompt(draft(dialogue=dialogue), window_tokens=3_000)
    kept = [message.text for message in messages if message.role == "user"]
    assert kept[-1] == "How are you?"
    assert kept[-2] == "question 19"
    assert "question 0" not in kept
    assert sum(estimate_tokens(message.text) for message in messages) < 3_000


def test_a_window_too_small_for_anything_still_asks_the_question() -> None:
    messages = write_prompt(draft(dialogue=[exchange("a", reply="b")]), window_tokens=10)
    assert [message.role for message in messages] == ["system", "user"]
