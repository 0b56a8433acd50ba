"""What a web process does with each notification: the rows it names have changed, and turns or pages here follow."""

from collections.abc import Callable
from uuid import UUID

from companion.consumers import SocketRegistry
from companion.lane_follower import LaneFollower
from companion.notifications import (
    BreakersChanged,
    ControlChanged,
    FlagsChanged,
    KeptChanged,
    NeedsChanged,
    Notification,
    SelectionChanged,
    StaffPausesChanged,
    TurnsChanged,
    TurnsClaimed,
    VisitsEnded,
    VisitsLocked,
    WaitingOffered,
    WritingNoticed,
)
from companion.runner import Runner
from companion.supervision.pause_follower import PauseFollower
from companion.supervision.safety_turns import SafetyTurns
from companion.supervision.writing import WritingRelay
from companion.visits.ends import EndReason
from companion.waiting_room import Admission
from companion.watchers import Watchers


class NotificationHandler:
    """Pass each notification to the part it concerns, then to every one of `listeners`.

    `on_selection` is given the version of every selection that is stored.
    """

    def __init__(
        self,
        *,
        process: UUID,
        runner: Runner,
        watchers: Watchers,
        sockets: SocketRegistry,
        safety: SafetyTurns,
        lanes: LaneFollower,
        staff_pauses: PauseFollower,
        writing: WritingRelay,
        sweep_soon: Callable[[], None],
        on_selection: Callable[[int], None],
    ) -> None:
        self._process = process
        self._runner = runner
        self._watchers = watchers
        self._sockets = sockets
        self._safety = safety
        self._lanes = lanes
        self._staff_pauses = staff_pauses
        self._writing = writing
        self._sweep_soon = sweep_soon
        self._on_selection = on_selection
        self.listeners: list[Callable[[Notification], None]] = []

    def handle(self, notification: Notification) -> None:
        """Follow what a notification says has changed."""
        match notification:
            case TurnsChanged():
                self._on_turns_changed(notification)
            case BreakersChanged():
                self._lanes.check_soon()
            case KeptChanged():
                self._watchers.mark_kept_changed(notification.kept)
            case ControlChanged():
                self._watchers.mark_entries_changed(notification.control)
            case FlagsChanged():
                self._safety.note_flags_changed(flag for flag, _ in notification.flags)
            case WritingNoticed():
                self._writing.note(notification)
            case VisitsEnded():
                self._on_visits_ended(notification)
            case VisitsLocked():
                # A reply under way goes on: its participant finds it on coming back.
                self._sockets.close_visits(set(notification.locked), EndReason.IDLE)
            case NeedsChanged():
                self._sockets.send_looks(set(notification.needs))
            case SelectionChanged():
                self._on_selection(notification.routing)
            case StaffPausesChanged():
                self._staff_pauses.check_soon()
            case WaitingOffered():
                if notification.by != self._process:
                    self._sweep_soon()
            case TurnsClaimed():
                if notification.by != self._process:
                    for turn in notification.claimed:
                        self._runner.abandon(turn)
        for listener in self.listeners:
            listener(notification)

    def _on_turns_changed(self, notification: TurnsChanged) -> None:
        if notification.by == self._process:
            return
        for row in notification.admitted:
            admission = Admission.from_row(row)
            if admission.owner == self._process:
                self._runner.admit(admission)
        for turn in notification.ended:
            self._runner.abandon(turn)
        self._watchers.mark_changed(notification.changed)

    def _on_visits_ended(self, notification: VisitsEnded) -> None:
        ended = set(notification.visits)
        self._sockets.close_visits(ended, notification.reason)
        # The participant of a visit that has moved, or made room for another's, reads the reply elsewhere.
        if notification.reason not in (EndReason.MOVED, EndReason.REPLACED):
            self._runner.stop_visits(ended)
        elif notification.moved_to is not None:
            self._runner.move_turns(ended, notification.moved_to)
