"""The rehearsal provider: a scripted model behind the real wire, with faults on command."""

import asyncio
import itertools
import json
import time

from pydantic import ValidationError

from routing.rehearsal.doors import Doors, is_of_a_page
from routing.rehearsal.error_bodies import ERROR_BODIES
from routing.rehearsal.faults import Fault, FaultOrder, QuestionMark, directive
from routing.rehearsal.http import Connection, Request
from routing.rehearsal.play import Pace, ReplyPerformer, reply_pieces
from routing.rehearsal.record import Asked, RequestLog
from routing.rehearsal.script import coded_reply, name_in, reply
from routing.rehearsal.wire_log import WireLog
from routing.rehearsal.wires import WIRES, read_request

MODEL = "rehearsal-1"
_KEYS = frozenset({"authorization", "x-api-key"})
"""Headers that carry a key. It is noted that one came, never which."""
MARKS_KEPT = 20


class RehearsalServer:
    """All state of one rehearsal provider: the standing orders and the record."""

    def __init__(
        self,
        *,
        pace: Pace,
        directives: bool,
        keep_texts: bool = False,
        log: WireLog | None = None,
        answers_codes: bool = False,
    ) -> None:
        self._pace, self._directives, self._keep_texts = pace, directives, keep_texts
        self._log, self._answers_codes = log, answers_codes
        self._marks: list[str] = []
        self._orders: list[FaultOrder] = []
        self._references = itertools.count(1)
        self.record = RequestLog()
        self.doors = Doors()

    async def serve(self, host: str, port: int) -> asyncio.Server:
        """Listen; the address is on the returned server's first socket."""
        loop = asyncio.get_running_loop()
        return await loop.create_server(lambda: Connection(self.answer), host, port, backlog=2048)

    async def answer(self, request: Request, out: Connection) -> None:
        if is_of_a_page(request.headers):
            out.json(
                403,
                {"error": {"message": "Not for web pages.", "type": "invalid_request_error", "code": None}},
            )
        elif request.path in WIRES and request.method == "POST":
            await self._complete(request, out)
        elif request.path == "/v1/models" and request.method == "GET":
            out.json(
                200, {"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "rehearsal"}]}
            )
        elif request.path in ("/control", "/asked", "/gauge"):
            status = self.doors.why_not(request.headers, loopback=request.loopback)
            if status is None:
                self._operate(request, out)
            else:
                out.json(status, {"error": "The rehearsal provider obeys those who can read its token."})
        else:
            out.json(
                404, {"error": {"message": "No such path.", "type": "invalid_request_error", "code": None}}
            )

    # Answers.

    async def _complete(self, request: Request, out: Connection) -> None:
        try:
            body = json.loads(request.body)
            messages = read_request(request.path, request.headers, body)
            question = [text for role, text in messages if role == "user"][-1]
        except (ValueError, LookupError, TypeError):
            out.whole(
                400, {"Content-Type": "application/json"}, ERROR_BODIES[WIRES[request.path].bad_request]
            )
            return
        asked = self.record.open(
            request_id=request.headers.get("x-request-id", ""),
            model=str(body.get("model", MODEL)),
            messages=self._kept(messages, question),
            streamed=bool(body.get("stream")),
            max_tokens=body.get("max_tokens", body.get("max_completion_tokens")),
            key_sent=not _KEYS.isdisjoint(request.headers),
            headers={k: v for k, v in request.headers.items() if k not in _KEYS},
        )
        if self._log is not None:
            self._log.write_asked(asked.id, model=asked.model, request=asked.request_id, messages=messages)
        how, fault = "client_closed", Fault()
        try:
            fault = self._fault_for(asked, question)
            text = self._reply(messages, question, words=fault.words)
            how = await self._say(request, out, asked=asked, fault=fault, text=text)
        finally:
            self.record.close(asked, how)
            if self._log is not None:
                self._log.write_end(asked.id, how, reason=fault.finish, kind=fault.kind)

    def _reply(self, messages: list[tuple[str, str]], question: str, *, words: int | None) -> str:
        if self._answers_codes and (coded := coded_reply(question, words=words)):
            return coded
        system = " ".join(text for role, text in messages if role == "system")
        return reply(question, name=name_in(system), words=words)

    def _kept(self, messages: list[tuple[str, str]], question: str) -> list[dict[str, str]]:
        """What of a prompt goes on record: nothing, unless the start or an operator's mark asked for it."""
        if self._keep_texts:
            return [{"role": role, "content": text} for role, text in messages]
        is_marked = any(mark in question for mark in self._marks)
        return [{"role": "user", "content": question}] if is_marked else []

    async def _say(self, request: Request, out: Connection, *, asked: Asked, fault: Fault, text: str) -> str:
        wire = WIRES[request.path](
            reference=str(next(self._references)), model=asked.model, created=int(time.time())
        )
        play = ReplyPerformer(out, wire, fault=fault, asked=asked, pace=self._pace, log=self._log)
        pieces = list(reply_pieces(fault, text))
        if asked.streamed or fault.status is not None or fault.disconnect or fault.hang:
            return await play.perform(pieces)
        await asyncio.sleep(self._pace.first_word_s if fault.first_word_s is None else fault.first_word_s)
        out.whole(200, {"Content-Type": "application/json"}, wire.whole("".join(pieces), fault.finish))
        asked.words_sent, asked.status = len(pieces), 200
        return "finished"

    def _fault_for(self, asked: Asked, question: str) -> Fault:
        """The first standing order that matches, used once; then a directive in the message; else none."""
        for order in self._orders:
            if (
                order.match in (None, asked.model)
                or order.match in asked.request_id
                or order.match in question
            ):
                if order.next is not None:
                    order.next -= 1
                    if order.next == 0:
                        self._orders.remove(order)
                return order.fault
        return (directive(question) if self._directives else None) or Fault()

    # Operation, from this machine only and with the token.

    def _operate(self, request: Request, out: Connection) -> None:
        match request.method, request.path:
            case "GET", "/asked":
                out.json(200, self.record.asked())
            case "POST", "/asked":
                self._mark(request.body, out)
            case "DELETE", "/asked":
                self._marks.clear()
                self.record.forget()
                out.json(200, {})
            case "GET", "/gauge":
                out.json(200, self.record.gauge())
            case "DELETE", "/gauge":
                self.record.reset_gauge()
                out.json(200, self.record.gauge())
            case "GET", "/control":
                out.json(200, [order.model_dump(mode="json") for order in self._orders])
            case "DELETE", "/control":
                self._orders.clear()
                out.json(200, {})
            case "POST", "/control":
                self._order(request.body, out)
            case _:
                out.json(405, {"error": "method"})

    def _mark(self, body: bytes, out: Connection) -> None:
        try:
            mark = QuestionMark.model_validate_json(body).mark
        except ValidationError as wrong:
            out.json(400, {"error": [{"at": list(e["loc"]), "is": e["msg"]} for e in wrong.errors()]})
        else:
            self._marks = [*self._marks, mark][-MARKS_KEPT:]
            out.json(200, {"marks": len(self._marks)})

    def _order(self, body: bytes, out: Connection) -> None:
        try:
            order = FaultOrder.model_validate(json.loads(body))
            if order.fault.error is not None and order.fault.error not in ERROR_BODIES:
                raise ValueError(f"error: unknown shape; one of {', '.join(ERROR_BODIES)}")
        except ValidationError as wrong:
            out.json(400, {"error": [{"at": list(e["loc"]), "is": e["msg"]} for e in wrong.errors()]})
        except ValueError as wrong:
            out.json(400, {"error": str(wrong)})
        else:
            self._orders.append(order)
            out.json(200, {"orders": len(self._orders)})
