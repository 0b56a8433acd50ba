"""PURE. The words by which servers end a reply, on any wire, and what each of them means."""

from typing import Any

from routing.adapters.ending import StreamEnding
from routing.error_facts import short_code
from routing.errors import UNKNOWN_FINISH, FailureClass

_WHOLE = frozenset(
    {
        "stop", "eos", "eos_token", "eot", "eot_id", "end", "end_turn", "end_of_turn", "end_of_text", "endoftext",
        "im_end", "stop_sequence", "stop_sequences", "stop_token", "stop_tokens", "stop_word", "stop_words",
        "stopped_eos", "stopped_word", "complete", "completed", "completion", "finish", "finished",
        "done", "normal", "natural",
    }
)  # fmt: skip
_SHORTENED = frozenset(
    {
        "length", "max_tokens", "max_length", "max_new_tokens", "max_output_tokens", "max_completion_tokens",
        "model_length", "limit", "stopped_limit", "token_limit", "length_limit", "context_length",
        "context_window_exceeded", "context_length_exceeded", "model_context_window_exceeded",
    }
)  # fmt: skip
_REFUSED = frozenset(
    {
        "content_filter", "content_filtered", "contentfilter", "content_policy", "refusal", "safety", "recitation",
        "blocklist", "prohibited_content", "spii", "sensitive", "guardrail", "guardrail_intervened", "error_toxic",
    }
)  # fmt: skip
_INCOMPLETE = frozenset(
    {
        "tool_calls", "tool_call", "tool_use", "function_call", "pause_turn", "abort", "aborted", "cancel", "cancelled",
        "canceled", "error", "error_limit", "network_error", "server_error", "timeout", "time_limit", "load", "unload",
        "insufficient_system_resource", "malformed_function_call", "unexpected_tool_call", "other", "unknown",
        "language", "unspecified",
    }
)  # fmt: skip
_PREFIXES = ("finish_reason_", "stop_reason_", "reason_")


def ending_of(reason: Any) -> StreamEnding:
    """What a terminal reason means, in any case and with any prefix. Never raises."""
    if not isinstance(reason, str):
        return StreamEnding(failure=FailureClass.INCOMPLETE, code="unknown_finish")
    # Gemini says why behind a colon: "content_filter: PROHIBITED_CONTENT".
    word = reason.partition(":")[0].strip().lower().replace("-", "_").replace(" ", "_")
    for prefix in _PREFIXES:
        word = word.removeprefix(prefix)
    code = short_code(reason.strip()) or short_code(word)
    if word in _WHOLE:
        return StreamEnding(failure=None, code=code)
    if word in _SHORTENED:
        return StreamEnding(failure=None, code=code, truncated=True)
    if word in _REFUSED:
        return StreamEnding(failure=FailureClass.REFUSED, code=code)
    if word in _INCOMPLETE:
        return StreamEnding(failure=FailureClass.INCOMPLETE, code=code)
    named = short_code(UNKNOWN_FINISH + word)
    return StreamEnding(failure=FailureClass.INCOMPLETE, code=named or "unknown_finish")
