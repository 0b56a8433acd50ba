"""What a session may change back: the values before each of its last changes to one participant's needs."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib.sessions.backends.base import SessionBase

from companion.needs import store
from companion.needs.choices import Value
from companion.needs.models import Needs

_KEY = "needs_before"
MAX_STEPS = 20


class UndoSteps:
    """The changes of a session that can be undone, the last one first. Another participant's are forgotten."""

    def __init__(self, session: SessionBase, participant: int) -> None:
        self._session = session
        self._participant = participant
        kept: dict[str, Any] = session.get(_KEY) or {}
        is_own = kept.get("about") == participant
        self._steps: list[dict[str, Value] | None] = list(kept["steps"]) if is_own else []
        self._at: str = kept["at"] if is_own else ""

    def can_undo(self, needs: Needs | None) -> bool:
        """Whether the record is as the last change of this session has left it."""
        at = needs.set_at.isoformat() if needs else ""
        return bool(self._steps) and at == self._at

    def add(self, before: Needs | None) -> None:
        """Remember what was recorded before a change. Call it after the change."""
        values = None if before is None else dict(store.list_values(before))
        kept = self._steps if before is not None and before.set_at.isoformat() == self._at else []
        self._save([*kept, values][-MAX_STEPS:])

    def undo(self, *, by: str = "") -> bool:
        """Store what was before the last change. False: there is none, or the record was changed elsewhere since."""
        if not self._steps or not self._at:
            return False
        values: Mapping[str, Value] | None = self._steps[-1]
        at = datetime.fromisoformat(self._at)
        is_done = store.restore_needs(self._participant, values, unchanged_since=at, by=by)
        self._save(self._steps[:-1] if is_done else [])
        return is_done

    def _save(self, steps: list[dict[str, Value] | None]) -> None:
        needs = store.find_needs(self._participant)
        self._steps, self._at = steps, needs.set_at.isoformat() if needs else ""
        self._session[_KEY] = {"about": self._participant, "at": self._at, "steps": self._steps}
