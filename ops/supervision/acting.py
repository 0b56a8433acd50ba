"""Answers the frames of staff screens: the rights are read in the same moment, then one act, then one answer."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import psycopg

from companion.history import History
from companion.supervision import flag_views
from companion.supervision.act_answers import ActDone, ActRefused
from companion.supervision.acts import StaffActs, SupervisedConversation
from companion.supervision.staff import Staff, clean_reason
from companion.supervision.states import PauseScope
from companion.watchers import Watchers
from ops import audit
from ops.access import StaffAccess
from ops.socket_access import StaffScreen
from ops.supervision import frames, reasons, requests, screens, search
from ops.supervision.desk import LiveDesk
from ops.supervision.record import record_entry
from ops.supervision.sentences import explain
from ops.supervision.watching import ConversationWatch

log = logging.getLogger(__name__)

Facts = Mapping[str, Any]


class Refused(Exception):
    """An act that is refused before anything is changed. `name` is the colleague who has it instead."""

    def __init__(self, code: str, name: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.name = name


class DeskActs:
    """Answers the screens of one process. `note_writing` says that a member of staff is typing in a conversation."""

    def __init__(
        self,
        desk: LiveDesk,
        acts: StaffActs,
        *,
        history: History,
        watchers: Watchers,
        note_writing: Callable[[int, int], Awaitable[None]],
    ) -> None:
        self._desk = desk
        self._acts = acts
        self._history = history
        self._watchers = watchers
        self._note_writing = note_writing

    async def receive(self, screen: StaffScreen, text: str | None) -> None:
        """Handle one frame of a screen. Closes the screen if its session has ended."""
        try:
            request = requests.parse_request(text)
        except requests.RequestRefused as refusal:
            await screen.send_frame(_refuse(refusal.act, refusal.code, refusal.facts))
            return
        if isinstance(request, requests.StaffPing):
            await screen.send_frame(frames.PONG)
            return
        facts = requests.name_facts(request.model_dump(mode="json", by_alias=True))
        known = self._desk.access_of(screen)
        if known is None or known.user is None:
            return
        limits = self._desk.limits_of(known.user)
        now = asyncio.get_running_loop().time()
        if limits.bucket.wait_s(now) > 0:
            if not isinstance(request, requests.StaffWriting):
                await screen.send_frame(_refuse(request.type, "too_fast", facts))
            return
        limits.bucket.spend(1, now)
        async with limits.lock:
            await self._answer(screen, request, facts)

    async def _answer(self, screen: StaffScreen, request: requests.Request, facts: Facts) -> None:
        try:
            access = await self._desk.admit(screen.session_key)
            if access is None or access.user is None:
                await screen.deny()
                return
            answer = await self._act(screen, request, access)
        except Refused as refusal:
            await screen.send_frame(_refuse(request.type, refusal.code, facts, refusal.name))
            return
        except (psycopg.Error, TimeoutError) as failure:
            # Nothing was stored, or the answer is lost: the same frame again does no harm.
            log.warning("desk.cannot_act act=%s cause=%s", request.type, type(failure).__name__)
            await screen.send_frame(_refuse(request.type, "try_again", facts))
            return
        if answer is None:
            return
        if isinstance(answer, ActRefused):
            await screen.send_frame(_refuse(request.type, answer.code, facts, answer.name))
        else:
            await screen.send_frame(frames.done(request.type, {**facts, **answer.facts}))

    async def _act(
        self, screen: StaffScreen, request: requests.Request, access: StaffAccess
    ) -> ActDone | ActRefused | None:
        staff = Staff(user=access.user or 0, name=access.name)
        match request:
            case requests.Watch() | requests.Unwatch():
                return await self._watch_act(screen, request, access, staff)
            case requests.Search():
                return await self._search(screen, request, access, staff)
            case requests.Pause() | requests.Resume():
                return await self._pause_act(request, access, staff)
            case requests.EndVisit():
                return await self._acts.end_visit(request.visit, staff, sites=access.sites)
            case requests.Seen() | requests.Accept() | requests.Note() | requests.Close():
                return await self._flag_act(request, access, staff)
            case requests.Hand() | requests.TakeOn():
                return await self._shift_act(request, access, staff)
        return await self._person_act(request, access, staff)

    async def _person_act(
        self, request: requests.Request, access: StaffAccess, staff: Staff
    ) -> ActDone | ActRefused | None:
        """Acts within one conversation, for which this person may read its words."""
        assert isinstance(
            request,
            requests.TakeOver
            | requests.StaffSay
            | requests.HandBack
            | requests.Release
            | requests.StaffWriting,
        )
        head = await self._find_readable(request.conversation, access)
        sites, conversation = {head.site}, head.conversation
        match request:
            case requests.TakeOver():
                return await self._acts.take_over(conversation, staff, sites=sites)
            case requests.StaffSay():
                return await self._acts.say(conversation, staff, request.key, request.text, sites=sites)
            case requests.HandBack():
                return await self._acts.hand_back(conversation, staff, sites=sites)
            case requests.Release():
                return await self._acts.release(conversation, staff, sites=sites)
        # Every process that shows the conversation checks that this person has taken over.
        await self._note_writing(conversation, staff.user)
        return None

    async def _find_readable(self, conversation: int, access: StaffAccess) -> SupervisedConversation:
        """The conversation, if this person may read its words now. Raises Refused."""
        head = await self._acts.find_conversation(conversation, sites=access.sites)
        if head is None:
            raise Refused("not_there")
        if head.site not in access.supervised and not await self._has_reason(head, access):
            raise Refused("reason_needed")
        return head

    async def _has_reason(self, head: SupervisedConversation, access: StaffAccess) -> bool:
        async with self._desk.pool.connection() as connection, connection.cursor() as cursor:
            return await reasons.read_until(cursor, head.conversation, access.user or 0) is not None

    async def _watch_act(
        self,
        screen: StaffScreen,
        request: requests.Watch | requests.Unwatch,
        access: StaffAccess,
        staff: Staff,
    ) -> ActDone | None:
        if isinstance(request, requests.Unwatch):
            self._desk.unwatch(screen, request.conversation)
            return ActDone()
        if reason := clean_reason(request.reason):
            await self._state_reason(request.conversation, access, staff, reason)
        head = await self._find_readable(request.conversation, access)
        ends_at_s = None
        async with self._desk.pool.connection() as connection, connection.cursor() as cursor:
            if head.site not in access.supervised:
                left_s = await reasons.read_until(cursor, head.conversation, staff.user)
                ends_at_s = asyncio.get_running_loop().time() + (left_s or 0.0)
            flags, steps = await flag_views.read_of_conversation(cursor, head.conversation, sites={head.site})
        # On record before anything is shown.
        note = "by stated reason" if ends_at_s is not None else ""
        if await self._acts.read_along(head.conversation, staff, sites={head.site}, note=note) is None:
            raise Refused("not_there")
        watch = ConversationWatch(
            screen.send_frame,
            conversation=head.conversation,
            site=head.site,
            history=self._history,
            watchers=self._watchers,
            ends_at_s=ends_at_s,
        )
        if not self._desk.watch(screen, watch):
            raise Refused("too_many")
        try:
            page = await watch.read()
        except (psycopg.Error, TimeoutError):
            self._desk.unwatch(screen, head.conversation)
            raise
        facts = {
            "participant": head.participant,
            "name": head.participant_name,
            "site": head.site,
            "site_name": head.site_name,
            "flags": [frames.flag(view) for view in flags],
            "steps": [frames.step(step) for step in steps],
        }
        await screen.send_frame(frames.done("watch", {"conversation": head.conversation, "ref": request.ref}))
        await watch.start(page, facts)
        return None

    async def _state_reason(self, conversation: int, access: StaffAccess, staff: Staff, reason: str) -> None:
        """Store why an operator reads a conversation of a site that is not their own."""
        head = await self._acts.find_conversation(conversation, sites=access.sites)
        if head is None or head.site in access.supervised:
            return
        async with (
            self._desk.pool.connection() as connection,
            connection.transaction(),
            connection.cursor() as cursor,
        ):
            await reasons.state_reason(cursor, conversation, staff, sites={head.site}, reason=reason)

    async def _search(
        self, screen: StaffScreen, request: requests.Search, access: StaffAccess, staff: Staff
    ) -> ActDone:
        if len(request.text.strip()) < search.MIN_CHARS:
            raise Refused("search_short")
        async with (
            self._desk.pool.connection() as connection,
            connection.transaction(),
            connection.cursor() as cursor,
        ):
            # Names are shown to the people who supervise the site.
            found = await search.find_people(cursor, request.text, sites=access.supervised)
            await record_entry(cursor, audit.SEARCHED_PEOPLE, staff, note=f"{len(found)} found")
        return ActDone(facts={"people": found})

    async def _pause_act(
        self, request: requests.Pause | requests.Resume, access: StaffAccess, staff: Staff
    ) -> ActDone | ActRefused:
        about = request.id
        if request.scope is PauseScope.EVERYONE:
            about = 0
            if not access.is_operator and not await self._supervises_all(access):
                raise Refused("not_allowed")
        if isinstance(request, requests.Resume):
            return await self._acts.resume(request.scope, about, staff, sites=access.sites)
        return await self._acts.pause(request.scope, about, staff, sites=access.sites, reason=request.reason)

    async def _supervises_all(self, access: StaffAccess) -> bool:
        """Whether this person supervises every open site, so that everyone is theirs."""
        async with self._desk.pool.connection() as connection, connection.cursor() as cursor:
            return await screens.list_open_sites(cursor) <= access.supervised

    async def _flag_act(
        self,
        request: requests.Seen | requests.Accept | requests.Note | requests.Close,
        access: StaffAccess,
        staff: Staff,
    ) -> ActDone | ActRefused:
        flags = self._acts.flags
        match request:
            case requests.Seen():
                # Only a screen of the site's own staff counts as told.
                return await flags.see_flag(request.flag, staff, sites=access.supervised, count=request.count)
            case requests.Accept():
                return await flags.accept(request.flag, staff, sites=access.sites)
            case requests.Note():
                return await flags.note_flag(request.flag, staff, sites=access.sites, text=request.text)
        return await flags.close_flag(
            request.flag, staff, sites=access.sites, outcome=request.outcome, text=request.note
        )

    async def _shift_act(
        self, request: requests.Hand | requests.TakeOn, access: StaffAccess, staff: Staff
    ) -> ActDone | ActRefused:
        flags = self._acts.flags
        if isinstance(request, requests.TakeOn):
            return await flags.take_on(request.flag, staff, sites=access.sites, from_owner=request.from_owner)
        async with self._desk.pool.connection() as connection, connection.cursor() as cursor:
            found = await flag_views.read_flags(cursor, [request.flag], sites=access.sites)
            if not found:
                raise Refused("not_there")
            colleague = await screens.find_colleague(cursor, request.to, site=found[0].site)
        if colleague is None:
            raise Refused("cannot_receive")
        return await flags.hand_flag(request.flag, staff, sites=access.sites, to=colleague)


def _refuse(act: str, code: str, facts: Facts, name: str = "") -> dict[str, Any]:
    text = explain(code, name)
    return frames.refused(act, code, text, facts) if act else frames.problem(code, text, facts)
