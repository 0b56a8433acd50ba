"""PURE. The frames that staff pages are sent, version 1 of `/ws/staff/`."""

from collections.abc import Iterable, Mapping
from typing import Any

from companion.supervision.flag_views import FlagStepView, FlagView
from companion.supervision.pauses import PauseView

VERSION = 1
PONG: dict[str, Any] = {"type": "pong"}


def flag(view: FlagView, *, with_name: bool = True) -> dict[str, Any]:
    """A flag as it is now. `owner` and `handed_to` are ids of accounts, or null. Holds no participant's text."""
    return {
        "type": "flag",
        "id": view.id,
        "tier": view.tier,
        "kind": view.kind,
        "source": view.source,
        "rule": view.rule,
        "about_staff": view.about_staff,
        "conversation": view.conversation,
        "participant": view.participant,
        "name": view.participant_name if with_name else "",
        "site": view.site,
        "site_name": view.site_name,
        "turn": view.turn,
        "count": view.count,
        "state": view.state,
        "opened_at": view.opened_at.isoformat(),
        "last_at": view.last_at.isoformat(),
        "seen_at": view.seen_at.isoformat() if view.seen_at else None,
        "owner": view.owner,
        "owner_name": view.owner_name,
        "accepted_at": view.accepted_at.isoformat() if view.accepted_at else None,
        "handed_to": view.handed_to,
        "handed_to_name": view.handed_to_name,
        "closed_by_name": view.closed_by_name,
        "outcome": view.outcome,
        "stage": view.stage,
    }


def closed_flag(flag_id: int) -> dict[str, Any]:
    """A flag that is closed, and whose row may be gone."""
    return {"type": "flag", "id": flag_id, "state": "closed"}


def step(view: FlagStepView) -> dict[str, Any]:
    """One step of a flag, with the note of the member of staff."""
    return {
        "flag": view.flag,
        "at": view.at.isoformat(),
        "what": view.what,
        "who": view.who,
        "note": view.note,
    }


def pause(view: PauseView) -> dict[str, Any]:
    """A pause in force."""
    return {
        "scope": view.scope,
        "id": view.about,
        "reason": view.reason,
        "by": view.by_name,
        "at": view.at.isoformat(),
    }


def people(changed: Iterable[Mapping[str, Any]], gone: Iterable[int]) -> dict[str, Any]:
    """People who came or whose item changed, and the conversations of those who left."""
    return {"type": "people", "changed": list(changed), "gone": sorted(gone)}


def done(act: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The act is stored."""
    return {"type": "done", "act": act, **facts}


def refused(act: str, code: str, text: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Nothing was changed. `text` is a sentence for the person."""
    return {"type": "refused", "act": act, "code": code, "text": text, **facts}


def problem(code: str, text: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """A frame that is no known act. The socket stays open."""
    return {"type": "problem", "code": code, "text": text, **facts}
