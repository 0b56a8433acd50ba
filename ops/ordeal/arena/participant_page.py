"""A participant's page without a browser: reconnects, repeats what was not accepted, catches up, acknowledges."""

import asyncio
import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ops.chat_client import frames
from ops.ordeal.arena.recorded_socket import RecordedSocket

# As the page's heartbeat.js and backoff.js have them.
SILENT_AWAITING_S, SILENT_S, ANSWER_WITHIN_S = 5.0, 10.0, 8.0
FIRST_BACKOFF_S, LONGEST_BACKOFF_S = 0.5, 4.0
SIGNED_OUT, NOT_ALLOWED, TOO_FAR_BEHIND, COME_BACK = 4401, 4403, 4408, 4503
LIVE = frozenset({"waiting", "speaking"})
ENDINGS = frozenset({"complete", "stopped", "paused", "refused", "handed_over", "held", "safety"})
WATCH_EVERY_S = 0.5


@dataclass(kw_only=True, slots=True)
class PageTurn:
    """A message of this person, as the page knows it. `turn` is None until it is accepted."""

    key: str
    text: str
    is_red: bool = False
    turn: int | None = None
    seq: int = 0
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    first_words: asyncio.Event = field(default_factory=asyncio.Event)
    accepted: asyncio.Event = field(default_factory=asyncio.Event)


class ParticipantPage:
    """One tab. `open_socket` makes the next socket, with its place among this person's sockets in the history.

    `choose_door` gives (process, address) of the next attempt. `over` is set once the visit shows nothing any more.
    """

    def __init__(
        self,
        *,
        session_key: str,
        facts: dict[str, Any],
        open_socket: Callable[[Callable[[dict[str, Any]], None]], RecordedSocket],
        choose_door: Callable[[], tuple[str, str]],
        chance: random.Random,
    ) -> None:
        self._session_key = session_key
        self._facts = facts
        self._open_socket = open_socket
        self._choose_door = choose_door
        self._chance = chance
        self._socket: RecordedSocket | None = None
        self._runs: asyncio.Task[None] | None = None
        self._is_frozen = False
        self._heard_at = 0.0
        self._pinged_at: float | None = None
        self._turns: dict[int, PageTurn] = {}
        self._own: dict[str, PageTurn] = {}
        self._asked_after: dict[int, int] = {}
        self.up = asyncio.Event()
        self.over = asyncio.Event()

    def start(self) -> None:
        """Open it, and keep it open until `leave` or the end of the visit."""
        self._runs = asyncio.create_task(self._run())

    async def leave(self) -> None:
        """Close the tab."""
        if self._runs is not None:
            self._runs.cancel()
            await asyncio.gather(self._runs, return_exceptions=True)
        if self._socket is not None:
            self._socket.thaw()
            self._socket.leave()

    def drop(self) -> None:
        """Lose the connection; the page comes back by itself, to another process."""
        if self._socket is not None:
            self._socket.drop()

    def freeze(self) -> None:
        """Read and send nothing until `thaw`."""
        self._is_frozen = True
        if self._socket is not None:
            self._socket.freeze()

    def thaw(self) -> None:
        self._is_frozen = False
        if self._socket is not None:
            self._socket.thaw()

    def say(self, text: str, *, is_red: bool = False) -> PageTurn:
        """Send a message, now or as soon as the socket is up."""
        turn = PageTurn(key=str(uuid.uuid4()), text=text, is_red=is_red)
        self._own[turn.key] = turn
        self._send_message(turn)
        return turn

    def repeat(self, turn: PageTurn) -> None:
        """Send the same message again, whether it has arrived or not."""
        self._send_message(turn)

    def send(self, frame: dict[str, Any]) -> bool:
        """Send a frame if the socket is up."""
        return self._socket is not None and self._socket.send(frame)

    def stop(self, turn: PageTurn) -> None:
        """Press Stop. A message that was not accepted cannot be stopped."""
        if turn.turn is not None:
            self.send(frames.stop(turn.turn))

    @property
    def is_waiting(self) -> bool:
        """Whether a message has no end yet."""
        return any(not turn.ended.is_set() for turn in self._own.values())

    # The connection.

    async def _run(self) -> None:
        attempt = 0
        while not self.over.is_set():
            process, address = self._choose_door()
            socket = self._socket = self._open_socket(self._take)
            if await socket.open(
                frames.socket_url(address), self._session_key, process=process, **self._facts
            ):
                attempt = 0
                await self._watch(socket)
            self.up.clear()
            if socket.close_code in (SIGNED_OUT, NOT_ALLOWED):
                self.over.set()
                return
            if socket.close_code == COME_BACK:
                attempt = max(attempt, 2)
            await asyncio.sleep(self._chance.random() * min(LONGEST_BACKOFF_S, FIRST_BACKOFF_S * 2**attempt))
            attempt += 1

    async def _watch(self, socket: RecordedSocket) -> None:
        """Ping a silent connection, and give up on one that does not answer."""
        loop = asyncio.get_running_loop()
        self._heard_at, self._pinged_at = loop.time(), None
        while not socket.closed.is_set():
            closing = asyncio.ensure_future(socket.closed.wait())
            await asyncio.wait([closing], timeout=WATCH_EVERY_S)
            closing.cancel()
            if self._is_frozen:
                # A device that sleeps has no clock; it looks again when it wakes.
                self._heard_at, self._pinged_at = loop.time(), None
                continue
            silent_s = loop.time() - self._heard_at
            if self._pinged_at is not None:
                if loop.time() - self._pinged_at > ANSWER_WITHIN_S:
                    socket.drop()
            elif silent_s > (SILENT_AWAITING_S if self.is_waiting else SILENT_S):
                self._pinged_at = loop.time()
                socket.send({"type": "ping"})

    def _send_message(self, turn: PageTurn) -> None:
        if self._socket is not None:
            marks = {"red": True} if turn.is_red else {}
            self._socket.send(frames.say(turn.key, turn.text), **marks)

    # Frames.

    def _take(self, frame: dict[str, Any]) -> None:
        self._heard_at, self._pinged_at = asyncio.get_running_loop().time(), None
        match frame["type"]:
            case "hello":
                self._take_hello(frame["conversation"]["turns"])
            case "accepted":
                self._accept(frame["key"], frame["turn"])
            case "words":
                self._take_words(frame)
            case "said" | "person" | "help" | "reading" if "id" in frame:
                self.send({"type": "ack", "entry": frame["id"]})
            case "problem":
                self._take_problem()
            case kind if kind in ENDINGS:
                turn = self._turns.get(frame["turn"])
                if turn is not None:
                    self.send({"type": "ack", "turn": frame["turn"], "seq": frame.get("seq") or turn.seq})
                    turn.ended.set()

    def _take_hello(self, items: list[dict[str, Any]]) -> None:
        self._asked_after.clear()
        known = {item["key"]: item for item in items if "state" in item}
        for snapshot in known.values():
            turn = self._turns.get(snapshot["id"])
            if turn is None:
                turn = self._accept(snapshot["key"], snapshot["id"])
            turn.seq = max(turn.seq, snapshot["seq"])
            if snapshot["seq"]:
                turn.first_words.set()
            if snapshot["state"] not in LIVE:
                turn.ended.set()
        self.up.set()
        for turn in self._own.values():
            if turn.turn is None and not turn.ended.is_set():
                self._send_message(turn)

    def _accept(self, key: str, number: int) -> PageTurn:
        turn = self._own.get(key) or self._turns.get(number) or PageTurn(key=key, text="")
        turn.turn = number
        self._turns[number] = turn
        turn.accepted.set()
        return turn

    def _take_words(self, frame: dict[str, Any]) -> None:
        number, seq = frame["turn"], frame["seq"]
        turn = self._turns.get(number) or self._accept("", number)
        if seq > turn.seq + 1:
            if self._asked_after.get(number) != turn.seq:
                self._asked_after[number] = turn.seq
                self.send({"type": "catch_up", "turn": number, "after": turn.seq})
            return
        turn.seq = max(turn.seq, seq)
        turn.first_words.set()
        if seq % frames.ACK_EVERY_SEQ == 0:
            self.send(frames.ack(frame))

    def _take_problem(self) -> None:
        """The service refuses a message: the words go back into the box of the oldest that was not accepted."""
        refused = next((turn for turn in self._own.values() if not turn.accepted.is_set()), None)
        if refused is not None:
            refused.ended.set()
            del self._own[refused.key]
