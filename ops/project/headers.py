"""Headers that every response has, beside those of Django's and django-csp's middleware."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

FEATURES = (
    "accelerometer",
    "browsing-topics",
    "camera",
    "clipboard-read",
    "display-capture",
    "encrypted-media",
    "fullscreen",
    "geolocation",
    "gyroscope",
    "hid",
    "idle-detection",
    "local-fonts",
    "magnetometer",
    "microphone",
    "midi",
    "payment",
    "picture-in-picture",
    "publickey-credentials-get",
    "screen-wake-lock",
    "serial",
    "storage-access",
    "usb",
    "window-management",
    "xr-spatial-tracking",
)
"""What no page may ask a browser for. `autoplay` is not among them: the staff's bell sounds without a new press."""
STRICT_HEADERS = {
    "Permissions-Policy": ", ".join(f"{feature}=()" for feature in FEATURES),
    "Cross-Origin-Resource-Policy": "same-origin",
    # A response without a rule of its own may contain words: only static files may be kept.
    "Cache-Control": "private, no-store",
}


class StrictHeaders:
    """Middleware: adds each of STRICT_HEADERS that a response does not set itself."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        for name, value in STRICT_HEADERS.items():
            response.headers.setdefault(name, value)
        return response
