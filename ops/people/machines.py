"""Shared machines of sites: pair, print a pairing code, rename, withdraw, list. Every change is recorded."""

from collections.abc import Collection, Iterator
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext

from companion.machines import pairing
from companion.machines.models import Machine
from companion.machines.pairing import PairingRefusal
from companion.machines.registry import end_offers
from companion.machines.tokens import format_code
from companion.models import Site
from companion.visits.leaving import end_visits_on_machine
from ops import audit, names
from ops.changes import ChangeRefused, ChangeResult
from ops.people import lookup
from ops.text import escape_controls, format_time

MAX_NAME_CHARS = 60
MAX_LISTED = 500


@transaction.atomic
def pair_machine(site: int, name: str, code: str, *, by: str, note: str = "") -> ChangeResult:
    """The browser that shows this code becomes a machine of the site. Raises ChangeRefused."""
    title = clean_machine_name(name)
    machine = pairing.pair(code, site=site, name=title, by=by)
    if machine is PairingRefusal.NO_SUCH_CODE:
        raise ChangeRefused(
            gettext(
                "No screen shows this code now. A code is good for ten minutes and once: look at the screen again."
            )
        )
    if isinstance(machine, PairingRefusal):
        raise _refuse_taken(title)
    _record(audit.PAIRED_MACHINE, machine, by=by, note=note)
    return ChangeResult(
        sentence=gettext(
            "{machine} is a machine of {site} now. Its screen shows it within some seconds."
        ).format(machine=escape_controls(machine.name), site=escape_controls(machine.site.name))
    )


@transaction.atomic
def add_machine(slug: str, name: str, *, code: str | None, by: str) -> ChangeResult:
    """A machine of a site: by the code of its screen, or with a new code that is typed there. Raises ChangeRefused."""
    site = lookup.get_site(slug)
    note = audit.format_command_note()
    if code is not None:
        return pair_machine(site.pk, name, code, by=by, note=note)
    title = clean_machine_name(name)
    made = pairing.print_code(site=site.pk, name=title, by=by)
    if isinstance(made, PairingRefusal):
        raise _refuse_taken(title)
    machine, printed = made
    _record(audit.PAIRED_MACHINE, machine, by=by, note=f"code printed, {note}")
    return ChangeResult(
        sentence=f"Open /machine/ on {escape_controls(machine.name)}, choose For staff, and type this code within ten "
        "minutes.",
        secret=format_code(printed),
    )


@transaction.atomic
def rename_machine(machine: UUID, name: str, *, sites: Collection[int], by: str) -> ChangeResult:
    """Give a machine another name. Raises ChangeRefused."""
    title, row = clean_machine_name(name), _lock(machine, sites)
    if row.name == title:
        return ChangeResult(
            sentence=gettext("Its name was {name} before.").format(name=escape_controls(title)), is_new=False
        )
    try:
        with transaction.atomic():
            row.name = title
            row.save(update_fields=["name"])
    except IntegrityError:
        raise _refuse_taken(title) from None
    _record(audit.RENAMED_MACHINE, row, by=by)
    return ChangeResult(sentence=gettext("Its name is {name} now.").format(name=escape_controls(title)))


@transaction.atomic
def withdraw_machine(machine: UUID, *, sites: Collection[int], by: str, note: str = "") -> ChangeResult:
    """A machine opens no visit any more. Its visit ends, and its screen says so. Raises ChangeRefused."""
    row = _lock(machine, sites, withdrawn=True)
    if row.withdrawn_at is not None:
        return ChangeResult(
            sentence=gettext("{name} was withdrawn before.").format(name=escape_controls(row.name)),
            is_new=False,
        )
    Machine.objects.filter(pk=row.pk).update(withdrawn_at=Now(), withdrawn_by=by[:150])
    end_offers(row.pk)
    ended = end_visits_on_machine(row.pk)
    _record(
        audit.WITHDREW_MACHINE,
        row,
        by=by,
        note=audit.join_note(f"visits ended {ended}", note),
    )
    return ChangeResult(
        sentence=gettext("{name} is withdrawn and opens no visit; visits ended: {count}.").format(
            name=escape_controls(row.name), count=ended
        )
    )


@transaction.atomic
def find_machine(slug: str, name: str) -> Machine:
    """The machine of this name at a site, which is in use. Raises ChangeRefused."""
    site = lookup.get_site(slug)
    found = Machine.objects.filter(site_id=site.pk, name__iexact=clean_machine_name(name), withdrawn_at=None)
    machine = found.first()
    if machine is None:
        known = ", ".join(_list_names(site)) or "none"
        raise ChangeRefused(
            f"{escape_controls(site.name)} has no machine {escape_controls(name)}. There are: {known}."
        )
    return machine


def list_machines() -> Iterator[str]:
    """One line for each machine that is in use, by site and name, at most `MAX_LISTED`; then whether there are more."""
    machines = Machine.objects.filter(withdrawn_at=None).select_related("site")
    for place, machine in enumerate(machines.order_by("site__slug", "name")[: MAX_LISTED + 1]):
        if place == MAX_LISTED:
            yield f"These are the first {MAX_LISTED} by site and name; there are more."
            return
        name = escape_controls(machine.name)
        yield f"{machine.site.slug}  {name}  {describe_state(machine)}, paired by {escape_controls(machine.paired_by)}"


def describe_state(machine: Machine) -> str:
    """Whether a machine can open visits, in words."""
    if machine.copied_at is not None:
        return "its cookie was copied; pair it again"
    if not machine.token_hash:
        return "waits for its code"
    return f"last seen {format_time(machine.seen_at)}"


def clean_machine_name(typed: str) -> str:
    """The name of a machine as it is stored. Raises ChangeRefused."""
    return names.clean_name(typed, whose=gettext("The name of a machine"), holds=MAX_NAME_CHARS)


def _list_names(site: Site) -> list[str]:
    machines = Machine.objects.filter(site_id=site.pk, withdrawn_at=None).order_by("name")
    return [escape_controls(name) for name in machines.values_list("name", flat=True)[:MAX_LISTED]]


def _lock(machine: UUID, sites: Collection[int], *, withdrawn: bool = False) -> Machine:
    rows = Machine.objects.select_for_update(of=("self",), no_key=True).select_related("site")
    row = rows.filter(pk=machine, site_id__in=sites).first()
    if row is None or (row.withdrawn_at is not None and not withdrawn):
        raise ChangeRefused(gettext("There is no such machine at your sites."))
    return row


def _refuse_taken(name: str) -> ChangeRefused:
    return ChangeRefused(
        gettext(
            "A machine of the site is named {name} and is open at this moment. Close its page and wait "
            "two minutes, or choose another name."
        ).format(name=escape_controls(name))
    )


def _record(what: str, machine: Machine, *, by: str, note: str = "") -> None:
    facts = audit.join_note(f"machine {machine.pk}", f"site {machine.site_id}", note)
    audit.record(what, who=by, note=facts)
