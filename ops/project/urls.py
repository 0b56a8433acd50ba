"""Where every page lives."""

import time

from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, include, path

from ops.project import wiring
from ops.staff import dashboard_page as now
from ops.staff import routing_page
from ops.staff import turn_pages as desk
from ops.status import views
from ops.status.caching import Fresh
from ops.status.figures import status


def _is_ready() -> bool:
    from ops.project import asgi

    return bool(asgi.running) and asgi.process().is_ready


handler403 = "ops.staff.error_pages.not_allowed"
handler404 = "ops.staff.error_pages.not_found"
handler500 = "ops.staff.error_pages.fault"

_figures = Fresh(lambda: status(wiring.facts_now()), for_s=1.0, now=time.monotonic)
_routes = {"routing": wiring.build_routing, "selector": lambda: wiring.build_selector(wiring.build_routing())}

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", views.healthz),
    path("readyz", views.readyz, {"is_ready": _is_ready}),
    path("ops/status.json", views.status_json, {"facts": wiring.facts_now}),
    path("metrics", views.metrics, {"figures": _figures}),
    path("ops/", now.home, {"facts": wiring.facts_now}, name="staff_home"),
    path("ops/", include("ops.staff.urls")),
    path("ops/routing/", routing_page.page, _routes, name="staff_routing"),
    path("ops/routing/select/", routing_page.select, _routes, name="staff_routing_select"),
    path("ops/routing/revert/", routing_page.revert, _routes, name="staff_routing_revert"),
    path("ops/alerts/<int:alert>/seen/", routing_page.seen, name="staff_alert_seen"),
    path("staff/sign-in/", desk.SignIn.as_view(throttle=wiring.build_throttle), name="staff_sign_in"),
    path("staff/sign-out/", LogoutView.as_view(next_page="/staff/sign-in/"), name="staff_sign_out"),
    path("", include("companion.urls"), {"context": wiring.build_page_context}),
]
