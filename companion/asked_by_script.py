"""Whether a script of a page asks, which reads JSON, or the page's form, which is led on."""

from django.http import HttpRequest


def is_asked_by_script(request: HttpRequest) -> bool:
    """Whether the answer is read by a script of the page."""
    return request.headers.get("Accept", "").startswith("application/json")
