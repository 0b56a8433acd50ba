"""Rules about whose words are where: on pages, on screens of staff, in prompts. PURE."""

from ops.ordeal.judge.evidence import Evidence
from ops.ordeal.judge.findings import Findings, OrdealRule


def _expect_only(findings: Findings, owners: set[str], own: str, *, at: float, who: str) -> None:
    others = sorted(owners - {own})
    findings.expect(not others, f"words of {', '.join(others)} stand among those of {own}", at=at, who=who)


def check_pages(evidence: Evidence, findings: Findings) -> None:
    """A page shows words of its own person alone."""
    for story in evidence.pages:
        for event, frame in story.frames("hello", "got"):
            _expect_only(findings, evidence.owners_of_frame(frame), story.name, at=event.at, who=story.who)


def check_screens(evidence: Evidence, findings: Findings) -> None:
    """What a screen of staff shows of a conversation is of its person."""
    for story in evidence.screens:
        for event, frame in story.frames("got"):
            conversation = frame.get("conversation")
            if isinstance(conversation, int) and conversation in evidence.person_of:
                own = evidence.person_of[conversation]
                _expect_only(findings, evidence.owners_of_frame(frame), own, at=event.at, who=story.who)


def check_prompts(evidence: Evidence, findings: Findings) -> None:
    """A prompt holds words of the person whose turn it is."""
    for call in evidence.calls:
        turn = evidence.turns.get(call.turn or 0)
        if turn is None or turn.conversation not in evidence.person_of:
            continue
        own = evidence.person_of[turn.conversation]
        text = "\n".join(message["content"] for message in call.messages)
        who = f"provider:{call.lane}"
        _expect_only(findings, evidence.owners_of_words(text), own, at=call.asked_at, who=who)


def check_record(evidence: Evidence, findings: Findings) -> None:
    """What is stored of a conversation is of its person."""
    for turn in evidence.turns.values():
        own = evidence.person_of.get(turn.conversation, "")
        owners = evidence.owners_of_words(f"{turn.question}\n{turn.reply}")
        _expect_only(findings, owners, own, at=turn.created_at, who="record")


RULES = (
    OrdealRule(name="own-words-on-pages", promise="No page shows words of another person", check=check_pages),
    OrdealRule(
        name="own-words-on-screens", promise="No screen mixes the words of two people", check=check_screens
    ),
    OrdealRule(
        name="own-words-in-prompts", promise="No prompt holds words of another person", check=check_prompts
    ),
    OrdealRule(
        name="own-words-on-record", promise="No turn holds words of another person", check=check_record
    ),
)
