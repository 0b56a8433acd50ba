"""The participant's socket: each frame causes one call. What the socket sends comes from its outbox.

Handlers return within milliseconds, because Channels delivers the messages of a socket one at a time: a handler
that awaited a turn would keep the page's own `stop` waiting.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol
from uuid import UUID

import psycopg
from channels.exceptions import StopConsumer

from companion import frames
from companion.access import LiveVisit, VisitAccess
from companion.client_address import client_network
from companion.cookies import read_cookie
from companion.guarded_consumer import COME_BACK, NOT_ALLOWED, SESSION_ENDED, TOO_FAR_BEHIND, GuardedConsumer
from companion.history import History
from companion.outbox import Outbox
from companion.outbox_events import KeptQuestionsRead
from companion.runner import Runner
from companion.supervision.safety_turns import SafetyTurns
from companion.turn_open import AskAgainRequest, OpenedTurn, OpenRefusal, SayRequest
from companion.turn_policy import DraftedLines, TurnPolicy
from companion.visits.idle import IdleLocks
from companion.watchers import Watchers

log = logging.getLogger(__name__)

HELP_EVERY_S = 1.0
WRITING_EVERY_S = 2.0
"""Seconds in which a socket's further `help`, or `writing`, is not acted on."""
ACTIVE_EVERY_S = 15.0
"""Seconds in which further signs of life of a socket are not stored. Pages report one every twenty seconds."""
BY_HAND = (frames.Active, frames.Help, frames.Writing, frames.Say, frames.AskAgain, frames.LetGo, frames.Stop)
"""Frames that only a person's hand causes. Pages of an earlier release do not send `active`."""


class SocketRegistry:
    """The open sockets of a process, for counting and closing them."""

    def __init__(self) -> None:
        self._open: dict[ChatConsumer, tuple[LiveVisit, str]] = {}
        self._count_by_participant: Counter[int] = Counter()
        self._count_by_address: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._open)

    @property
    def visits(self) -> set[UUID]:
        """The visits that have an open socket here."""
        return {visit.visit for visit, _ in self._open.values()}

    @property
    def conversations(self) -> list[int]:
        """The conversations whose participants have an open socket here."""
        return sorted({visit.conversation for visit, _ in self._open.values()})

    def has_room(self, visit: LiveVisit, address: str, policy: TurnPolicy) -> bool:
        """Whether the participant of this visit, and this address, may open one more socket."""
        return (
            self._count_by_participant[visit.participant] < policy.pages_per_person
            and self._count_by_address[address] < policy.pages_per_address
        )

    def add(self, socket: "ChatConsumer", visit: LiveVisit, address: str) -> None:
        """Count an open socket of this visit, from this address."""
        self._open[socket] = (visit, address)
        self._count_by_participant[visit.participant] += 1
        self._count_by_address[address] += 1

    def discard(self, socket: "ChatConsumer") -> None:
        """Forget a socket. Does nothing for one that was never added."""
        if known := self._open.pop(socket, None):
            visit, address = known
            _decrement(self._count_by_participant, visit.participant)
            _decrement(self._count_by_address, address)

    def close_visits(self, visits: set[UUID], reason: str = "") -> None:
        """Close every socket of these visits, which have ended or are locked; `reason` is an `EndReason`."""
        for socket, (visit, _) in list(self._open.items()):
            if visit.visit in visits:
                socket.end_soon(reason)

    def send_looks(self, participants: set[int]) -> None:
        """Tell every socket of these participants how their pages look now."""
        for socket, (visit, _) in list(self._open.items()):
            if visit.participant in participants:
                socket.send_look_soon()

    async def close_conversations(self, conversations: set[int], code: int) -> None:
        """Close every socket of these conversations and wait until each close frame is sent."""
        open_here = [one for one, (visit, _) in self._open.items() if visit.conversation in conversations]
        await asyncio.gather(*(socket.close(code) for socket in open_here), return_exceptions=True)

    async def close_all(self, code: int) -> None:
        """Close every socket and wait until each close frame is sent."""
        await asyncio.gather(*(socket.close(code) for socket in list(self._open)), return_exceptions=True)


class ChatService(Protocol):
    """The parts of a process that its sockets use."""

    policy: TurnPolicy
    runner: Runner
    history: History
    watchers: Watchers
    safety: SafetyTurns
    visit_access: VisitAccess
    sockets: SocketRegistry
    idle_locks: IdleLocks

    @property
    def is_draining(self) -> bool: ...


class ChatConsumer(GuardedConsumer):
    """One socket of a participant's page, protocol version 1."""

    def __init__(self, service: Callable[[], ChatService], cookie_name: str) -> None:
        self._service = service()
        self._cookie_name = cookie_name
        self._visit: LiveVisit | None = None
        self._outbox: Outbox | None = None
        self._is_closed = False
        self._last: dict[type[frames.Frame], float] = {}
        self._closing: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None

    async def handle(self, message: dict[str, Any]) -> None:
        """Handle one event of the socket."""
        match message["type"]:
            case "websocket.connect":
                await self._connect()
            case "websocket.receive":
                await self._receive(message.get("text"))
            case "websocket.disconnect":
                self._detach()
                raise StopConsumer

    def end_soon(self, reason: str) -> None:
        """The visit has ended or is locked: close in a task of its own."""
        # Held, or the task may be collected while it runs.
        self._closing = asyncio.create_task(self._end(reason))

    def send_look_soon(self) -> None:
        """The needs of the participant have changed: read them, and send them, in a task of its own."""
        self._looking = asyncio.create_task(self._send_look())

    async def _send_look(self) -> None:
        try:
            cookie = read_cookie(self.scope["headers"], self._cookie_name)
            visit = await self._service.visit_access.find_visit(cookie)
            # One that is over, or of another participant by now, is closed for that.
            if visit is None or self._visit is None or visit.visit != self._visit.visit:
                return
            self._visit = visit
            look = await self._service.history.read_look(visit.participant)
        except psycopg.Error as failure:
            log.warning("socket.no_look cause=%s", type(failure).__name__)
            return
        policy = self._service.policy
        # That in which the page is served: see `page_language`.
        language = visit.language if visit.language in policy.translations else policy.language
        await self._send_frame(frames.look(look, language=language, idle=visit.idle_limits))

    async def _end(self, reason: str) -> None:
        # A frame of its own: the web server cannot send a reason with the code.
        await self._send_frame(frames.over(reason))
        await self.close(SESSION_ENDED)

    async def _end_refused(self, visit: LiveVisit) -> None:
        # The refused message is the first news of it here: the notification is on its way, or is lost.
        over = await self._service.visit_access.find_over([visit.visit])
        await self._end(over.get(visit.visit, ""))

    async def close(self, code: int) -> None:
        """Send nothing more and close. Codes: 1000, 3000 to 4999."""
        if not self._is_closed:
            self._is_closed = True
            self._detach()
            await self.send({"type": "websocket.close", "code": code})

    async def _connect(self) -> None:
        # Accept first: a close before it is a plain 403, which tells the page no reason.
        await self.send({"type": "websocket.accept"})
        service = self._service
        if service.is_draining:
            await self.close(COME_BACK)
            return
        try:
            cookie = read_cookie(self.scope["headers"], self._cookie_name)
            visit = await service.visit_access.find_visit(cookie)
            if visit is None:
                await self._end(await service.visit_access.find_end_reason(cookie))
                return
            address = _client_address(self.scope)
            if not service.sockets.has_room(visit, address, service.policy):
                log.warning("socket.too_many visit=%s participant=%d", visit.visit, visit.participant)
                line = self._lines_for(visit).too_many_pages
                await self._send_frame(frames.problem("too_many_pages", line))
                await self.close(NOT_ALLOWED)
                return
            self._visit = visit
            outbox = self._outbox = Outbox(self._send_frame, service.history, conversation=visit.conversation)
            service.sockets.add(self, visit, address)
            # Subscribe first, then read: events in between wait in the outbox.
            service.watchers.watch(outbox)
            page, kept, control, look = await asyncio.gather(
                service.history.read_latest(visit.conversation),
                service.history.read_kept(visit.conversation),
                service.history.read_control(visit.conversation),
                service.history.read_look(visit.participant),
            )
        except psycopg.Error as failure:
            log.warning("socket.no_database cause=%s", type(failure).__name__)
            await self.close(COME_BACK)
            return
        offers = [question.to_offer() for question in kept]
        pause_line = control.choose_pause_line(self._lines_for(visit))
        hello = frames.hello(
            service.policy.in_language(visit.language).character,
            visit.conversation,
            page.to_items(),
            offers,
            has_earlier=page.has_earlier,
            person=control.to_person(),
            is_quiet=control.is_quiet,
            pause_line=pause_line,
            idle=visit.idle_limits,
            look=look,
        )
        # `hello` before anything else: the page knows no turn until then.
        await self._send_frame(hello)
        outbox.start(page.views, kept, last_entry=page.last_entry, pause_line=pause_line)
        service.watchers.follow(page.views)
        # Entries that were stored meanwhile, or stand behind a newer turn than `hello` shows.
        service.watchers.mark_entries_changed([visit.conversation])

    async def _receive(self, text: str | None) -> None:
        if self._is_closed or self._visit is None or self._outbox is None:
            return
        lines = self._lines_for(self._visit)
        try:
            frame = frames.parse_frame(text)
        except frames.FrameRefused as refusal:
            line = {"too_long": lines.too_long, "empty": lines.nothing_written}.get(
                refusal.code, lines.not_understood
            )
            await self._send_frame(frames.problem(refusal.code, line))
            return
        try:
            await self._handle(frame, self._visit, self._outbox)
            # Afterwards, so that it delays no message.
            if isinstance(frame, BY_HAND) and self._is_due(frames.Active, ACTIVE_EVERY_S):
                await self._service.idle_locks.note_active(self._visit.visit)
        except psycopg.Error as failure:
            # No `accepted` was sent, so the page keeps the words and sends them again under the same key.
            log.warning("socket.no_database cause=%s", type(failure).__name__)
            await self.close(COME_BACK)

    async def _handle(
        self,
        frame: frames.Frame,
        visit: LiveVisit,
        outbox: Outbox,
    ) -> None:
        match frame:
            case frames.Ack():
                # Entries come at the pace of a person's typing, so they wait for no acknowledgement.
                if frame.turn is not None:
                    outbox.acknowledge(frame.turn, frame.seq)
            case frames.Help():
                if self._is_due(frames.Help, HELP_EVERY_S):
                    await self._service.runner.ask_for_person(visit.conversation)
            case frames.Writing():
                if self._is_due(frames.Writing, WRITING_EVERY_S):
                    await self._service.safety.note_writing(visit.conversation)
            case frames.Active():
                pass
            case frames.Ping():
                await self._send_frame(frames.PONG)
            case frames.Say():
                await self._say(frame, visit)
            case frames.AskAgain():
                await self._ask_again(frame, visit, outbox)
            case frames.LetGo():
                await self._service.runner.let_go(conversation=visit.conversation, turn=frame.turn)
                await self._send_kept(visit, outbox)
            case frames.Stop():
                if await self._check_owns_turn(frame.turn, visit):
                    await self._service.runner.stop(frame.turn, language=visit.language)
            case frames.CatchUp():
                await self._catch_up(frame, visit, outbox)

    def _lines_for(self, visit: LiveVisit) -> DraftedLines:
        return self._service.policy.in_language(visit.language).lines

    def _is_due(self, kind: type[frames.Frame], every_s: float) -> bool:
        now = asyncio.get_running_loop().time()
        if now - self._last.get(kind, -every_s) < every_s:
            return False
        self._last[kind] = now
        return True

    async def _say(self, frame: frames.Say, visit: LiveVisit) -> None:
        if self._service.is_draining:
            # A draining process admits no turn. The page sends the words again under the same key, to another process.
            await self.close(COME_BACK)
            return
        request = SayRequest(visit=visit.visit, key=frame.key, question=frame.text, language=visit.language)
        opened = await self._service.runner.say(request)
        if opened is OpenRefusal.SIGNED_OUT:
            await self._end_refused(visit)
        elif opened is OpenRefusal.TOO_MANY:
            await self._send_frame(frames.problem("too_many", self._lines_for(visit).one_at_a_time))
        # A new turn is announced by the runner, to every page of the conversation. A repeated key is answered here.
        elif isinstance(opened, OpenedTurn) and not opened.is_new:
            await self._send_frame(frames.accepted(frame.key, opened.turn))

    async def _ask_again(self, frame: frames.AskAgain, visit: LiveVisit, outbox: Outbox) -> None:
        if self._service.is_draining:
            await self.close(COME_BACK)
            return
        request = AskAgainRequest(visit=visit.visit, key=frame.key, turn=frame.turn)
        opened = await self._service.runner.ask_again(request)
        if opened is OpenRefusal.SIGNED_OUT:
            await self._end_refused(visit)
        elif opened is OpenRefusal.TOO_MANY:
            await self._send_frame(frames.problem("not_now", self._lines_for(visit).ask_again_later))
        elif opened is OpenRefusal.SETTLED:
            await self._send_kept(visit, outbox)
        elif not opened.is_new:
            await self._send_frame(frames.accepted(frame.key, opened.turn))

    async def _send_kept(self, visit: LiveVisit, outbox: Outbox) -> None:
        questions = await self._service.history.read_kept(visit.conversation)
        outbox.enqueue(KeptQuestionsRead(questions=questions, asked=True))

    async def _catch_up(self, frame: frames.CatchUp, visit: LiveVisit, outbox: Outbox) -> None:
        if frame.turn is None:
            outbox.rewind_entries(frame.entry or 0)
            self._service.watchers.mark_entries_changed([visit.conversation])
            return
        views = [
            view
            for view in await self._service.history.read_turns([frame.turn])
            if view.conversation == visit.conversation
        ]
        if not views:
            await self._send_frame(frames.problem("not_allowed", self._lines_for(visit).not_allowed))
            return
        if not outbox.rewind(views[0], frame.after):
            log.warning("socket.too_far_behind visit=%s", visit.visit)
            await self.close(TOO_FAR_BEHIND)
            return
        self._service.watchers.follow(views)

    async def _check_owns_turn(self, turn: int, visit: LiveVisit) -> bool:
        if await self._service.visit_access.owns_turn(visit.conversation, turn):
            return True
        await self._send_frame(frames.problem("not_allowed", self._lines_for(visit).not_allowed))
        return False

    async def _send_frame(self, frame: dict[str, Any]) -> None:
        if not self._is_closed:
            await self.send({"type": "websocket.send", "text": frames.serialize_frame(frame)})

    def _detach(self) -> None:
        self._is_closed = True
        self._service.sockets.discard(self)
        if self._outbox is not None:
            self._service.watchers.unwatch(self._outbox)


def _client_address(scope: dict[str, Any]) -> str:
    client = scope.get("client")
    return client_network(str(client[0])) if client else ""


def _decrement(counts: Counter[Any], name: object) -> None:
    # Removed at zero: addresses would otherwise pile up as long as the process runs.
    counts[name] -= 1
    if not counts[name]:
        del counts[name]
