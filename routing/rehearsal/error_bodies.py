"""Error bodies as providers and servers really send them, by a name to ask for them with."""

import json
from typing import Any


def _openai(message: str, kind: str, code: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _anthropic(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_rehearsal"}


_OBJECTS: dict[str, Any] = {
    # Chat-completions, and what calls itself compatible.
    "server_error": _openai("The server had an error while processing your request.", "server_error", None),
    "rate_limit": _openai("Rate limit reached for requests.", "requests", "rate_limit_exceeded"),
    "rate_limit_tokens": _openai("Rate limit reached for tokens.", "tokens", "rate_limit_exceeded"),
    "insufficient_quota": _openai(
        "You exceeded your current quota.", "insufficient_quota", "insufficient_quota"
    ),
    "credit_exhausted": _openai("No credit left.", "billing", "credit_balance_exhausted"),
    "spend_limit": _openai("Limit reached.", "limit", "organization_spend_limit_reached"),
    "bad_request": _openai("Unknown parameter.", "invalid_request_error", "unknown_parameter"),
    "invalid_key": _openai("Incorrect API key provided.", "invalid_request_error", "invalid_api_key"),
    "model_not_found": _openai("The model does not exist.", "invalid_request_error", "model_not_found"),
    "context_length": _openai(
        "This model's maximum context length is 8192 tokens.",
        "invalid_request_error",
        "context_length_exceeded",
    ),
    "content_filter": _openai(
        "The response was filtered due to the prompt triggering the content management policy.",
        "",
        "content_filter",
    ),
    "policy": _openai("Rejected by our safety system.", "invalid_request_error", "content_policy_violation"),
    "prompt_flagged": _openai(
        "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
        "invalid_request_error",
        "invalid_prompt",
    ),
    "overloaded": _openai("The engine is currently overloaded.", "engine_overloaded", "engine_overloaded"),
    "numeric_code": {"error": {"message": "Provider returned error", "code": 502}},
    "numeric_429": {"error": {"message": "Provider returned error", "code": 429}},
    "beside_choices": {"error": {"message": "Provider disconnected", "code": "server_error"}, "choices": []},
    "moderation": {
        "error": {"message": "Your input was flagged", "code": 403, "metadata": {"reasons": ["violence"]}},
    },
    "string": {"error": "the model runner has stopped"},
    "llama_context": {
        "error": {
            "code": 400,
            "message": "the request exceeds the available context size, try increasing it",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": 9000,
            "n_ctx": 4096,
        }
    },
    "llama_loading": {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}},
    # Flat bodies.
    "flat": {"object": "error", "message": "Internal error", "type": "InternalServerError", "code": 500},
    "flat_bad_request": {
        "object": "error",
        "message": "bad",
        "type": "BadRequestError",
        "param": None,
        "code": 400,
    },
    "flat_context": {
        "object": "error",
        "message": "The maximum context length is 4096 tokens. Please reduce the length of the messages.",
        "type": "BadRequestError",
        "param": None,
        "code": 400,
    },
    "detail": {"detail": "Not authenticated"},
    "detail_list": {"detail": [{"loc": ["body", "messages"], "msg": "field required", "type": "missing"}]},
    "in_a_list": [{"error": {"code": 429, "message": "Resource exhausted", "status": "RESOURCE_EXHAUSTED"}}],
    "google_unavailable": {
        "error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}
    },
    # Messages.
    "anthropic_overloaded": _anthropic("overloaded_error", "Overloaded"),
    "anthropic_rate_limit": _anthropic("rate_limit_error", "This would exceed your rate limit."),
    "anthropic_api": _anthropic("api_error", "Internal server error"),
    "anthropic_timeout": _anthropic("timeout_error", "Timed out"),
    "anthropic_authentication": _anthropic("authentication_error", "invalid x-api-key"),
    "anthropic_permission": _anthropic("permission_error", "Not allowed"),
    "anthropic_not_found": _anthropic("not_found_error", "model: nobody"),
    "anthropic_billing": _anthropic("billing_error", "There is a problem with your billing."),
    "anthropic_credit": _anthropic(
        "invalid_request_error", "Your credit balance is too low to access the API."
    ),
    "anthropic_invalid": _anthropic("invalid_request_error", "messages: roles must alternate"),
    "anthropic_too_long": _anthropic(
        "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"
    ),
    "anthropic_too_large": _anthropic("request_too_large", "Request exceeds the maximum size"),
    # Nothing that can be read.
    "mystery": {"error": {"message": "?", "type": "never_seen_before", "code": "xq-17"}},
    "null": None,
    "empty_object": {},
}
_PAGE = b"<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body>Bad Gateway</body></html>"

ERROR_BODIES: dict[str, bytes] = {
    **{name: json.dumps(body).encode() for name, body in _OBJECTS.items()},
    "html": _PAGE,
    "empty": b"",
    "not_json": b"upstream connect error or disconnect/reset before headers",
    "half_json": b'{"error": {"message": "The ser',
    "deep": b'{"error":' * 50_000 + b"1" + b"}" * 50_000,
    "huge": b'{"error": {"message": "' + b"x" * 3_000_000 + b'"}}',
    "huge_number": b'{"error": {"code": ' + b"9" * 20_000 + b"}}",
}


def content_type_of(name: str) -> str:
    """What such a body usually calls itself."""
    return "text/html" if name == "html" else "text/plain" if name == "not_json" else "application/json"
