"""The ASGI application: pages by Django, sockets by the process that `ops.project.web` started."""

import os
from collections.abc import Awaitable, Callable
from typing import Any

from channels.routing import ProtocolTypeRouter
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.urls import path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ops.project.settings")
_django: Callable[..., Awaitable[None]] = get_asgi_application()


async def pages(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Django, told what it cannot see behind a proxy: that people call it over HTTPS.

    Its check of forms compares origins with the scheme of the request.
    """
    scheme = "https" if settings.SESSION_COOKIE_SECURE else scope["scheme"]
    await _django({**scope, "scheme": scheme}, receive, send)


# Models may be imported only now.
from companion.machines.consumers import MachineConsumer  # noqa: E402
from companion.machines.screens import MachineScreens  # noqa: E402
from companion.process import WebProcess  # noqa: E402
from companion.sockets import build_socket_application  # noqa: E402
from ops.project.request_reference import ReferencedRequests  # noqa: E402
from ops.project.uncancelled import UncancelledRequests  # noqa: E402
from ops.staff.urls import build_socket_patterns  # noqa: E402
from ops.status.live import LiveStatus  # noqa: E402
from ops.supervision.acting import DeskActs  # noqa: E402
from ops.supervision.desk import LiveDesk  # noqa: E402

running: list[WebProcess] = []
watched: list[LiveStatus] = []
desks: list[tuple[LiveDesk, DeskActs]] = []
machines: list[MachineScreens] = []


def process() -> WebProcess:
    """The process that serves here."""
    return running[0]


def live() -> LiveStatus:
    """The figures that staff watch here."""
    return watched[0]


def desk() -> tuple[LiveDesk, DeskActs]:
    """The screens of staff here, and what answers them."""
    return desks[0]


def machine_screens() -> MachineScreens:
    """The waiting pages of shared machines here."""
    return machines[0]


_machine = path("ws/machine/", MachineConsumer.as_asgi(screens=machine_screens))
_staff = build_socket_patterns(live=live, desk=desk, cookie_name=settings.SESSION_COOKIE_NAME)
requests = UncancelledRequests(pages)
application = ReferencedRequests(
    ProtocolTypeRouter({"http": requests, "websocket": build_socket_application(process, _machine, *_staff)}),
    is_behind_proxy=settings.COMPANION_BEHIND_PROXY,
)
