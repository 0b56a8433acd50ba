"""How soon flags were on a screen, accepted and closed: per site and week, against the programme's target."""

from datetime import date, timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.timezone import localdate
from django.views.decorators.http import require_safe

from ops.access import get_access, staff_only
from ops.people.disclosures import SUPPRESSED_BELOW, count_disclosures
from ops.supervision.figures import STEPS, WEEKS, SiteFlags, StepTimes, read_weeks


@require_safe
@staff_only
def flag_times(request: HttpRequest) -> HttpResponse:
    """The last weeks of the reader's sites, the newest first, and how often people there were told what it is.

    Numbers alone: no person, no kind, no word.
    """
    today = localdate()
    target_s: int = settings.COMPANION_FLAG_TARGET_S
    sites = sorted(get_access(request.user).sites)
    weeks = read_weeks(sites, since=find_first_monday(today), target_s=target_s)
    context = {
        "weeks": [_row(week) for week in weeks],
        "target_s": target_s,
        "years": [(year, count_disclosures(year, sites=sites)) for year in (today.year, today.year - 1)],
        "suppressed_below": SUPPRESSED_BELOW,
        "here": "shift",
        "is_below": True,
    }
    return render(request, "ops/flag_times.html", context)


def find_first_monday(today: date) -> date:
    """The Monday on which the first of the weeks begins that the page shows."""
    return today - timedelta(days=today.weekday(), weeks=WEEKS - 1)


def _row(week: SiteFlags) -> dict[str, object]:
    share = round(100 * week.in_target / week.count) if week.count else 0
    return {
        "week": week,
        "share": share,
        "steps": [
            {
                "name": step,
                **{name: _seconds(week.times[step], name) for name in ("p50_s", "p95_s", "worst_s")},
            }
            for step in STEPS
        ],
    }


def _seconds(times: StepTimes, name: str) -> str:
    value = getattr(times, name)
    if value is None:
        return "–"
    # A clock that was set back between two steps makes no time negative.
    value = max(0.0, value)
    if value < 120:
        return f"{value:.0f} s"
    return f"{value / 60:.0f} min" if value < 7_200 else f"{value / 3_600:.1f} h"
