"""The dashboard, *Right now*: complete as it is served, and all there is where scripts do not run."""

import json
from collections.abc import Callable
from datetime import UTC, datetime

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_safe

from ops import audit
from ops.access import form_on, get_access, operators_only, staff_only
from ops.alerts.rows import acknowledge, list_open_alerts
from ops.backups.reporting import records
from ops.database import fetch_all
from ops.minutes import get_last_hour
from ops.status import frames, held_questions, minutes
from ops.status.figures import StatusSettings, get_status
from ops.status.frames import StatusSnapshot


@require_safe
@staff_only
def dashboard(request: HttpRequest, status_settings: Callable[[], StatusSettings]) -> HttpResponse:
    """The figures of the moment in words, with the last hour as a drawing and as a table."""
    current, hour, access = status_settings(), get_last_hour(), get_access(request.user)
    snapshot = StatusSnapshot(
        figures=get_status(current, hour),
        held=tuple(held_questions.parse_held(fetch_all(held_questions.SELECT_HELD, held_questions.PARAMS))),
        hour=tuple(minutes.build_minutes(hour.minutes)),
        alerts=tuple(list_open_alerts()),
        at=datetime.now(UTC),
    )
    shown = frames.build_dashboard(snapshot, access, turn_url=get_turn_url())
    context = {
        "shown": shown,
        "texts": shown["texts"],
        "hour_json": json.dumps(shown["hour"]),
        "newest_first": shown["hour"][::-1],
        "rules": current.rules,
        "scripted": current.routing.get("scripted", False),
        "weakness": current.routing.get("normal_weakness", ""),
        "here": "dashboard",
        **records.make_page_context(settings.COMPANION_STATE_DIR, snapshot.at),
    }
    return render(request, "ops/dashboard.html", context)


@form_on("staff_dashboard")
@operators_only
def acknowledge_alert(request: HttpRequest, alert: int) -> HttpResponse:
    """An operator has seen an alert. It leaves every page; if its cause is raised again, it comes back."""
    username = request.user.get_username()
    if acknowledge(alert, by=username, at=timezone.now()):
        audit.record(audit.SAW_ALERT, who=username, note=f"alert {alert}")
    page = request.POST.get("next", "")
    # The address comes from a form: follow it only to a page for staff.
    if page.startswith("/ops/") and url_has_allowed_host_and_scheme(page, allowed_hosts=None):
        return HttpResponseRedirect(page)
    return redirect("staff_dashboard")


def get_turn_url() -> str:
    """The address of turn 0, to be filled in with another number."""
    return reverse("staff_turn", args=[0])
