"""Rules about prompts: no half answer, no drafted line, held questions first (T6 to T8, T15). PURE."""

import re
from collections.abc import Iterator, Sequence

from ops.ordeal.judge.evidence import Evidence, JudgedTurn, ProviderCall
from ops.ordeal.judge.findings import Findings, OrdealRule

BROKEN_OFF = " …"
"""Stands behind what was said before a stop."""


def find_question(text: str, question: str) -> int:
    """The place of a question in a text, the last; -1 without it. `kestrel-17-3` does not stand in `kestrel-17-30`."""
    places = [found.start() for found in re.finditer(rf"{re.escape(question)}(?!\d)", text)]
    return places[-1] if places else -1


def _prompts(evidence: Evidence) -> Iterator[tuple[ProviderCall, JudgedTurn, Sequence[JudgedTurn]]]:
    """Each call of a stored turn, with the turn and the earlier turns of its conversation."""
    for call in evidence.calls:
        turn = evidence.turns.get(call.turn or 0)
        if turn is not None and call.messages:
            yield call, turn, [one for one in evidence.turns_of[turn.conversation] if one.id < turn.id]


def _expect(findings: Findings, call: ProviderCall, held: bool, text: str) -> None:
    findings.expect(held, text, at=call.asked_at, who=f"provider:{call.lane}", turn=call.turn)


def check_roles(evidence: Evidence, findings: Findings) -> None:
    """System first, then user and assistant in turn, and the question last."""
    for call, turn, _ in _prompts(evidence):
        roles = [message["role"] for message in call.messages if message["role"] != "system"]
        wanted = ["user" if place % 2 == 0 else "assistant" for place in range(len(roles))]
        held = bool(roles) and roles == wanted and roles[-1] == "user"
        _expect(findings, call, held, f"the roles are {roles}")
        last = call.messages[-1]["content"]
        text = "the last message does not end with the question"
        _expect(findings, call, last.endswith(turn.question), text)


def check_no_half_answer(evidence: Evidence, findings: Findings) -> None:
    """An earlier answer in a prompt is a complete reply, or what was said before a stop: never a half answer."""
    for call, _, earlier in _prompts(evidence):
        allowed = {one.reply for one in earlier if one.state == "complete"}
        allowed |= {f"{one.reply.rstrip()}{BROKEN_OFF}".lstrip() for one in earlier if one.state == "stopped"}
        answers = [message["content"] for message in call.messages if message["role"] == "assistant"]
        for number, answer in enumerate(answers, start=1):
            text = f"answer {number} in the prompt is no whole reply of an earlier turn"
            _expect(findings, call, answer in allowed, text)
        halves = [one for one in earlier if one.state == "paused" and len(one.reply) > 12]
        asked = [message["content"] for message in call.messages if message["role"] == "user"]
        for half in halves:
            held = not any(half.reply in text for text in asked)
            _expect(findings, call, held, f"the half answer of turn {half.id} is in the prompt")


def check_no_drafted_line(evidence: Evidence, findings: Findings) -> None:
    """No drafted line is in a prompt."""
    for call, _, _ in _prompts(evidence):
        said = [message["content"] for message in call.messages if message["role"] != "system"]
        found = next((line for line in evidence.drafted_lines if any(line in text for text in said)), "")
        text = f"a drafted line of {len(found)} characters is in the prompt"
        _expect(findings, call, not found, text)


def check_held_order(evidence: Evidence, findings: Findings) -> None:
    """Held questions stand before the new one, in the order in which they were asked."""
    for call, turn, earlier in _prompts(evidence):
        last = call.messages[-1]["content"]
        asked = [one for one in earlier if one.state == "paused" and find_question(last, one.question) >= 0]
        places = [find_question(last, one.question) for one in [*asked, turn]]
        text = f"the questions of turns {[one.id for one in asked] + [turn.id]} are not in order"
        held = places == sorted(places)
        _expect(findings, call, held, text)


def check_held_answered(evidence: Evidence, findings: Findings) -> None:
    """The next complete reply answers what was held, and opens with *I am back*."""
    for turn in evidence.turns.values():
        finished = [
            call for call in evidence.calls_of.get(turn.id, ()) if call.how == "finished" and call.messages
        ]
        if turn.state != "complete" or not finished:
            continue
        held = [one for one in evidence.turns_of[turn.conversation] if _was_held(one, turn)]
        for one in held:
            text = f"the held question of turn {one.id} was not answered by the next reply"
            answered = one.answered_by is not None and one.answered_by <= turn.id
            findings.expect(answered, text, at=turn.ends_at, turn=turn.id)
            if one.answered_by != turn.id:
                continue
            text = f"the held question of turn {one.id} is answered on record and was not asked"
            asked = find_question(finished[-1].messages[-1]["content"], one.question) >= 0
            findings.expect(asked, text, at=turn.ends_at, turn=turn.id)
        came_back = any(opening["kind"] == "i_am_back" for opening in turn.openings)
        if held and any(one.answered_by == turn.id for one in held):
            findings.expect(
                came_back, "the reply does not open with I am back", at=turn.ends_at, turn=turn.id
            )


def _was_held(one: JudgedTurn, turn: JudgedTurn) -> bool:
    """Whether a question was surely held when this turn was admitted: not settled, not doubted, not offered back."""
    admitted_at = turn.admitted_at if turn.admitted_at is not None else turn.created_at
    return (
        one.id < turn.id
        and one.state == "paused"
        and one.held_until is not None
        and one.ends_at < admitted_at < one.held_until
        and not one.settled
        and not one.tried_along
        and (one.answered_by is None or one.answered_by >= turn.id)
    )


def check_red_stays_out(evidence: Evidence, findings: Findings) -> None:
    """A red message, and what was written while the companion was quiet, is in no prompt."""
    for call, _, earlier in _prompts(evidence):
        kept_out = [
            one
            for one in earlier
            if one.state == "safety" or (one.state == "handed_over" and one.reason == "quiet")
        ]
        for one in kept_out:
            held = all(find_question(message["content"], one.question) < 0 for message in call.messages)
            text = f"the message of turn {one.id} ({one.reason}) is in the prompt"
            _expect(findings, call, held, text)


RULES = (
    OrdealRule(name="roles-alternate", promise="Roles in a prompt alternate", check=check_roles),
    OrdealRule(name="no-half-answer", promise="No half answer is in a prompt", check=check_no_half_answer),
    OrdealRule(name="no-drafted-line", promise="No drafted line is in a prompt", check=check_no_drafted_line),
    OrdealRule(
        name="held-in-order", promise="Held questions come first and in order", check=check_held_order
    ),
    OrdealRule(
        name="held-are-answered", promise="The next reply answers what was held", check=check_held_answered
    ),
    OrdealRule(name="red-stays-out", promise="No red message is in a prompt", check=check_red_stays_out),
)
