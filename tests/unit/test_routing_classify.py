"""The one classifier. The shapes providers really send are tested over sockets in tests/adapters/test_endings.py."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.classify import classify_body, classify_object, classify_response, is_error
from routing.error_facts import short_code
from routing.errors import FailureClass as F

NOW = datetime(2026, 3, 1, tzinfo=UTC)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(
        st.sampled_from(["error", "code", "type", "message", "status", "detail", "innererror", "metadata", "object"]),
        inner,
    ),
    max_leaves=12,
)  # fmt: skip


def of(status: int, body: Any, headers: dict[str, str] | None = None) -> F:
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    return classify_response(status=status, headers=headers or {}, body=sent, now=NOW).failure


@given(JSON)
def test_any_object_has_a_class(found: Any) -> None:
    assert classify_object(found).failure in F
    is_error(found)


@given(st.integers(201, 999), st.binary(max_size=200))
def test_any_status_and_body_have_a_class(status: int, body: bytes) -> None:
    assert classify_response(status=status, headers={}, body=body, now=NOW).failure in F
    assert classify_body(body).failure in F


@pytest.mark.parametrize("status", [408, 409, 425, *range(500, 529), *range(530, 600)])
def test_statuses_worth_another_attempt_are_the_servers(status: int) -> None:
    assert of(status, b"") is F.SERVER_ERROR


@pytest.mark.parametrize(
    ("status", "failure"),
    [
        (300, F.MISCONFIGURED),
        (304, F.MISCONFIGURED),
        (400, F.BAD_REQUEST),
        (401, F.MISCONFIGURED),
        (402, F.QUOTA),
        (403, F.MISCONFIGURED),
        (404, F.MISCONFIGURED),
        (413, F.TOO_LONG),
        (418, F.MISCONFIGURED),
        (422, F.BAD_REQUEST),
        (429, F.RATE_LIMITED),
        (529, F.OVERLOADED),
        (600, F.UNKNOWN),
        (999, F.UNKNOWN),
    ],
)
def test_a_status_alone_has_a_class(status: int, failure: F) -> None:
    assert of(status, b"") is failure


def test_the_exact_word_of_a_body_counts_more_than_the_status() -> None:
    assert of(500, {"type": "error", "error": {"type": "overloaded_error", "message": ""}}) is F.OVERLOADED
    assert of(500, {"error": {"type": "rate_limit_error", "message": ""}}) is F.RATE_LIMITED


def test_the_general_word_of_a_body_counts_less_than_the_status() -> None:
    assert (
        of(401, {"error": {"type": "invalid_request_error", "code": None, "message": ""}}) is F.MISCONFIGURED
    )
    assert of(503, {"error": {"type": "invalid_request_error", "message": ""}}) is F.SERVER_ERROR


def test_a_rate_limit_that_speaks_of_a_quota_is_still_only_a_rate_limit() -> None:
    body = {
        "error": {"code": 429, "message": "You exceeded your current quota.", "status": "RESOURCE_EXHAUSTED"}
    }
    assert of(429, body) is F.RATE_LIMITED


def test_a_server_that_broke_while_it_spoke_of_safety_has_not_refused() -> None:
    assert (
        of(500, {"error": {"message": "The safety system crashed.", "type": "server_error"}})
        is F.SERVER_ERROR
    )


def test_azure_hides_its_refusal_inside() -> None:
    inner = {"code": "ResponsibleAIPolicyViolation"}
    assert of(400, {"error": {"code": None, "message": "Filtered.", "innererror": inner}}) is F.REFUSED


def test_an_error_in_a_stream_that_only_gives_a_number_is_classified_by_it() -> None:
    assert classify_object({"error": {"message": "", "code": 429}}).failure is F.RATE_LIMITED
    assert classify_object({"error": {"message": "", "code": 502}}).failure is F.SERVER_ERROR


def test_an_error_with_an_unknown_code_is_unknown() -> None:
    assert classify_object({"error": {"message": "?", "code": "xq-17"}}).failure is F.UNKNOWN
    assert classify_object({"error": {"message": "?", "code": "xq-17"}}).code == "xq-17"


def test_the_named_time_is_read_from_the_headers() -> None:
    verdict = classify_response(status=503, headers={"retry-after": "3"}, body=b"", now=NOW)
    assert verdict.retry_after_s == 3.0


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("rate_limit_exceeded", "rate_limit_exceeded"),
        (502, "502"),
        ("a.b-c_D9", "a.b-c_D9"),
        ("x" * 64, "x" * 64),
        ("x" * 65, None),
        ("two words", None),
        ("ключ", None),
        ("", None),
        (None, None),
        (True, None),
        (10**12, None),
        ({"a": 1}, None),
        ("line\n", None),
    ],
)
def test_only_a_short_code_is_kept(value: Any, code: str | None) -> None:
    assert short_code(value) == code


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "empty_body"),
        (b"  \n", "empty_body"),
        (b"<html>", "html"),
        (b"null", "not_a_stream"),
        (b"[[", "not_a_stream"),
    ],
)
def test_a_200_without_an_event_is_incomplete_and_says_why(body: bytes, code: str) -> None:
    verdict = classify_body(body)
    assert (verdict.failure, verdict.code) == (F.INCOMPLETE, code)
