"""The screens of staff, and the waiting pages of shared machines."""

from companion.machines.screens import MachineScreens
from companion.process import WebProcess
from companion.supervision.acts import StaffActs
from ops.character import get_languages
from ops.project.wiring.pools import DESK_CONNECTIONS, MACHINE_CONNECTIONS, build_pool
from ops.socket_access import StaffSessions
from ops.supervision.acting import DeskActs
from ops.supervision.desk import LiveDesk
from ops.supervision.record import record_act


def build_desk(process: WebProcess) -> tuple[LiveDesk, DeskActs]:
    """The screens of staff on one process. Its pool is its own: supervision takes no connection from a reply."""
    pool = build_pool("companion desk", max_size=DESK_CONNECTIONS, plans_once=True)
    acts = StaffActs(
        pool,
        process.policy,
        process=process.id,
        record=record_act,
        run_gate=process.ledger.run_gate,
        on_change=process.on_staff_act,
    )
    desk = LiveDesk(pool, StaffSessions(pool), acts, process=process.id)
    process.add_listener(desk.on_notification)
    answers = DeskActs(
        desk,
        acts,
        history=process.history,
        watchers=process.watchers,
        note_writing=lambda conversation, staff: process.safety.note_writing(conversation, staff=staff),
    )
    return desk, answers


def build_machine_screens(process: WebProcess) -> MachineScreens:
    """The waiting pages of shared machines on one process. They read little, so few connections are enough."""
    screens = MachineScreens(build_pool("companion machines", max_size=MACHINE_CONNECTIONS), get_languages())
    process.add_listener(screens.on_notification)
    return screens
