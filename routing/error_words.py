"""PURE. The words by which servers name their troubles: codes first, then sentences where there is no code.

Collected from what OpenAI, Azure, Anthropic, Gemini, Bedrock, Mistral, Groq, xAI, DeepSeek, DashScope, Moonshot,
MiniMax, Zhipu, Together, OpenRouter, LiteLLM, vLLM, SGLang, TGI, llama.cpp and Ollama send. All in lower case.
"""

import re

QUOTA = re.compile(
    r"insufficient_?(quota|balance|credits?|funds|user_quota)|credit_?(balance|exhausted)|exceeded_current_quota"
    r"|spend(ing)?_?limit|billing|payment_?required|budget_?exceeded|exceeded_?budget|usage_?limit|arrearage"
    r"|service_?quota_?exceeded|^quota_?exceeded|daily_?limit_?exceeded|per_?day|free_?tier_?only|account_overdue"
)
"""The account has no money or allowance left. A daily limit is one, for waiting within a turn mends none."""
QUOTA_SAID = re.compile(
    r"balance is (too low|insufficient|not enough|used up)|insufficient (account )?(balance|quota|credits?|funds)"
    r"|(no|any|more|not enough|out of|used all available|requires?|need) credits?\b"
    r"|credits? (have been |are )?(exhausted|depleted)"
    r"|depleted your .{0,20}credits|(api|weekly|monthly|daily|session|plan) usage limits?\b|reached your usage limit"
    r"|usage limit (has been )?(reached|exceeded)|(budget|quota) (has been |is |was )?(exceeded|exhausted)"
    r"|exceeded ?budget|exceeded your (current|monthly|daily) (token )?(quota|budget|limit)|quota is not enough"
    r"|call volume quota|billing (hard )?limit|spend(ing)? limit"
    r"|(requests|tokens|models|messages|limit)[- _]per[- _]day"
    r"|(daily|weekly|monthly) (usage |request |token |message )?(limit|quota)|account .{0,20}overdue|in good standing"
    r"|payment (is )?required|top up|free (quota|tier) .{0,60}exhausted|requires? (a )?(paid plan|subscription)"
    r"|余额不足"
)
TOO_LONG = re.compile(
    r"context_?(length|window|size|limit)|exceed_context|request_too_large|string_above_max_length"
    r"|tokens_limit_reached"
    r"|(prompt|input)_too_(long|large)|(token|length)_?limit_?exceeded|content_length_exceeds"
)
TOO_LONG_SAID = re.compile(
    r"(maximum|max) context|context[ _]?(window|size|limit|length)|exceeds? (the )?(available |model'?s? )?context"
    r"|(prompt|input|conversation|messages?|request) (is |are )?too (long|large) ?(for|to process|:|\.|$)"
    r"|prompt (is )?too long"
    r"|input is too long|input length|too many (input )?tokens|tokens? \+ `?max_(new_)?tokens`? must be"
    r"|must have less than \d+ tokens"
    r"|(token count|input tokens?|number of (input )?tokens|prompt tokens?)( \(\d+\))?.{0,40} exceeds?\b"
    r"|exceeds? the maximum (allowed )?(number of |input )+tokens|maximum (allowed )?number of (input )?tokens"
    r"|maximum (prompt|input) length|range of input length|request (body )?too large for"
    r"|reduce (the length of|your prompt|your message size|the (input|prompt))|longer than the maximum model length"
    r"|input or output tokens must be reduced|exceeded max context|messages?\S*: string too long"
)
TOO_LARGE_FOR_ANY_MINUTE = re.compile(r"request too large for|input or output tokens must be reduced")
"""A 429 that no wait mends: one question is more than a minute's allowance."""
REFUSED = re.compile(
    r"content_?filter|content_?policy|content_?management|content_?moderation|responsibleaipolicy|moderation|refusal"
    r"|safety|policy_?violation|data_?inspection_?failed|prohibited_?content|sensitive_?words?|new_sensitive"
    r"|guardrail"
    r"|inappropriate|blocklist|jailbreak"
)
REFUSED_SAID = re.compile(
    r"content management policy|usage (polic|guideline)|content[- _]?(polic|filter)|safety system|flagged|moderation"
    r"|violat\w+ .{0,200}polic|violat\w+ .{0,60}terms of service|content exists risk|content risk"
    r"|inappropriate content|prohibited content|sensitive (word|content)|unsafe (or sensitive )?content"
    r"|new_sensitive|considered high risk|guardrail|harmful content|data_inspection_failed|违规|敏感"
)
KEY_OR_MODEL_SAID = re.compile(
    r"api[ _-]?key (is |was )?(not valid|invalid|not found|expired|missing|disabled|reported|required)"
    r"|(invalid|incorrect|missing|expired|unknown|no|valid) api[ _-]?key|api_key_invalid"
    r"|invalid (authentication|x-api-key)"
    r"|unauthori[sz]ed|authentication (failed|error|required)|location is not supported"
    r"|model[^.]{0,80}(does not exist|not exist|not found|is not (a valid|supported|available)|decommissioned)"
    r"|not a valid model|(unknown|invalid) model|model identifier is invalid|end of life"
)
THROTTLED_SAID = re.compile(
    r"rate[ _-]?limit|too many (concurrent )?requests|throttl|(requests|tokens) per (second|minute)|rate exceeded"
    r"|concurren(t|cy) .{0,30}limit|resource (has been )?exhausted"
)
BUSY_SAID = re.compile(
    r"overloaded|at capacity|capacity (has been )?exceeded"
    r"|(server|service|system|engine|model) is (currently |too )?busy"
    r"|too busy|high demand|no available (channel|account|provider|worker|server)|cooling down"
)
BROKEN_SAID = re.compile(
    r"temporarily unavailable|try (again|your request again) later|timed out|request timeout|bad gateway"
    r"|upstream (connect|error|(request|server|service|provider) (error|failed|timeout|unavailable))"
    r"|connection (error|reset|refused)"
    r"|(internal|unexpected) (server )?error|(model|server) is (still |currently )?(loading|starting)"
    r"|service unavailable"
)

OVERLOADED = re.compile(
    r"overloaded|slow_down|^unavailable$|capacity_?exceeded|not_?ready|insufficient_system_resource"
)
THROTTLED = re.compile(r"rate_?limit|too_?many_?requests|resource_?exhausted|throttl|concurrency_?limit")
KEY_OR_MODEL = re.compile(
    r"^authentication|^permission|^not_found|^(invalid|incorrect|expired)_?api_?key|^api_key"
    r"|^model_?not_?(found|exist)"
    r"|^unauthenticated|^invalid_?authentication|^notfounderror|^deploymentnotfound|^account_deactivated"
    r"|model_decommissioned|^access_?denied|^unrecognizedclient|^expiredtoken|^resource_?not_?found|^unauthori[sz]ed"
)
SERVER = re.compile(
    r"server_?error|api_?(connection_?)?error|timeout|timed_out|^internal|unavailable|deadline_exceeded"
    r"|^aborted$|^cancell?ed$"
    r"|upstream|gateway|provider_(error|returned)|generation|stream_?error|model_?error|connection_?error"
    r"|inference_?error"
    r"|engine_?error|failed_?dependency"
)
REQUEST = re.compile(r"invalid_?request|bad_?request|invalid_argument|unprocessable|validation|invalid_value")
