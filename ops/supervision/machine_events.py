"""What happens on shared machines: on the audit record, and as an alert where a cookie was copied."""

from companion.machines.events import MachineEvent, MachineEventKind
from ops import audit
from ops.alerts.kinds import AlertKind
from ops.alerts.rows import raise_alert

WHO = "a machine"
"""Stands where the name of an account would: the person in front of the machine has none."""

_NAMES = {
    MachineEventKind.COPIED: audit.MACHINE_COPIED,
    MachineEventKind.PAIRED: audit.MACHINE_CONNECTED,
    MachineEventKind.SAID_YES: audit.SAID_YES,
    MachineEventKind.SAID_NO: audit.SAID_NO,
    MachineEventKind.GONE: audit.OFFER_GONE,
}


def note_machine_event(event: MachineEvent) -> None:
    """Record an event, in its transaction. Staff of the site and operators are alerted of a copy."""
    note = f"machine {event.machine}" + (f", offer {event.offer}" if event.offer else "")
    audit.record(_NAMES[event.kind], who=WHO, about=event.participant, note=note)
    if event.kind is MachineEventKind.COPIED:
        raise_alert(AlertKind.MACHINE_COPIED, event.name, site=event.site)
