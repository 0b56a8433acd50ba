"""The audit record as a page: searched by person, by who, by what and by time. The search is itself on record."""

from datetime import UTC, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from companion.ids import parse_id
from ops import audit
from ops.access import StaffAccess, get_access, staff_only
from ops.staff.desk_queries import find_people
from ops.supervision.record_search import WHATS, RecordPage, RecordQuery, list_whats, search_record


class RecordForm(forms.Form):
    """What is looked for. The template holds its labels."""

    person = forms.CharField(required=False, max_length=100)
    who = forms.CharField(required=False, max_length=150)
    what = forms.ChoiceField(required=False, choices=[("", ""), *((what, what) for what in sorted(WHATS))])
    since = forms.DateField(required=False)
    until = forms.DateField(required=False)


@require_safe
@staff_only
def record(request: HttpRequest) -> HttpResponse:
    """The form, and what was found once it was sent."""
    access = get_access(request.user)
    form = RecordForm(request.GET)
    context: dict[str, Any] = {
        "form": form,
        "whats": list_whats(),
        "here": "record",
        "is_all": access.is_operator,
    }
    if "who" in request.GET and form.is_valid():
        wanted = form.cleaned_data
        query = RecordQuery(
            sites=None if access.is_operator else access.sites,
            people=_find_ids(wanted["person"], access) if wanted["person"] else None,
            who=wanted["who"],
            what=wanted["what"],
            since=_midnight(wanted["since"]),
            until=_midnight(wanted["until"], days=1),
            before=parse_id(request.GET.get("before")),
            named_sites=access.supervised,
        )
        page = search_record(query)
        _record_search(request, query, page)
        kept = {name: request.GET[name] for name in form.fields if request.GET.get(name)}
        context |= {"page": page, "again": urlencode({"who": "", **kept})}
    return render(request, "ops/record.html", context)


def _find_ids(person: str, access: StaffAccess) -> tuple[int, ...]:
    """The participants of the reader's own sites who have this name, and the one who has this number."""
    ids = {found["participant"] for found in find_people(person, access, is_whole_name=True)}
    if (number := parse_id(person)) is not None:
        ids.add(number)
    return tuple(sorted(ids))


def _record_search(request: HttpRequest, query: RecordQuery, page: RecordPage) -> None:
    used = [name for name in ("people", "who", "what", "since", "until") if getattr(query, name)]
    about = query.people[0] if query.people and len(query.people) == 1 else None
    note = (
        f"by {', '.join(used) or 'nothing'}; found {len(page.entries)}{' and more' if page.further else ''}"
    )
    audit.record(audit.SEARCHED_RECORD, who=request.user.get_username(), about=about, note=note)


def _midnight(day: Any, *, days: int = 0) -> datetime | None:
    return None if day is None else datetime.combine(day, time(), UTC) + timedelta(days=days)
