"""Each request has a reference: the proxy's where there is one to believe, else one of its own."""

from typing import Any

from companion.log_references import copy_references, get_references
from ops.project.request_reference import ReferencedRequests

GIVEN = "0123456789abcdef0123456789abcdef"


async def call(
    *, is_behind_proxy: bool, given: str = GIVEN, kind: str = "http"
) -> tuple[str, list[dict[str, Any]]]:
    """The reference that the application saw, and what was sent to the caller."""
    seen: list[str] = []
    sent: list[dict[str, Any]] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        seen.append(str(get_references()["request"]))
        await send({"type": f"{kind}.response.start", "headers": [(b"content-type", b"text/plain")]})

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": kind, "headers": [(b"x-request-id", given.encode())]}
    await ReferencedRequests(application, is_behind_proxy=is_behind_proxy)(scope, None, send)
    return seen[0], sent


async def test_the_reference_of_the_proxy_is_taken_over_and_sent_back() -> None:
    reference, sent = await call(is_behind_proxy=True)

    assert reference == GIVEN
    assert sent[0]["headers"] == [(b"content-type", b"text/plain"), (b"x-request-id", GIVEN.encode())]


async def test_what_a_caller_writes_there_is_not_believed() -> None:
    without_proxy, _ = await call(is_behind_proxy=False)
    odd, _ = await call(is_behind_proxy=True, given="what Rosa wrote")

    assert GIVEN != without_proxy != odd
    assert len(without_proxy) == len(odd) == 32


async def test_a_socket_has_one_too_and_its_frames_pass_as_they_are() -> None:
    reference, sent = await call(is_behind_proxy=True, kind="websocket")

    assert reference == GIVEN
    assert sent[0]["headers"] == [(b"content-type", b"text/plain")]


def test_a_context_without_references_has_none() -> None:
    assert copy_references().run(get_references) == {}
