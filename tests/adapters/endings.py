"""The matrix of endings: every way a call can end, and its class on each wire."""

from typing import Any, Literal

from routing.errors import FailureClass as F

WIRES = ("openai", "anthropic")
"""Adapters by name: chat-completions, and messages."""

PIECES = ["One", " two", " three", " four", " five"]
TEXT_AFTER = {0: "", 3: "One two three"}


def build_fault(**fault: Any) -> dict[str, Any]:
    """A reply of five pieces without a delay, then the given fault."""
    return {"pieces": PIECES, "pace_ms": 0, "first_word_s": 0, **fault}


CUTS = {
    "fin": F.NETWORK,
    "reset": F.NETWORK,
    "short_length": F.NETWORK,
    "no_finish": F.INCOMPLETE,
    "close_early": F.INCOMPLETE,
    "mid_json": F.INCOMPLETE,
    "gzip": F.INCOMPLETE,
}

# Errors under status 200. Both wires classify such a body by its content, whichever provider wrote it.
CLASSIFIED_BODIES = {
    "server_error": F.SERVER_ERROR,
    "rate_limit": F.RATE_LIMITED,
    "rate_limit_tokens": F.RATE_LIMITED,
    "insufficient_quota": F.QUOTA,
    "credit_exhausted": F.QUOTA,
    "spend_limit": F.QUOTA,
    "bad_request": F.BAD_REQUEST,
    "invalid_key": F.MISCONFIGURED,
    "model_not_found": F.MISCONFIGURED,
    "context_length": F.TOO_LONG,
    "content_filter": F.REFUSED,
    "policy": F.REFUSED,
    "prompt_flagged": F.REFUSED,
    "overloaded": F.OVERLOADED,
    "numeric_code": F.SERVER_ERROR,
    "numeric_429": F.RATE_LIMITED,
    "beside_choices": F.SERVER_ERROR,
    "moderation": F.REFUSED,
    "string": F.SERVER_ERROR,
    "llama_context": F.TOO_LONG,
    "llama_loading": F.SERVER_ERROR,
    "flat": F.SERVER_ERROR,
    "flat_bad_request": F.BAD_REQUEST,
    "flat_context": F.TOO_LONG,
    "in_a_list": F.RATE_LIMITED,
    "google_unavailable": F.OVERLOADED,
    "anthropic_overloaded": F.OVERLOADED,
    "anthropic_rate_limit": F.RATE_LIMITED,
    "anthropic_api": F.SERVER_ERROR,
    "anthropic_timeout": F.SERVER_ERROR,
    "anthropic_authentication": F.MISCONFIGURED,
    "anthropic_permission": F.MISCONFIGURED,
    "anthropic_not_found": F.MISCONFIGURED,
    "anthropic_billing": F.QUOTA,
    "anthropic_credit": F.QUOTA,
    "anthropic_invalid": F.BAD_REQUEST,
    "anthropic_too_long": F.TOO_LONG,
    "anthropic_too_large": F.TOO_LONG,
    "mystery": F.UNKNOWN,
}
# No field marks them as errors. On the messages wire the event type does; on the other the reply has no end.
UNCLASSIFIED_BODIES = {
    "detail",
    "detail_list",
    "null",
    "empty_object",
    "html",
    "not_json",
    "half_json",
    "deep",
    "huge_number",
}
# An event without data is ignored, an oversized one is not read to its end: on both wires no end is seen.
UNREADABLE_BODIES = {"empty", "huge"}
BODIES = [*CLASSIFIED_BODIES, *sorted(UNCLASSIFIED_BODIES | UNREADABLE_BODIES)]


def classify_in_stream(name: str, wire: str) -> F:
    """The class of an error that arrives as an event of its wire."""
    if name in UNCLASSIFIED_BODIES and wire == "anthropic":
        return F.SERVER_ERROR
    return CLASSIFIED_BODIES.get(name, F.INCOMPLETE)


STATUSES: list[tuple[int, str, F]] = [
    (400, "bad_request", F.BAD_REQUEST),
    (400, "context_length", F.TOO_LONG),
    (400, "flat_context", F.TOO_LONG),
    (400, "llama_context", F.TOO_LONG),
    (400, "anthropic_too_long", F.TOO_LONG),
    (413, "anthropic_too_large", F.TOO_LONG),
    (413, "html", F.TOO_LONG),
    (400, "content_filter", F.REFUSED),
    (400, "policy", F.REFUSED),
    (400, "prompt_flagged", F.REFUSED),
    (403, "moderation", F.REFUSED),
    (400, "anthropic_credit", F.QUOTA),
    (400, "anthropic_invalid", F.BAD_REQUEST),
    (401, "invalid_key", F.MISCONFIGURED),
    (401, "detail", F.MISCONFIGURED),
    (401, "anthropic_authentication", F.MISCONFIGURED),
    (402, "empty", F.QUOTA),
    (402, "anthropic_billing", F.QUOTA),
    (403, "html", F.MISCONFIGURED),
    (403, "anthropic_permission", F.MISCONFIGURED),
    (404, "model_not_found", F.MISCONFIGURED),
    (404, "anthropic_not_found", F.MISCONFIGURED),
    (404, "html", F.MISCONFIGURED),
    (405, "empty", F.MISCONFIGURED),
    (408, "empty", F.SERVER_ERROR),
    (409, "server_error", F.SERVER_ERROR),
    (422, "detail_list", F.BAD_REQUEST),
    (425, "empty", F.SERVER_ERROR),
    (429, "rate_limit", F.RATE_LIMITED),
    (429, "rate_limit_tokens", F.RATE_LIMITED),
    (429, "anthropic_rate_limit", F.RATE_LIMITED),
    (429, "html", F.RATE_LIMITED),
    (429, "in_a_list", F.RATE_LIMITED),
    (429, "insufficient_quota", F.QUOTA),
    (429, "credit_exhausted", F.QUOTA),
    (429, "spend_limit", F.QUOTA),
    (500, "server_error", F.SERVER_ERROR),
    (500, "flat", F.SERVER_ERROR),
    (500, "anthropic_api", F.SERVER_ERROR),
    (500, "deep", F.SERVER_ERROR),
    (500, "huge", F.SERVER_ERROR),
    (500, "null", F.SERVER_ERROR),
    (502, "html", F.SERVER_ERROR),
    (503, "llama_loading", F.SERVER_ERROR),
    (503, "overloaded", F.OVERLOADED),
    (504, "not_json", F.SERVER_ERROR),
    (504, "anthropic_timeout", F.SERVER_ERROR),
    (520, "html", F.SERVER_ERROR),
    (529, "anthropic_overloaded", F.OVERLOADED),
    (529, "empty", F.OVERLOADED),
    (301, "empty", F.MISCONFIGURED),
    (302, "html", F.MISCONFIGURED),
    (307, "empty", F.MISCONFIGURED),
    (308, "empty", F.MISCONFIGURED),
    (202, "null", F.INCOMPLETE),
    (204, "empty", F.INCOMPLETE),
]

# The outcome of a five-word reply that ends with this reason, on either wire: gateways copy reasons from one wire to
# the other. The provider translates "stop", "length" and "content_filter" to its wire and sends any other unchanged.
ExpectedEnd = Literal["whole", "short"] | F
FINISHES: dict[str | None, ExpectedEnd] = {
    "stop": "whole",
    "length": "short",
    "content_filter": F.REFUSED,
    "end_turn": "whole",
    "stop_sequence": "whole",
    "eos": "whole",
    "eos_token": "whole",
    "STOP": "whole",
    "Stop": "whole",
    "END_TURN": "whole",
    "COMPLETE": "whole",
    "FINISH_REASON_STOP": "whole",
    "stop ": "whole",
    "max_tokens": "short",
    "MAX_TOKENS": "short",
    "model_length": "short",
    "model_context_window_exceeded": "short",
    "refusal": F.REFUSED,
    "SAFETY": F.REFUSED,
    "content_filter: PROHIBITED_CONTENT": F.REFUSED,
    "guardrail_intervened": F.REFUSED,
    "sensitive": F.REFUSED,
    "tool_calls": F.INCOMPLETE,
    "function_call": F.INCOMPLETE,
    "tool_use": F.INCOMPLETE,
    "pause_turn": F.INCOMPLETE,
    "abort": F.INCOMPLETE,
    "error": F.INCOMPLETE,
    "insufficient_system_resource": F.INCOMPLETE,
    "never_seen_before": F.INCOMPLETE,
    "": F.INCOMPLETE,
    None: F.INCOMPLETE,
}
