"""A person has one live visit: coming in elsewhere moves it, with a reply that is under way (A1)."""

import uuid
from concurrent.futures import ThreadPoolExecutor

from companion.models import Visit
from tests.machines import add_machine, last_visit, live_visits, offer, open_browser
from tests.page_socket import Page
from tests.people import People, in_database
from tests.processes import Rehearsal, Web

SLOW = {"pace_ms": 60}


async def test_coming_in_elsewhere_closes_the_earlier_page_as_moved(service: Web, people: People) -> None:
    rosa = people.rosa
    async with Page(service.socket_url, rosa.sign_in(service.url)) as before:
        assert (await before.next())["type"] == "hello"

        async with Page(service.socket_url, rosa.sign_in(service.url)) as after:
            assert (await after.next())["type"] == "hello"
            assert await before.close_code(within_s=2) == 4401

    assert [visit.has_moved for visit in live_visits(rosa)] == [True]
    ended = in_database(lambda: Visit.objects.exclude(ended_at=None).get(participant=rosa.row))
    assert ended.end_reason == "moved"


async def test_a_reply_under_way_goes_on_and_is_seen_on_the_new_machine(
    service: Web, neighbour: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    rehearsal.inject(SLOW, times=1)
    async with Page(service.socket_url, rosa.sign_in(service.url)) as before:
        await before.say("What helps against fear?", str(uuid.uuid4()))
        await before.until("words")

        async with Page(neighbour.socket_url, rosa.sign_in(neighbour.url)) as after:
            assert await before.close_code(within_s=2) == 4401
            assert (await after.ending(within_s=40))["type"] == "complete"

    [turn] = rosa.turns()
    assert (turn.state, bool(turn.reply)) == ("complete", True)


async def test_finishing_where_it_moved_to_stops_the_reply(
    service: Web, neighbour: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    rehearsal.inject(SLOW, times=1)
    async with Page(service.socket_url, rosa.sign_in(service.url)) as before:
        await before.say("What helps against fear?", str(uuid.uuid4()))
        await before.until("words")
        browser = open_browser(neighbour)
        assert browser.post("/card/", code=rosa.card.code).status_code == 302
        assert await before.close_code(within_s=2) == 4401

        browser.post("/chat/finish/", proof="x")

        async with Page(neighbour.socket_url, rosa.sign_in(neighbour.url)) as again:
            await again.until("hello")
            [turn] = rosa.turns()
            if turn.state == "speaking":
                await again.ending(within_s=10)
    [turn] = rosa.turns()
    assert turn.state == "stopped"


async def test_two_people_who_swap_machines_in_the_middle_of_replies_both_get_theirs(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    (front, _), (back, _) = (add_machine(service, people.site, name) for name in ("Front", "Back"))
    rosa, tomas = people.rosa, people.add_participant("Tomas")
    rehearsal.inject(SLOW, times=2)
    front.post("/card/", code=rosa.card.code)
    back.post("/card/", code=tomas.card.code)
    async with (
        Page(service.socket_url, front.session) as of_rosa,
        Page(service.socket_url, back.session) as of_tomas,
    ):
        for page, question in ((of_rosa, "Rosa asks."), (of_tomas, "Tomas asks.")):
            await page.say(question, str(uuid.uuid4()))
            await page.until("words")

        front.post("/card/", code=tomas.card.code)
        back.post("/card/", code=rosa.card.code)

        assert await of_rosa.close_code(within_s=2) == 4401
        assert await of_tomas.close_code(within_s=2) == 4401
    async with (
        Page(service.socket_url, back.session) as of_rosa,
        Page(service.socket_url, front.session) as of_tomas,
    ):
        for page, person in ((of_rosa, rosa), (of_tomas, tomas)):
            hello = await page.until("hello")
            turns = hello["conversation"]["turns"]
            assert [turn["question"] for turn in turns] == [f"{person.row.name} asks."]
            if turns[0]["state"] == "speaking":
                assert (await page.ending(within_s=40))["type"] == "complete"
    for person in (rosa, tomas):
        assert [turn.state for turn in person.turns()] == ["complete"]
        assert len(live_visits(person)) == 1


async def test_a_card_opened_twice_at_once_on_two_machines_leaves_one_visit(
    service: Web, people: People
) -> None:
    machines = [add_machine(service, people.site, f"Machine {number}")[0] for number in range(4)]
    rosa = people.rosa

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda one: one.post("/card/", code=rosa.card.code), machines))

    assert {answer.status_code for answer in answers} == {302}
    assert len(live_visits(rosa)) == 1
    places = [one.get("/chat/").status_code for one in machines]
    assert sorted(places) == [200, 302, 302, 302]


async def test_staff_move_a_visit_to_another_machine(service: Web, people: People) -> None:
    (front, front_row), (back, back_row) = (
        add_machine(service, people.site, name) for name in ("Front", "Back")
    )
    rosa = people.rosa
    front.answer(offer(front_row, rosa), "yes")

    assert back.answer(offer(back_row, rosa), "yes")["outcome"] == "opened"

    assert front.get("/chat/").status_code == 302
    assert last_visit(rosa).machine_id == back_row.pk
    assert "Your chat has moved here." in back.get("/chat/").text
