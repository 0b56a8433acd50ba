"""What one socket is sent beside the turns: once, in order, and a person only after the ends of turns before (S4)."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from companion.journal import StoredChunk
from companion.outbox import MAX_UNREAD_CHUNKS, Outbox
from companion.outbox_events import WritingSeen
from companion.supervision.entry_view import EntryView, entries_to_show
from companion.supervision.states import EntryKind
from tests.unit.test_outbox import CONVERSATION, SPEAKING, TURN, Rows

NOW = datetime(2026, 12, 1, tzinfo=UTC)


def entry(
    number: int, kind: EntryKind = EntryKind.SAID, *, after: int = TURN, wait_s: float = 0
) -> EntryView:
    return EntryView(
        entry=number,
        conversation=CONVERSATION,
        kind=kind,
        key=None,
        name="Sam",
        text="Hello.",
        at=NOW,
        after_turn=after,
        wait_s=wait_s,
    )


class Socket:
    """An outbox of a page, or of a screen of staff, and what it has sent."""

    def __init__(self, *, is_page: bool = True) -> None:
        self.rows = Rows()
        self.sent: list[dict[str, Any]] = []
        history: Any = self.rows
        self.outbox = Outbox(self._take, history, conversation=CONVERSATION, is_page=is_page)

    async def _take(self, frame: dict[str, Any]) -> None:
        self.sent.append(frame)

    def says(self, seq: int, text: str) -> None:
        self.outbox.enqueue(StoredChunk(turn=TURN, conversation=CONVERSATION, seq=seq, text=text))

    def end(self, state: str, reason: str) -> None:
        self.outbox.enqueue(replace(self.rows.view, state=state, reason=reason))

    async def told(self) -> list[str]:
        await self.outbox.flush()
        return [frame["type"] for frame in self.sent]


async def test_a_person_joins_only_after_the_end_of_the_reply_before() -> None:
    socket = Socket()
    socket.rows.stored_chunks = ["1 ", "2 "]
    socket.outbox.start([SPEAKING])
    socket.says(1, "1 ")
    for event in (entry(1, EntryKind.JOINS), entry(2)):
        socket.outbox.enqueue(event)
    assert "person" not in await socket.told()
    socket.rows.state = "handed_over"
    socket.end("handed_over", "person")
    assert await socket.told() == ["words", "words", "handed_over", "person", "said"]
    socket.says(3, "3 ")
    assert (await socket.told())[-1] == "said"


async def test_an_entry_is_sent_once_however_often_it_is_read() -> None:
    socket = Socket()
    socket.outbox.start([SPEAKING], last_entry=4)
    for number in (4, 5, 5, 6):
        socket.outbox.enqueue(entry(number))
    await socket.outbox.flush()
    assert [frame["id"] for frame in socket.sent] == [5, 6]


async def test_an_entry_waits_for_the_turn_that_it_follows() -> None:
    socket = Socket()
    socket.outbox.start([])
    socket.outbox.enqueue(entry(1))
    assert await socket.told() == ["accepted", "said"]


async def test_an_entry_behind_an_erased_turn_is_sent() -> None:
    socket = Socket()
    socket.rows.erased = True
    socket.outbox.start([])
    socket.outbox.enqueue(entry(1))
    assert await socket.told() == ["said"]


async def test_a_page_that_asks_again_is_sent_the_entries_after_its_last() -> None:
    socket = Socket()
    socket.outbox.start([SPEAKING])
    for number in (1, 2):
        socket.outbox.enqueue(entry(number))
    await socket.outbox.flush()
    socket.outbox.rewind_entries(1)
    for number in (1, 2):
        socket.outbox.enqueue(entry(number))
    await socket.outbox.flush()
    assert [frame["id"] for frame in socket.sent] == [1, 2, 2]


async def test_a_screen_of_staff_acknowledges_nothing_and_is_never_held_back() -> None:
    socket = Socket(is_page=False)
    socket.outbox.start([SPEAKING])
    for seq in range(1, MAX_UNREAD_CHUNKS + 50):
        socket.says(seq, "x ")
    assert len(await socket.told()) == MAX_UNREAD_CHUNKS + 49


async def test_each_side_is_shown_that_the_other_is_typing() -> None:
    page, screen = Socket(), Socket(is_page=False)
    for socket in (page, screen):
        socket.outbox.start([])
        socket.outbox.enqueue(WritingSeen(conversation=CONVERSATION))
        socket.outbox.enqueue(WritingSeen(conversation=CONVERSATION, line="Sam is writing."))
    assert await page.told() == ["person_writing"]
    assert await screen.told() == ["writing"]


def test_no_entry_overtakes_one_whose_wording_is_not_decided() -> None:
    read = [entry(3), entry(1), entry(2, EntryKind.HELP, wait_s=0.4)]
    assert [one.entry for one in entries_to_show(read)] == [1]
