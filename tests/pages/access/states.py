"""The states of a participant's pages, each as a person meets it."""

import re

from playwright.async_api import expect

from ops.stack.doors import open_doors
from tests.machines import offer
from tests.pages.access.checks import Scene
from tests.pages.access.stage import EARLIER, LONG_WORD, Stage, State, open_scripted, scene_of
from tests.pages.access.way_in_states import WAY_IN_STATES
from tests.pages.idling import open_idling, turn_clock
from tests.pages.machine_screens import open_machine, question
from tests.pages.script import JOINS_LINE, entry, snapshot

PAUSED_LINE = "I have to stop for a little while. I keep your question, and I will come back to it."


async def empty(stage: Stage) -> Scene:
    return scene_of(*await open_scripted(stage))


async def speaking(stage: Stage) -> Scene:
    now = snapshot(3, state="speaking", reply="Half a sen", seq=2)
    return scene_of(*await open_scripted(stage, *EARLIER, now))


async def waiting(stage: Stage) -> Scene:
    now = snapshot(3, state="waiting", reply="", line="I will come to you in a moment.")
    return scene_of(*await open_scripted(stage, *EARLIER, now))


async def paused(stage: Stage) -> Scene:
    return scene_of(
        *await open_scripted(stage, *EARLIER, snapshot(3, state="paused", reply="", line=PAUSED_LINE))
    )


async def refused(stage: Stage) -> Scene:
    room, script = await open_scripted(stage, *EARLIER)
    turn = await room.say(LONG_WORD)
    script.tell(
        {"type": "refused", "turn": 3, "line": "Please try again a bit later. Your words are still here."}
    )
    await room.becomes(turn, "refused")
    script.tell({"type": "problem", "code": "too_long", "line": "That is too much to send at one time."})
    await expect(room.problem).to_be_visible()
    return scene_of(room, script)


async def back(stage: Stage) -> Scene:
    opening = {"kind": "i_am_back", "line": "I am back. First, what you asked me before."}
    stopped = snapshot(4, state="stopped", line="I have stopped.")
    return scene_of(*await open_scripted(stage, *EARLIER, snapshot(3, openings=[opening]), stopped))


async def kept(stage: Stage) -> Scene:
    room, script = await open_scripted(
        stage, snapshot(1, question=LONG_WORD, state="paused", reply="", line=PAUSED_LINE)
    )
    line = "I did not come back to this in time. You can ask it again, or let it go."
    script.tell({"type": "kept", "questions": [{"turn": 1, "question": LONG_WORD, "line": line}]})
    script.tell({"type": "problem", "code": "not_now", "line": "Let me come to your other words first."})
    await expect(room.page.locator("[data-kept-problem]")).to_be_visible()
    return scene_of(room, script)


async def offline(stage: Stage) -> Scene:
    room, script = await open_scripted(stage, *EARLIER, snapshot(3, state="speaking", reply="Half", seq=1))
    await script.close(4403)
    await expect(room.away).to_be_visible()
    await room.page.route("**/help/", lambda route: route.abort())
    await room.talk_to_a_person.click()
    await expect(room.help_line).to_be_visible()
    # It keeps trying, and a browser remarks on each.
    room.complaints = []
    room.page.remove_listener("console", room.keep_complaint)
    return Scene(page=room.page)


async def safety_line(stage: Stage) -> Scene:
    room, script = await open_scripted(stage, *EARLIER)
    turn = await room.say("I do not want to live.")
    script.tell({"type": "safety", "turn": 3, "line": "Thank you for telling me. " * 6 + "0808 157 0123"})
    await room.becomes(turn, "safety")
    return scene_of(room, script)


async def with_a_person(stage: Stage) -> Scene:
    items = [*EARLIER, entry(1, "joins", JOINS_LINE, "Sam"), entry(2, "said", LONG_WORD, "Sam")]
    there = {"name": "Sam", "since": "2026-12-01T10:00:00+00:00"}
    room, script = await open_scripted(stage, *items, person=there)
    script.tell({"type": "person_writing", "line": "Sam is writing."})
    await expect(room.recipient).to_have_text("Sam is writing.")
    return scene_of(room, script)


async def paused_by_staff(stage: Stage) -> Scene:
    room, script = await open_scripted(stage, *EARLIER, paused=True)
    await expect(room.recipient).to_be_visible()
    return scene_of(room, script)


async def signed_out(stage: Stage) -> Scene:
    room, script = await open_scripted(stage, *EARLIER)
    await script.close(4401)
    await expect(room.page.get_by_text("You are signed out.")).to_be_visible()
    return Scene(page=room.page)


async def moved(stage: Stage) -> Scene:
    room, script = await open_scripted(stage, *EARLIER)
    script.tell({"type": "over", "reason": "moved"})
    await script.close(4401)
    await expect(room.page.get_by_text("You came in on another screen.")).to_be_visible()
    return Scene(page=room.page)


async def idle_warning(stage: Stage) -> Scene:
    room, _ = await open_idling(stage.open_room, stage.people.rosa, left_s=30)
    await turn_clock(room, 2)
    await expect(room.idle_warning).to_be_visible()
    return Scene(page=room.page)


async def locked(stage: Stage) -> Scene:
    room = await (await stage.open_room()).enter_by_card(stage.people.rosa)
    await room.context.request.post(f"{room.base_url}/chat/lock/", headers={"Origin": room.base_url})
    await room.go_to("/locked/")
    await expect(room.page.locator("[data-pictures]")).to_be_visible()
    return Scene(page=room.page)


async def left_at_once(stage: Stage) -> Scene:
    room = await (await stage.open_room()).enter(stage.people.rosa)
    await room.leave_now.click()
    await room.page.wait_for_url("**/empty/**")
    return Scene(page=room.page, is_neutral=True)


async def leaving_not_confirmed(stage: Stage) -> Scene:
    room, _ = await open_scripted(stage)
    # The service does not answer, so the page goes on by itself.
    await room.page.route("**/chat/exit/", lambda route: None)
    await room.leave_now.click()
    await expect(room.page.locator("[data-news]")).not_to_be_empty()
    return Scene(page=room.page, is_neutral=True)


async def closing(stage: Stage) -> Scene:
    room, _ = await open_scripted(stage)
    # The service does not answer, so the page goes on by itself.
    await room.page.route("**/chat/finish/", lambda route: None)
    await room.finished.click()
    await expect(room.page.get_by_text("This chat is closing now.")).to_be_visible()
    return Scene(page=room.page)


async def finished(stage: Stage) -> Scene:
    return await _open(stage, "/finished/")


async def still_open(stage: Stage) -> Scene:
    room = await (await stage.open_room()).enter(stage.people.rosa)
    await room.go_to("/finished/")
    return Scene(page=room.page)


async def card_code(stage: Stage) -> Scene:
    return await _open(stage, "/card/")


async def card_code_wrong(stage: Stage) -> Scene:
    room = await stage.open_room()
    await room.go_to("/card/")
    await room.page.get_by_label("Type the code").fill("abc")
    await room.page.get_by_role("button", name="Come in").click()
    await expect(room.page.get_by_text("does not work here")).to_be_visible()
    room.complaints.clear()
    return Scene(page=room.page)


async def card_pictures(stage: Stage) -> Scene:
    room = await stage.open_room()
    await room.go_to(f"/card/#{stage.people.rosa.card.link}")
    await expect(room.page.locator("[data-pictures]")).to_be_visible()
    await room.page.locator("[data-pictures] button").first.click()
    return Scene(page=room.page)


async def card_unknown(stage: Stage) -> Scene:
    room = await stage.open_room()
    await room.go_to("/card/abc/")
    room.complaints.clear()
    return Scene(page=room.page)


async def machine_new(stage: Stage) -> Scene:
    room = await stage.open_room()
    await room.go_to("/machine/")
    await expect(room.page.locator("[data-shown]")).to_be_visible()
    await room.page.locator("summary").click()
    return Scene(page=room.page)


async def machine_waiting(stage: Stage) -> Scene:
    room, machine = await open_machine(stage.open_room, stage.people)
    rosa = stage.people.rosa

    async def arrive() -> None:
        offer(machine, rosa)
        await expect(question(room.page)).to_be_visible()

    return Scene(page=room.page, arrive=arrive)


async def machine_asks(stage: Stage) -> Scene:
    room, machine = await open_machine(stage.open_room, stage.people)
    offer(machine, stage.people.add_participant("Rosalinda-Maximiliana Lind"))
    await expect(question(room.page)).to_be_visible()
    return Scene(page=room.page)


async def needs_page(stage: Stage) -> Scene:
    room = await (await stage.open_room()).enter(stage.people.rosa)
    await room.go_to("/needs/")
    await room.page.get_by_role("button", name="Strong colours").click()
    await expect(room.page.get_by_role("button", name="Change it back")).to_be_visible()
    await room.page.get_by_role("button", name="Usual colours").click()
    await room.until("!document.documentElement.dataset.contrast")
    return Scene(page=room.page)


async def needs_page_without_a_visit(stage: Stage) -> Scene:
    return await _open(stage, "/needs/")


async def help_page(stage: Stage) -> Scene:
    room = await (await stage.open_room()).enter(stage.people.rosa)
    await room.page.evaluate("document.querySelector('[data-help]').submit()")
    await room.page.wait_for_url("**/help/")
    await expect(room.page.get_by_role("heading", name="Talk to a person")).to_be_attached()
    return Scene(page=room.page)


async def nothing_here(stage: Stage) -> Scene:
    room = await stage.open_room()
    await room.go_to("/nothing/here/")
    room.complaints.clear()
    return Scene(page=room.page)


async def no_script(stage: Stage) -> Scene:
    """A page whose scripts do not arrive looks as it does where they do not run."""
    room = await stage.open_room()
    await room.page.route("**/*.js", lambda route: route.abort())
    await room.context.request.post(
        f"{room.base_url}/card/",
        form={"code": stage.people.rosa.card.code},
        headers={"Origin": room.base_url},
        max_redirects=0,
    )
    await room.go_to("/chat/")
    await expect(room.page.get_by_text("Please ask the staff to help.")).to_be_visible()
    room.complaints.clear()
    return Scene(page=room.page)


async def unavailable(stage: Stage) -> Scene:
    room = await stage.open_room()
    with open_doors([0]) as doors:
        doors[0].port = doors[0].socket.getsockname()[1]
        doors[0].say_unavailable()
        answer = await room.context.request.get(doors[0].address)
        page = await answer.text()
    await room.page.route("**/card/", lambda route: route.fulfill(body=page, content_type="text/html"))
    await room.go_to("/card/")
    await expect(room.page.get_by_role("heading")).to_have_text(re.compile("not working"))
    room.complaints.clear()
    return Scene(page=room.page)


async def _open(stage: Stage, path: str) -> Scene:
    room = await stage.open_room()
    await room.go_to(path)
    return Scene(page=room.page)


STATES: list[State] = [
    empty,
    speaking,
    waiting,
    paused,
    refused,
    back,
    kept,
    offline,
    safety_line,
    with_a_person,
    paused_by_staff,
    signed_out,
    moved,
    idle_warning,
    locked,
    left_at_once,
    leaving_not_confirmed,
    closing,
    finished,
    still_open,
    card_code,
    card_code_wrong,
    card_pictures,
    card_unknown,
    machine_new,
    machine_waiting,
    machine_asks,
    needs_page,
    needs_page_without_a_visit,
    help_page,
    nothing_here,
    no_script,
    unavailable,
    *WAY_IN_STATES,
]
