"""`manage.py transcript`: every turn whole, in every field, recorded in the audit."""

import json
import os
import pwd
import subprocess
import sys
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from companion.models import Process, ReplyChunk, Turn
from tests.page_socket import Page
from tests.people import People, Person, in_database
from tests.processes import ROOT, Rehearsal, Web
from tests.staff import expire_hold, get_audit_entries, play_broken_turn, play_turn

DISCLOSURE = "I am a computer program. I am not a person. Staff here can read what we write."
PAUSE = "I have to stop for a little while. You did nothing wrong. I have kept your question safe."
BACK = "I am back. First, what you asked me before."


def transcript(*arguments: str) -> str:
    out = StringIO()
    in_database(lambda: call_command("transcript", *arguments, stdout=out))
    return out.getvalue()


def turns_of(person: Person, *arguments: str) -> list[dict[str, Any]]:
    document = json.loads(transcript(person.row.name, "--site", person.row.site.slug, "--json", *arguments))
    assert document["participant"] == {
        "id": person.row.pk,
        "name": person.row.name,
        "site": person.row.site.slug,
        "is_active": person.row.is_active,
    }
    turns: list[dict[str, Any]] = document["turns"]
    return turns


async def test_a_half_answer_stands_whole_with_every_field_of_its_turn(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    stored = await play_broken_turn(service, rosa, rehearsal)
    [turn] = turns_of(rosa)
    [attempt] = turn.pop("attempts")
    words = len(stored.reply.split())
    assert 0 < words <= 5
    assert turn == {
        "id": stored.pk,
        "key": str(stored.key),
        "state": "paused",
        "reason": "network",
        "question": "What helps against fear?",
        "reply": stored.reply,
        "lines": [DISCLOSURE, PAUSE],
        "openings": [{"kind": "disclosure", "line": DISCLOSURE}],
        "line": PAUSE,
        "seq": stored.seq,
        "shortened": False,
        "marked": False,
        "skipped": [],
        "lane": "rehearsal",
        "model": stored.model,
        "preset": "normal",
        "routing_version": stored.routing_version,
        "persona_version": stored.persona_version,
        "held_until": stored.held_until.isoformat() if stored.held_until else "",
        "is_held": True,
        "is_expired": False,
        "easy_words": False,
        "settled": "",
        "answered_by": None,
        "answers": [],
        "owner": str(stored.owner),
        "owner_heard_at": turn["owner_heard_at"],
        **{
            name: getattr(stored, name).isoformat()
            for name in ("created_at", "wait_until", "admitted_at", "first_word_at", "closed_at")
        },
    }
    assert turn["owner_heard_at"] is not None
    assert (attempt["number"], attempt["lane"], attempt["model"]) == (1, "rehearsal", "rehearsal-1")
    assert (attempt["failure"], attempt["status"], attempt["words"]) == ("network", 200, words)
    assert attempt["bytes_received"] > 0 and attempt["took_s"] > 0
    assert attempt["waited_s"] == 0 and isinstance(attempt["code"], str) and attempt["started_s"] >= 0


async def test_every_attempt_is_there_with_its_waits(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    rehearsal.inject({"status": 503}, times=2)
    await play_turn(service, rosa, rehearsal, question="Are you there?")
    [turn] = turns_of(rosa)
    told = [(one["number"], one["failure"], one["status"]) for one in turn["attempts"]]
    assert told == [(1, "server_error", 503), (2, "server_error", 503), (3, "", 200)]
    assert all(one["waited_s"] > 0 for one in turn["attempts"][1:])
    assert (turn["state"], turn["reason"], turn["lines"]) == ("complete", "", [DISCLOSURE])


async def test_a_question_and_the_turn_that_answered_it_name_each_other(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    await play_broken_turn(service, rosa, rehearsal)
    await play_turn(service, rosa, rehearsal, question="Hello?")
    broken, answer = turns_of(rosa)
    assert broken["answered_by"] == answer["id"] and not broken["is_held"]
    assert answer["answers"] == [broken["id"]]
    assert answer["lines"] == [BACK]
    assert answer["openings"] == [{"kind": "i_am_back", "line": BACK}]


async def test_a_question_whose_hold_has_run_out_is_expired(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    expire_hold(await play_broken_turn(service, rosa, rehearsal))
    [turn] = turns_of(rosa)
    assert turn["is_expired"] and not turn["is_held"]


async def test_words_of_a_reply_that_is_still_being_said_are_there_too(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    rehearsal.inject({"hang": "after_words", "after": 3}, times=1)
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        await page.say("How are you?")
        number = (await page.until("accepted"))["turn"]
        while len(page.words(number).split()) < 3:
            await page.next()
        [turn] = turns_of(rosa)
        assert (turn["state"], turn["closed_at"]) == ("speaking", None)
        assert turn["reply"] == page.words(turn["id"])
        await page.send({"type": "stop", "turn": turn["id"]})
        await page.ending()


async def test_reading_is_on_record_with_who_read_it_and_the_account_it_was_typed_in(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    await play_broken_turn(service, rosa, rehearsal)
    turns_of(rosa)
    turns_of(rosa, "--by", "Ines")
    account = pwd.getpwuid(os.getuid()).pw_name
    assert [(entry.who, entry.what, entry.note) for entry in get_audit_entries(rosa)] == [
        (account, "read_transcript", f"1 turns, command, account {account}"),
        ("Ines", "read_transcript", f"1 turns, command, account {account}"),
    ]


def test_an_unknown_name_is_a_sentence_and_exit_code_1(service: Web) -> None:
    ran = subprocess.run(
        [sys.executable, "manage.py", "transcript", "Unknown"], cwd=ROOT, capture_output=True, text=True
    )
    assert ran.returncode == 1
    assert ran.stderr == "CommandError: There is no participant named Unknown.\n"
    assert ran.stdout == ""


def test_a_name_that_several_have_is_told_apart_by_site_and_then_by_number(people: People) -> None:
    name = f"Twin {people.password}"
    here, there = people.add_participant(name), people.add_participant(name, site=people.elsewhere)
    again = people.add_participant(name)
    with pytest.raises(CommandError) as refusal:
        transcript(name)
    for twin in (here, there, again):
        assert f"number {twin.row.pk} at {twin.row.site.slug}" in str(refusal.value)
    assert get_audit_entries(here) == []

    assert "0 turns" in transcript(name.upper(), "--site", people.elsewhere.slug)
    with pytest.raises(CommandError, match="There are 2 participants"):
        transcript(name, "--site", people.site.slug)
    assert "0 turns" in transcript(name, "--number", str(again.row.pk))
    assert [len(get_audit_entries(twin)) for twin in (here, there, again)] == [0, 1, 1]


async def test_the_text_for_people_tells_the_same_story_in_words(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    stored = await play_broken_turn(service, rosa, rehearsal)
    text = transcript("Rosa", "--site", people.site.slug)
    for told in (
        f"Turn {stored.pk}: paused",
        "network: The connection to the provider was refused, or broke off.",
        f"| {stored.question}",
        f"| {stored.reply}",
        "a half answer",
        f"| {PAUSE}",
        "attempt 1",
        "The question is held until",
    ):
        assert told in text


async def test_written_text_cannot_steer_a_terminal(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    nasty = "one\x1b[2Jtwo\u202ethree\rfour\u2028five 👩\u200d👧 \x9b6n"
    await play_turn(service, rosa, rehearsal, question=nasty, fault={"say": nasty})
    text = transcript("Rosa", "--site", people.site.slug)
    assert "one\\u001b[2Jtwo\\u202ethree\\u000dfour\\u2028five 👩\u200d👧 \\u009b6n" in text
    assert not {"\x1b", "\u202e", "\r", "\u2028", "\x9b"} & set(text)
    document = transcript("Rosa", "--site", people.site.slug, "--json")
    assert document.isascii()
    assert json.loads(document)["turns"][0]["question"] == nasty


def test_a_turn_whose_process_is_long_gone_can_be_read(people: People) -> None:
    rosa = people.rosa
    gone = UUID(int=4)
    assert in_database(lambda: Process.objects.filter(id=gone).exists()) is False

    def left_behind() -> None:
        turn = Turn.objects.create(
            conversation=rosa.conversation,
            key=UUID(int=5),
            question="Left behind",
            state="paused",
            reason="lost",
            owner=gone,
            persona_version="0",
            wait_until=timezone.now(),
            closed_at=timezone.now(),
            reply="Half",
        )
        assert not ReplyChunk.objects.filter(turn_id=turn.pk).exists()

    in_database(left_behind)
    [turn] = turns_of(rosa)
    assert (turn["reason"], turn["reply"], turn["owner_heard_at"], turn["attempts"]) == (
        "lost",
        "Half",
        None,
        [],
    )
