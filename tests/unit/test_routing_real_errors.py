"""What real servers answer, and what it is: one row for each sentence or code that was seen (T5, T8, R10)."""

import json
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

import pytest

from routing.classify import classify_object, classify_response
from routing.errors import FailureClass as F

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def openai(message: Any, kind: Any = "invalid_request_error", code: Any = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def anthropic(message: str, kind: str = "invalid_request_error") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


def litellm(message: str, code: str = "500") -> dict[str, Any]:
    return openai(message, "None", code)


def google(message: str, code: int, status: str, *details: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"error": {"code": code, "message": message, "status": status, "details": list(details)}}]


REFUSED = [
    (400, anthropic("Output blocked by content filtering policy")),
    (400, openai("Content Exists Risk", code="invalid_request_error")),
    (400, {"detail": "Content Exists Risk"}),
    (400, openai("<400> InternalError.Algo.DataInspectionFailed: Input text data may contain inappropriate content.")),
    (400, openai("Output data may contain inappropriate content.", code="data_inspection_failed")),
    (400, openai("The request was rejected because it was considered high risk", "content_filter")),
    (422, openai("input new_sensitive (1026)", "invalid_request_error", "1026")),
    (400, openai("系统检测到输入或生成内容可能包含不安全或敏感内容", code="1301")),
    (403, {"code": "Forbidden", "error": "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE"}),
    (400, openai("This request has been blocked by our content filters.", "ValidationException")),
    (400, openai("Violated guardrail policy", "None", "400")),
    (400, openai({"error": "Violated moderation policy", "guardrail": "x"}, "None", "400")),
    (400, litellm("litellm.ContentPolicyViolationError: AzureException - The response was filtered", "400")),
    (400, openai("sensitive words detected", "new_api_error", "sensitive_words_detected")),
    (400, google("blocked", 400, "PROHIBITED_CONTENT")),
    (400, openai("Your request was rejected as a result of our safety system.")),
    (400, openai("This content was flagged for possible cybersecurity risk")),
]  # fmt: skip
TOO_LONG = [
    (400, google("The input token count (1594712) exceeds the maximum number of tokens allowed (1048576).", 400,
                 "INVALID_ARGUMENT")),
    (400, google("The input token count exceeds the maximum number of tokens allowed 32768.", 400, "INVALID_ARGUMENT")),
    (422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 3974 `inputs` "
                    "tokens and 1024 `max_new_tokens`", "error_type": "validation"}),
    (422, {"error": "Input validation error: `inputs` must have less than 1024 tokens. Given: 1500",
           "error_type": "validation"}),
    (400, openai("This model's maximum prompt length is 131072 but the request contains 160000 tokens.")),
    (400, openai("Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum "
                 "context length")),
    (400, openai("Please reduce the length of the messages or completion.", code="context_length_exceeded")),
    (413, openai("Request too large for model `llama` on tokens per minute (TPM): Limit 6000, Requested 7000",
                 "tokens", "rate_limit_exceeded")),
    (413, openai("Request body too large for gpt-4o model. Max size: 8000 tokens.", None, "tokens_limit_reached")),
    (429, openai("Request too large for gpt-4 on tokens per min (TPM): Limit 10000, Requested 13000. The input or "
                 "output tokens must be reduced in order to run successfully.", "tokens", "rate_limit_exceeded")),
    (400, anthropic("input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000")),
    (400, openai("Range of input length should be [1, 30720]")),
    (400, openai("Input tokens exceed the configured limit of 272000 tokens.")),
    (400, openai("Invalid 'messages[5].content': string too long. Expected a string with maximum length 10485760.")),
    (400, openai("Requested token count exceeds the model's maximum context length of 4096 tokens.")),
    (400, openai("The decoder prompt (length 5000) is longer than the maximum model length of 4096.")),
    (400, openai("too many tokens: total number of tokens in the prompt cannot exceed 4081")),
    (500, openai("the input is too large to process. increase the physical batch size", "server_error", 500)),
    (500, {"error": "input length exceeds maximum context length"}),
    (400, openai("Input is too long for requested model.", "ValidationException")),
    (403, openai("Input token count + max_tokens parameter must be less than the context length of the model")),
    (400, litellm("litellm.ContextWindowExceededError: litellm.BadRequestError: window", "400")),
    (400, openai("Provider returned error", None, 400) | {"error": {"message": "Provider returned error", "code": 400,
        "metadata": {"raw": '{"error":{"message":"maximum context length is 8192 tokens"}}', "provider_name": "X"}}}),
]  # fmt: skip
QUOTA = [
    (400, anthropic("You have reached your specified API usage limits. You will regain access on 2026-08-01.")),
    (400, anthropic("Your credit balance is too low to access the Anthropic API.")),
    (429, openai("Budget has been exceeded! Current cost: 1.0, Max budget: 0.05", "budget_exceeded", "429")),
    (400, openai("ExceededBudget: User=x over budget. Spend: 1, Budget: 0.5", "budget_exceeded", "400")),
    (403, {"code": "The caller does not have permission", "error": "Your newly created team doesn't have any credits "
                                                                  "yet. You can purchase credits."}),
    (403, {"error": "Your team has either used all available credits or reached its monthly spending limit."}),
    (403, openai("Key limit exceeded (monthly limit). Manage it using the settings page.", None, 403)),
    (403, openai("Out of call volume quota. Quota will be replenished in 2.11:12:04.", None, None)),
    (403, {"code": 30001, "message": "Sorry, your account balance is insufficient", "data": None}),
    (429, openai("Rate limit exceeded: free-models-per-day. Add 10 credits to unlock more", None, 429)),
    (429, openai("Rate limit reached for model `x` on tokens per day (TPD): Limit 100000", "tokens",
                 "rate_limit_exceeded")),
    (429, openai("Your account is suspended due to insufficient balance", "exceeded_current_quota_error")),
    (429, openai("余额不足或无可用资源包,请充值。", None, "1113")),
    (400, openai("Access denied, please make sure your account is in good standing.", "Arrearage", "Arrearage")),
    (403, openai("The free tier of the model has been exhausted.", None, "AllocationQuota.FreeTierOnly")),
    (429, google("You exceeded your current quota, please check your plan and billing details.", 429,
                 "RESOURCE_EXHAUSTED", {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}]})),
    (400, {"__type": "com.amazon.coral.service#ServiceQuotaExceededException", "message": "exceeded"}),
    (401, openai("Insufficient balance", None, None)),
    (500, openai("billing hard limit has been reached", "server_error", "billing_hard_limit_reached")),
]  # fmt: skip
PASSING = [
    (400, {"__type": "ThrottlingException", "message": "Rate exceeded"}, F.RATE_LIMITED),
    (424, {"message": "The model had an error"}, F.SERVER_ERROR),
    (424, openai("dependent request failed", None, None), F.SERVER_ERROR),
    (498, openai("capacity exceeded", None, "capacity_exceeded"), F.OVERLOADED),
    (498, {}, F.OVERLOADED),
    (499, google("The operation was cancelled.", 499, "CANCELLED"), F.SERVER_ERROR),
    (499, {}, F.SERVER_ERROR),
    (420, {}, F.RATE_LIMITED),
    (421, {}, F.SERVER_ERROR),
    (403, openai("Rate limit exceeded, retry later", None, None), F.RATE_LIMITED),
    (403, google("blocked", 403, "PERMISSION_DENIED", {"reason": "RATE_LIMIT_EXCEEDED"}), F.RATE_LIMITED),
    (400, openai("The model is overloaded, please try again later", None, None), F.OVERLOADED),
    (400, openai("litellm.Timeout: Connection timed out", "None", "400"), F.SERVER_ERROR),
    (429, openai("Service tier capacity exceeded for this model.", "invalid_request_error", None), F.RATE_LIMITED),
    (429, google("You exceeded your current quota.", 429, "RESOURCE_EXHAUSTED",
                 {"violations": [{"quotaId": "GenerateRequestsPerMinutePerProject"}]}), F.RATE_LIMITED),
    (429, {"__type": "ModelNotReadyException", "message": "not ready"}, F.OVERLOADED),
]  # fmt: skip
WRONG_KEY_OR_MODEL = [
    (400, google("API key not valid. Please pass a valid API key.", 400, "INVALID_ARGUMENT",
                 {"reason": "API_KEY_INVALID"})),
    (400, google("API key not valid. Please pass a valid API key.", 400, "INVALID_ARGUMENT")),
    (400, google("API key expired. Please renew the API key.", 400, "INVALID_ARGUMENT")),
    (400, google("User location is not supported for the API use.", 400, "FAILED_PRECONDITION")),
    (400, openai("Model Not Exist")),
    (400, openai("some/model is not a valid model ID", None, 400)),
    (400, openai("The model `x` has been decommissioned", code="model_decommissioned")),
    (400, openai("The provided model identifier is invalid.", "ValidationException")),
    (400, litellm("/chat/completions: Invalid model name passed in model=x", "400") | openai(
        "Invalid model name", "None", "400")),
]  # fmt: skip
BAD_REQUESTS = [
    (400, openai("max_tokens is too large: 50000. This model supports at most 16384 completion tokens.")),
    (422, {"error": "Input validation error: `max_new_tokens` must be <= 4096", "error_type": "validation"}),
    (400, openai("Invalid 'user': string too long. Expected a string with maximum length 64")),
    (400, openai("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
                 code="unsupported_parameter")),
    (400, anthropic("messages: roles must alternate")),
    (400, openai("temperature must be between 0 and 2", code="invalid_value")),
]  # fmt: skip
ROWS = [
    *((status, body, F.REFUSED) for status, body in REFUSED),
    *((status, body, F.TOO_LONG) for status, body in TOO_LONG),
    *((status, body, F.QUOTA) for status, body in QUOTA),
    *PASSING,
    *((status, body, F.MISCONFIGURED) for status, body in WRONG_KEY_OR_MODEL),
    *((status, body, F.BAD_REQUEST) for status, body in BAD_REQUESTS),
]


def of(status: int, body: Any, **headers: str) -> F:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return classify_response(status=status, headers=named, body=json.dumps(body).encode(), now=NOW).failure


@pytest.mark.parametrize(
    ("status", "body", "failure"), ROWS, ids=[f"{s}-{f.value}-{n}" for n, (s, _, f) in enumerate(ROWS)]
)
def test_an_answer_of_a_real_server_is_what_it_says(status: int, body: Any, failure: F) -> None:
    assert of(status, body) is failure


@pytest.mark.parametrize("body", [body for _, body in REFUSED])
def test_a_refusal_is_one_inside_a_stream_as_well(body: Any) -> None:
    assert classify_object(body).failure is F.REFUSED


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        (litellm("litellm.APIConnectionError: APIConnectionError: OpenAIException - peer closed"), F.SERVER_ERROR),
        (litellm("litellm.MidStreamFallbackError: gone", "503"), F.SERVER_ERROR),
        (litellm("litellm.RateLimitError: slow", "429"), F.RATE_LIMITED),
        (litellm("no such thing", "401"), F.MISCONFIGURED),
        (litellm("overworked", "529"), F.OVERLOADED),
        (litellm("Bad input", "400"), F.BAD_REQUEST),
        (openai("The server had an error", None, " 502 "), F.SERVER_ERROR),
        ({"error": "Request failed during generation: Server error: CANCELLED", "error_type": "generation"},
         F.SERVER_ERROR),
        ({"error": {"message": "Upstream idle", "code": "upstream_error"}}, F.SERVER_ERROR),
        ({"error": {"message": "?", "type": "None", "code": None}}, F.SERVER_ERROR),
    ],
)  # fmt: skip
def test_an_error_in_a_stream_is_classified_though_its_number_is_a_text(body: Any, failure: F) -> None:
    assert classify_object(body).failure is failure


def test_the_number_that_a_gateway_wrote_is_the_code_on_record() -> None:
    assert classify_object(litellm("gone")).code == "500"


@pytest.mark.parametrize(
    ("status", "headers", "failure"),
    [
        (400, {"x_amzn_errortype": "ThrottlingException"}, F.RATE_LIMITED),
        (400, {"x_amzn_errortype": "ThrottlingException:http://internal.amazon.com/coral/"}, F.RATE_LIMITED),
        (400, {"x_amzn_errortype": "ServiceQuotaExceededException"}, F.QUOTA),
        (400, {"x_amzn_errortype": "ValidationException"}, F.BAD_REQUEST),
        (403, {"x_amzn_errortype": "AccessDeniedException"}, F.MISCONFIGURED),
        (403, {"x_ms_error_code": "TooManyRequests"}, F.RATE_LIMITED),
        (403, {"retry_after": "20"}, F.RATE_LIMITED),
        (403, {"x_ratelimit_remaining": "0"}, F.RATE_LIMITED),
        (403, {"x_ratelimit_remaining": "12"}, F.MISCONFIGURED),
        (401, {"retry_after": "20"}, F.MISCONFIGURED),
    ],
)
def test_throttling_may_be_named_in_a_header(status: int, headers: dict[str, str], failure: F) -> None:
    assert of(status, {"message": "No."}, **headers) is failure


def test_the_time_to_come_back_may_stand_in_the_body() -> None:
    body = google("slow", 429, "RESOURCE_EXHAUSTED", {"retryDelay": "34s"})
    told = classify_response(status=429, headers={}, body=json.dumps(body).encode(), now=NOW)
    assert (told.failure, told.retry_after_s) == (F.RATE_LIMITED, 34.0)
    told = classify_response(
        status=429, headers={"retry-after": "7"}, body=json.dumps(body).encode(), now=NOW
    )
    assert told.retry_after_s == 7.0


@pytest.mark.parametrize("filler", ["content ", "token count ", "a" * 40, "violating ", "((", "model "])
def test_no_sentence_takes_long_to_read(filler: str) -> None:
    """Linear patterns: a message of 4,000 characters is matched by all of them within a frame."""
    loop = min(_took(filler * (4_000 // len(filler))) for _ in range(3))
    assert loop < 0.05


def _took(message: str) -> float:
    began = perf_counter()
    of(400, openai(message, None))
    return perf_counter() - began
