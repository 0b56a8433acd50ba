"""How soon flags were on a screen, accepted and closed: per site and week, against the programme's target."""

from datetime import date, timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.timezone import localdate
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from companion.models import Site
from ops.access import get_access, staff_only
from ops.people.disclosures import SUPPRESSED_BELOW, count_disclosures
from ops.staff.shown import cut_list
from ops.supervision.figures import STEPS, WEEKS, SiteFlags, StepTimes, read_weeks


@require_safe
@staff_only
def flag_times(request: HttpRequest) -> HttpResponse:
    """The last weeks of the reader's sites, or of the one that `?site=` names, the newest first, and how often people
    there were told what it is.

    Numbers alone: no person, no kind, no word.
    """
    today = localdate()
    target_s: int = settings.COMPANION_FLAG_TARGET_S
    own = list(Site.objects.filter(pk__in=get_access(request.user).sites).order_by("name", "id"))
    chosen = next((one for one in own if one.slug == request.GET.get("site")), None)
    sites = [one.pk for one in own if chosen in (None, one)]
    weeks, more_weeks = cut_list(read_weeks(sites, since=find_first_monday(today), target_s=target_s))
    counted = [
        (year, one) for year in (today.year, today.year - 1) for one in count_disclosures(year, sites=sites)
    ]
    told, more_told = cut_list(counted)
    context = {
        "sites": own,
        "chosen": chosen,
        "weeks": [_row(week) for week in weeks],
        "more_weeks": more_weeks,
        "target_s": target_s,
        "told": told,
        "more_told": more_told,
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
        return gettext("{count} s").format(count=f"{value:.0f}")
    if value < 7_200:
        return gettext("{count} min").format(count=f"{value / 60:.0f}")
    return gettext("{count} h").format(count=f"{value / 3_600:.1f}")
