"""Every page: the checks of a load balancer, the figures, the staff's pages, the participants' pages."""

import time

import psycopg
from asgiref.sync import async_to_sync
from django.urls import URLPattern, URLResolver, include, path

from companion.page_context import HelpNotRaised
from companion.supervision.helplines import HelpAnswer
from ops.project.wiring.pages import build_page_context, build_throttle
from ops.project.wiring.routing import build_routing, build_selector
from ops.project.wiring.status import facts_now
from ops.staff.urls import build_urlpatterns
from ops.status import views
from ops.status.caching import CachedValue
from ops.status.figures import get_status


def _is_ready() -> bool:
    from ops.project import asgi

    return bool(asgi.running) and asgi.process().is_ready


def _raise_help(conversation: int) -> HelpAnswer | None:
    from ops.project import asgi

    try:
        # The flag is raised on the loop of the sockets, by the process's own pool, as the frame `help` does.
        return async_to_sync(asgi.process().raise_help)(conversation)
    except (psycopg.Error, TimeoutError, IndexError) as failure:
        raise HelpNotRaised(type(failure).__name__) from None


handler403 = "ops.staff.error_pages.permission_denied"
handler404 = "ops.staff.error_pages.page_not_found"
handler500 = "ops.staff.error_pages.server_error"

_figures = CachedValue(lambda: get_status(facts_now()), for_s=1.0, now=time.monotonic)

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", views.healthz),
    path("readyz", views.readyz, {"is_ready": _is_ready}),
    path("metrics", views.metrics, {"figures": _figures}),
    path("ops/status.json", views.status_json, {"status_settings": facts_now}),
    *build_urlpatterns(
        status_settings=facts_now,
        routing=build_routing,
        selector=lambda: build_selector(build_routing()),
        throttle=build_throttle,
    ),
    path("", include("companion.urls"), {"context": lambda: build_page_context(_raise_help)}),
]
