"""Where every page lives."""

import time
from functools import cache

from django.conf import settings
from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, include, path

from ops import views
from ops.desk import views as desk
from ops.fresh import Fresh
from ops.project import wiring
from ops.status import Settings, status


def _is_ready() -> bool:
    from ops.project import asgi

    return bool(asgi.running) and asgi.process().is_ready


@cache
def _facts() -> Settings:
    house, routing = wiring.build_house(), wiring.build_routing()
    return Settings(
        ceiling=house.ceiling,
        wait_ceiling_s=settings.COMPANION_WAIT_CEILING_S,
        hold_s=settings.COMPANION_HOLD_S,
        persona={"name": house.character, "version": house.persona_version},
        preset_ceiling=routing.presets["normal"].ceiling,
        routing={"version": 0, "preset": "normal", "chain": list(routing.presets["normal"].chain)},
    )


_figures = Fresh(lambda: status(_facts()), for_s=1.0, now=time.monotonic)

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", views.healthz),
    path("readyz", views.readyz, {"is_ready": _is_ready}),
    path("ops/status.json", views.status_json, {"facts": _facts}),
    path("metrics", views.metrics, {"figures": _figures}),
    path("ops/", desk.home, {"facts": _facts}, name="staff_home"),
    path("ops/", include("ops.desk.urls")),
    path("staff/sign-in/", desk.SignIn.as_view(tries=wiring.build_tries), name="staff_sign_in"),
    path("staff/sign-out/", LogoutView.as_view(next_page="/staff/sign-in/"), name="staff_sign_out"),
    path("", include("companion.urls"), {"front": wiring.build_front}),
]
