"""What may answer the last request of a page in place of the service."""

import json
from typing import Any

REPEATED = json.dumps(
    {
        "ended": "00000000-0000-4000-8000-000000000000",
        "locked": "00000000-0000-4000-8000-000000000000",
    }
)
ANSWERS: dict[str, dict[str, Any] | None] = {
    "403": {"status": 403, "body": "Forbidden"},
    "401 of a proxy": {"status": 401, "headers": {"WWW-Authenticate": "Negotiate"}},
    "404": {"status": 404, "body": "Not found"},
    "429": {"status": 429, "body": "Slow down"},
    "302": {"status": 302, "headers": {"Location": "/finished/"}},
    "an empty 200": {"status": 200, "body": ""},
    "a sign-in page of a network": {"status": 200, "content_type": "text/html", "body": "<h1>Wi-Fi</h1>"},
    "an answer to another page": {"status": 200, "content_type": "application/json", "body": REPEATED},
    "no network": None,
}
"""None: the request is aborted."""
