"""Contract checks are kept, the last twenty of them, and no reply is (R13)."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from ops.lane_checks.contract import ContractReport, check_contract
from ops.lane_checks.lane_call import AskPolicy
from ops.lane_checks.questions import QUESTIONS
from ops.lane_checks.results import CHECKS_KEPT, is_fresh, store_check
from ops.models import ContractCheck
from ops.stack.postgres import EmbeddedPostgres
from routing.adapters.scripted import ScriptedAdapter, Step, finished
from routing.chain import Caller
from tests.chains import lane
from tests.people import in_database

POLICY = AskPolicy(
    system_prompt="-", instruction_held="-", seconds=5, attempts=1, now=lambda: datetime.now(UTC)
)
SAID = "A sentence that stands in no row."


@pytest.fixture(autouse=True)
def _no_checks(database: EmbeddedPostgres) -> Iterator[None]:
    in_database(lambda: ContractCheck.objects.all().delete())
    yield
    in_database(lambda: ContractCheck.objects.all().delete())


def compared(*, limit_s: float = 60) -> ContractReport:
    script: list[Step] = [SAID, finished()]
    adapter = ScriptedAdapter(*(script for _ in QUESTIONS))
    lanes = (lane("one"),)
    return asyncio.run(check_contract(lanes, Caller({"openai": adapter}), policy=POLICY, limit_s=limit_s))


def store_report(found: ContractReport, routing_hash: str) -> None:
    in_database(lambda: store_check(found, preset="normal", routing_hash=routing_hash))


def test_a_check_is_due_after_a_day_and_after_a_change_of_the_routing_file() -> None:
    at = datetime.now(UTC)
    assert not in_database(lambda: is_fresh("a", at))
    store_report(compared(), "a")
    assert in_database(lambda: is_fresh("a", at))
    assert not in_database(lambda: is_fresh("b", at))
    assert not in_database(lambda: is_fresh("a", at + timedelta(days=1, minutes=1)))


def test_the_last_twenty_are_kept_without_a_word_of_a_reply() -> None:
    found = compared()
    for number in range(CHECKS_KEPT + 3):
        store_report(found, str(number))

    rows = in_database(lambda: list(ContractCheck.objects.order_by("id")))
    assert [row.routing_hash for row in rows] == [str(number) for number in range(3, CHECKS_KEPT + 3)]
    assert all(row.ok is found.is_interchangeable for row in rows)
    assert "sentence" not in str(rows[-1].document)
    assert rows[-1].document["lanes"][0]["words"] == len(SAID.split())


def test_a_check_without_time_for_a_question_leaves_it_out_and_says_so() -> None:
    found = compared(limit_s=4)

    assert found.traits[0].no_time_for == tuple(question.key for question in QUESTIONS)
    [finding] = [one for one in found.findings if one.trait == "answers"]
    assert finding.matters
    assert "no time was left" in finding.said
