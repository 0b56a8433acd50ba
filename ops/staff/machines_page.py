"""The machines of a member of staff's sites: pairing one by the code on its screen, names, withdrawal."""

from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from companion.machines.models import Machine
from companion.models import Site
from companion.throttle import SignInThrottle
from ops import audit
from ops.access import StaffAccess, form_on, get_access, staff_only
from ops.catalogue_marks import gettext_noop
from ops.changes import ChangeRefused
from ops.people import machines as machine_changes
from ops.staff import desk_text
from ops.staff.machine_queries import find_machine, list_choices, list_machines, list_offers
from ops.staff.name_search import clean_typed, read_name, record_search
from ops.supervision.machines import MAX_MACHINES, MachineView

TOO_MANY_CODES = gettext_noop("Too many codes were entered. Wait ten minutes, and look at the screen again.")


@require_http_methods(["GET", "HEAD", "POST"])
@staff_only
def machines(request: HttpRequest, throttle: Callable[[], SignInThrottle]) -> HttpResponseBase:
    """Every machine of the reader's own sites, and the form that pairs one more."""
    access = get_access(request.user)
    sites = list(Site.objects.filter(pk__in=access.supervised).order_by("name"))
    refused = ""
    if request.method == "POST":
        try:
            messages.success(request, _pair(request, access, sites, throttle()))
            return redirect("staff_machines")
        except ChangeRefused as refusal:
            refused = str(refusal)
            audit.record_refusal(request.user.get_username(), note="pairing code")
    context = {
        "machines": [describe(one) for one in list_machines(access.supervised)],
        "max_listed": MAX_MACHINES,
        "sites": sites,
        "refused": refused,
        "typed": {name: _typed(request, name) for name in ("code", "name", "site")} if refused else {},
        "here": "machines",
    }
    return render(request, "ops/machines.html", context, status=400 if refused else 200)


@require_http_methods(["GET", "HEAD"])
@staff_only
def machine(request: HttpRequest, machine: UUID) -> HttpResponseBase:
    """One machine: who is on it, the people for whom a visit can be opened, its name."""
    return render_machine(request, machine)


@form_on("staff_machines")
@staff_only
def rename(request: HttpRequest, machine: UUID) -> HttpResponseBase:
    """Give a machine another name."""
    access = get_access(request.user)
    try:
        result = machine_changes.rename_machine(
            machine, _typed(request, "name"), sites=access.supervised, by=request.user.get_username()
        )
    except ChangeRefused as refusal:
        return render_machine(request, machine, refused=str(refusal))
    messages.success(request, result.sentence)
    return redirect("staff_machine", machine)


@form_on("staff_machines")
@staff_only
def withdraw(request: HttpRequest, machine: UUID) -> HttpResponseBase:
    """Take a machine out of use: its visit ends."""
    access = get_access(request.user)
    try:
        result = machine_changes.withdraw_machine(
            machine, sites=access.supervised, by=request.user.get_username()
        )
    except ChangeRefused as refusal:
        return render_machine(request, machine, refused=str(refusal))
    messages.success(request, result.sentence)
    return redirect("staff_machines")


def render_machine(request: HttpRequest, machine: UUID, *, refused: str = "") -> HttpResponse:
    """The page of a machine, with the reason of a refusal. Http404 for one of other sites; the try is recorded."""
    access = get_access(request.user)
    view = find_machine(machine, access.supervised)
    if view is None:
        if Machine.objects.filter(pk=machine).exclude(site__in=access.supervised).exists():
            audit.record_refusal(request.user.get_username(), note=f"machine {machine}")
        raise Http404
    name = read_name(request)
    choices = list_choices(view.site, name)
    if name:
        record_search(request, found=len(choices), where=f"machine {machine}")
    context = {
        "machine": describe(view),
        "offers": [desk_text.with_offer_words(item) for item in list_offers({view.site}, machine=machine)],
        "choices": choices,
        "name": name,
        "refused": refused,
        "words_of_offers": desk_text.offer_words(),
        "here": "machines",
        "is_below": True,
    }
    return render(request, "ops/machine.html", context, status=400 if refused else 200)


def describe(view: MachineView) -> dict[str, object]:
    """A machine with its state in words."""
    return {"machine": view, "says": gettext(desk_text.MACHINE_STATES[view.state])}


def _pair(request: HttpRequest, access: StaffAccess, sites: list[Site], throttle: SignInThrottle) -> str:
    slug = _typed(request, "site")
    site = sites[0] if len(sites) == 1 else next((one for one in sites if one.slug == slug), None)
    if site is None:
        raise ChangeRefused(gettext("Choose the site that the machine belongs to."))
    if not throttle.count_guess(staff=access.user or 0, site=site.pk):
        raise ChangeRefused(gettext(TOO_MANY_CODES))
    result = machine_changes.pair_machine(
        site.pk, _typed(request, "name"), _typed(request, "code"), by=request.user.get_username()
    )
    return result.sentence


def _typed(request: HttpRequest, name: str) -> str:
    return clean_typed(request.POST.get(name, ""))
