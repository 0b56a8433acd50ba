"""Pages without a sign of life: how a test lets the time pass that warns and locks them."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from companion.models import Site, Visit
from tests.pages.conftest import OpenRoom
from tests.pages.room import Room
from tests.pages.script import Script, snapshot
from tests.people import People, Person, in_database

LOCKED = "Your words are not on this screen any more. Your card brings you back to them."
"""What a locked page says."""
IDLE_S = 6
AFTER_S = 60


def shorten(people: People, idle_s: int = IDLE_S) -> None:
    """Seconds, where a site may have minutes: the page warns after half of so short a time."""
    in_database(lambda: Site.objects.filter(pk=people.site.pk).update(idle_s=idle_s))


def let_time_pass(person: Person) -> None:
    """As if there had been no sign of life, and no page that could lock itself."""
    past = timezone.now() - timedelta(seconds=1)
    in_database(lambda: Visit.objects.filter(participant=person.row).update(locks_at=past))


async def lock(room: Room, person: Person) -> None:
    """Let the service lock the page."""
    let_time_pass(person)
    await room.page.wait_for_url("**/locked/", timeout=5_000)


class Idling(Script):
    """A script whose `hello` names the idle time."""

    def __init__(self, person: Person, *, left_s: int) -> None:
        super().__init__(person.conversation.pk, [snapshot(1)])
        self.idle = {"after_s": AFTER_S, "left_s": left_s}
        self.is_over = False

    def tell(self, *frames: dict[str, Any]) -> None:
        for frame in frames:
            if frame["type"] != "hello":
                super().tell(frame)
            elif self.is_over:
                super().tell({"type": "over", "reason": "idle"})
            else:
                super().tell({**frame, "idle": self.idle})


async def open_idling(open_room: OpenRoom, person: Person, *, left_s: int = AFTER_S) -> tuple[Room, Idling]:
    """Enter a room whose page is idle after a minute, or after what is left of it, and whose clock the test turns."""
    room = await open_room()
    await room.page.clock.install()
    script = Idling(person, left_s=left_s)
    await script.stand_behind(room, person)
    return room, script


async def turn_clock(room: Room, seconds: int) -> None:
    for _ in range(seconds):
        await room.page.clock.run_for(1_000)
