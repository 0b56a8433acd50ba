"""What a state of a page is made of, and the states that the scripted service brings about."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from playwright.async_api import expect

from tests.pages.access.checks import Scene
from tests.pages.conftest import OpenRoom
from tests.pages.needs import set_needs
from tests.pages.room import Room
from tests.pages.script import Script, person, said, snapshot
from tests.people import People

LONG_WORD = "Donaudampfschifffahrtsgesellschaftskapitaenswitwenrente" * 2
LONG = "This sentence goes on for a little while and then it ends. " * 4


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What a state needs: tabs, and people."""

    open_room: OpenRoom
    people: People


State = Callable[[Stage], Awaitable[Scene]]


async def open_scripted(
    stage: Stage, *turns: dict[str, Any], language: str = "", **who: Any
) -> tuple[Room, Script]:
    """A chat with these turns behind a script."""
    room = await stage.open_room()
    rosa = stage.people.rosa
    if language:
        set_needs(rosa, language=language)
    script = Script(rosa.conversation.pk, list(turns))
    script.who.update(who)
    await script.stand_behind(room, rosa)
    return room, script


def scene_of(room: Room, script: Script, *, number: int = 90) -> Scene:
    """The chat as a scene, to which a person and their words come."""

    async def arrive() -> None:
        script.tell(person(number, "joins"), said(number + 1, LONG * 3))
        await expect(room.entries.last).to_contain_text("This sentence")

    return Scene(page=room.page, arrive=arrive)


EARLIER = [snapshot(1, question=LONG_WORD, reply=LONG_WORD), snapshot(2, reply=LONG)]


def name_state(state: Callable[..., object]) -> str:
    """The name of a state as the report shows it."""
    return state.__name__.replace("_", " ")
