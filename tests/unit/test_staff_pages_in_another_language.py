"""Staff pages in a pseudo-locale, whose words have no Latin letter: whatever has one is in no catalogue (A6).

The pages are drawn from values as their views build them, so that every branch with a text is drawn.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html import unescape
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from django.template.loader import render_to_string
from django.test import override_settings
from django.utils import translation

from companion.supervision.flag_views import FlagView
from companion.supervision.states import FlagKind
from ops.alerts.formatting import format_banner
from ops.alerts.kinds import AlertKind
from ops.alerts.rows import build_view
from ops.backups.reporting.records import DrillRecord
from ops.catalogues import PLURAL, collect_texts, compile_catalogue
from ops.models import Alert
from ops.project.wiring.status import build_facts
from ops.staff import desk_text
from ops.staff.conversation_page import with_words
from ops.staff.machines_page import describe
from ops.staff.people_page import flag_context, person_context
from ops.staff.script_texts import write_script_texts
from ops.status import text
from ops.supervision.machines import MachineView
from ops.supervision.sentences import SENTENCES, explain
from ops.transcripts.text import explain_reason
from ops.transcripts.timeline import TimelineHead
from tests.unit.test_status_text import WELL, figures

PSEUDO = "xx"
AT = datetime(2026, 3, 4, 10, 30, 5, tzinfo=UTC)
# What people typed or gave as names, in letters that are not Latin either.
ROSA, WILLOW, SAM, FRONT, WHY = "Ρόζα", "Ιτιά", "Σαμ", "Σαλόνι", "γιατί"
HEAD = TimelineHead(conversation=7, participant=3, participant_name=ROSA, site=1, site_name=WILLOW)
LETTERS = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "абцдефгхийклмнопярстувшхузАБЦДЕФГХИЙКЛМНОПЯРСТУВШХУЗ",
)
_KEPT = re.compile(r"%\(\w+\)s|\{\w*\}|<code>.*?</code>|<[^>]*>|&\w+;")
_UNSEEN = re.compile(r"<(script|style|svg|code)\b.*?</\1>|<!--.*?-->", re.S)
_SPOKEN = re.compile(r'\b(?:aria-label|aria-description|placeholder|title|alt)="([^"]*)"')
_ELEMENT = re.compile(r"""<(?:"[^"]*"|'[^']*'|[^<>"'])*>""")
_WORD = re.compile(r"[A-Za-z]{2,}")
# The time scale, the months of Django's own catalogue, the character's name, and names of settings and commands.
SAME_EVERYWHERE = re.compile(r"\bUTC\b|\bMar(?:ch)?\b|\bRobin\b|\b[A-Z]+(?:_[A-Z]+)+\b|\bmanage\.py [\w ]+")


def disguise(written: str) -> str:
    """The text in other letters, with its places, tags and code as they are."""
    parts, end = [], 0
    for kept in _KEPT.finditer(written):
        parts += [written[end : kept.start()].translate(LETTERS), kept[0]]
        end = kept.end()
    return "".join([*parts, written[end:].translate(LETTERS)])


def find_words(html: str) -> list[str]:
    """The texts of a page that hold a word in Latin letters: shown, spoken, or handed over to scripts."""
    seen = map(unescape, [*re.split(_ELEMENT, _UNSEEN.sub("", html)), *_SPOKEN.findall(html)])
    return [" ".join(one.split()) for one in seen if _WORD.search(SAME_EVERYWHERE.sub("", one))]


@pytest.fixture(autouse=True, scope="module")
def _in_pseudo_locale(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    texts = {one: PLURAL.join(map(disguise, one.split(PLURAL))) for one in collect_texts()}
    places = tmp_path_factory.mktemp("locale")
    folder = places / PSEUDO / "LC_MESSAGES"
    folder.mkdir(parents=True)
    (folder / "django.mo").write_bytes(compile_catalogue(texts))
    with override_settings(LOCALE_PATHS=[places]), translation.override(PSEUDO):
        yield


def flag(**facts: Any) -> FlagView:
    values: dict[str, Any] = {
        "id": 5,
        "tier": "red",
        "kind": FlagKind.HELP,
        "source": "",
        "rule": "",
        "about_staff": False,
        "conversation": 7,
        "participant": 3,
        "participant_name": ROSA,
        "site": 1,
        "site_name": WILLOW,
        "turn": 9,
        "count": 2,
        "state": "open",
        "opened_at": AT,
        "last_at": AT,
        "seen_at": None,
        "owner": None,
        "owner_name": "",
        "accepted_at": None,
        "handed_to": None,
        "handed_to_name": "",
        "closed_at": None,
        "closed_by_name": "",
        "outcome": "",
        "stage": 0,
    }
    return FlagView(**(values | facts))


def on_every_page(here: str) -> dict[str, Any]:
    """What the context processors give to a page, without a request."""
    alerts = [
        build_view(Alert(id=1, kind=kind, about=WHY, first_at=AT, last_at=AT, count=count, turn=turn))
        for kind in AlertKind
        for count, turn in ((1, None), (3, 9))
    ]
    user = SimpleNamespace(is_staff=True, is_authenticated=True, pk=2, get_username=lambda: SAM)
    bell = {
        "flags": [flag_context(flag()), flag_context(flag(tier="amber", participant_name=""))],
        "more": 2,
        "texts": write_script_texts(),
        "sounds": False,
        "kinds": json.dumps({"tiers": desk_text.translate(desk_text.TIERS)}),
    }
    banner = format_banner(alerts[:40], operator=True)
    return {
        "here": here,
        "user": user,
        "bell": bell,
        "alert_banner": banner,
        "is_operator": True,
        "version": "1",
    }


def person(**facts: Any) -> dict[str, Any]:
    item: dict[str, Any] = {
        "conversation": 7,
        "participant": 3,
        "name": ROSA,
        "site": 1,
        "site_name": WILLOW,
        "machine": FRONT,
        "person": None,
        "quiet": False,
        "paused": None,
        "turn": "idle",
        "tier": "",
        "readers": [SAM],
        "since": AT.isoformat(),
        "last_at": AT.isoformat(),
        "locked": True,
        "page_open": True,
    }
    return person_context(item | facts, desk_text.name_character(desk_text.DOINGS))


def draw_desk(**facts: Any) -> str:
    pause = {"reason": WHY, "by_name": SAM, "at": AT, "name": WILLOW}
    offers = [
        {"id": 1, "state": state, "name": ROSA, "machine_name": FRONT, "by": SAM}
        for state in desk_text.OFFER_STATES
    ]
    people = [
        person(),
        person(turn="waiting", tier="red", name=""),
        person(turn="writing", tier="amber", last_at=None, locked=False),
        person(person={"id": 2, "name": SAM}),
        person(quiet=True),
        person(paused={"scope": "site"}),
    ]
    context = {
        "flags": [
            flag_context(flag(state="accepted", owner=2, owner_name=SAM, handed_to=4, handed_to_name=ROSA))
        ],
        "more_flags": 1,
        "people": people,
        "more_people": 7,
        "pauses": [pause | {"scope": "everyone"}, pause | {"scope": "site"}],
        "reasons": [{"name": SAM, "conversation": 7, "until": AT, "reason": WHY}],
        "has_needs_to_review": True,
        "offers": [desk_text.with_offer_words(offer) for offer in offers],
        "words_of_offers": desk_text.offer_words(),
        "has_sites": True,
        "now": AT,
        "words": json.dumps({"doings": desk_text.name_character(desk_text.DOINGS)}),
    }
    return render_to_string("ops/people.html", on_every_page("people") | context | facts)


def turn_items() -> list[dict[str, Any]]:
    turn = {
        "kind": "turn",
        "place": [1, 0, 0, 0],
        "at": AT.isoformat(),
        "question": WHY,
        "reply": WHY,
        "openings": [],
    }
    states = [state.partition(":") for state in desk_text.TURN_STATES]
    return [
        turn | {"id": number, "state": state, "reason": reason, "line": WHY}
        for number, (state, _, reason) in enumerate(states, start=1)
    ]


def other_items() -> list[dict[str, Any]]:
    at = {"at": AT.isoformat(), "place": [1, 1, 0, 1]}
    steps = [{"what": what, "who": SAM, "note": WHY, "at": AT.isoformat()} for what in desk_text.STEPS]
    raised = {
        "kind": "flag",
        "tier": "amber",
        "about": FlagKind.HELP,
        "steps": steps,
        "owner_name": SAM,
        **at,
    }
    visit = {"kind": "visit", "is_open": False, "is_locked": False, "ended_at": None, "end_reason": "", **at}
    return [
        *(
            {"kind": "entry", "id": 1, "entry": kind, "name": SAM, "text": WHY, **at}
            for kind in desk_text.ENTRIES
        ),
        raised | {"id": 1, "state": "open", "outcome": ""},
        raised | {"id": 2, "state": "accepted", "outcome": "", "handed_to_name": ROSA},
        raised | {"id": 3, "state": "closed", "outcome": "unsure"},
        visit | {"id": "1", "machine": FRONT, "opened_by": SAM},
        visit | {"id": "2", "machine": FRONT, "opened_by": "", "is_open": True},
        visit | {"id": "3", "machine": "", "opened_by": SAM, "is_open": True, "is_locked": True},
        visit
        | {"id": "4", "machine": "", "opened_by": "", "ended_at": AT.isoformat(), "end_reason": "moved"},
        {"kind": "offer", "id": 1, "by": SAM, "machine": FRONT, "state": "expired", **at},
    ]


def draw_person(**facts: Any) -> str:
    views = [
        MachineView(
            id=UUID(int=number),
            name=FRONT,
            site=1,
            site_name=WILLOW,
            seen_at=AT,
            participant=None,
            participant_name=None,
            conversation=None,
            state=state,
        )
        for number, state in enumerate(desk_text.MACHINE_STATES)
    ]
    pause = {"reason": WHY, "by_name": SAM, "at": AT}
    context = {
        "head": HEAD,
        "needs": [],
        "needs_review": AT,
        "needs_overdue": True,
        "items": [with_words(item, HEAD) for item in (*turn_items(), *other_items())],
        "earlier": 4,
        "before": 9,
        "control": {"person": 2, "person_name": SAM},
        "pauses": [pause | {"scope": scope} for scope in ("person", "site", "everyone")],
        "me": 2,
        "my_name": SAM,
        "outcomes": desk_text.translate(desk_text.OUTCOMES),
        "max_chars": 4000,
        "character": desk_text.get_character(),
        "words": json.dumps(desk_text.name_character(desk_text.TURN_STATES)),
        "machines": [describe(view) for view in views],
        "offers": [],
        "words_of_offers": desk_text.offer_words(),
        "opens_visits": True,
    }
    return render_to_string("ops/conversation.html", on_every_page("people") | context | facts)


def draw_dashboard(**facts: Any) -> str:
    known: dict[str, Any] = {
        "processes": [
            WELL,
            WELL | {"beat_age_s": 99.0},
            WELL | {"draining": True, "age_s": 500_000, "in_flight": 2},
        ],
        "persona": {"name": "Robin", "version": "0123"},
        "waiting": 3,
        "oldest_wait_s": 23.0,
        "first_word_ms": {"p50": 800, "p95": 1900},
        "alerts": {"open": {}, "looked_through_s": 999.0, "unsent": 2, "ways": 1},
    }
    shown = figures(**(known | facts))
    texts = text.format_texts(shown, at=AT)
    drill: dict[str, Any] = {"run": "1", "at": AT, "level": "B", "where": WHY, "rows": 12, "source_bytes": 0}
    drills = [
        DrillRecord(
            **drill,
            verdict=verdict,
            restore_s=7_300.0,
            differences=differences,
            as_of=AT - age,
            in_use_doubt=WHY,
        )
        for verdict, differences, age in (
            ("PROVED", 0, timedelta(minutes=5)),
            ("DIFFERENT", 2, timedelta(hours=3)),
            ("UNREADABLE", 0, timedelta(days=9)),
        )
    ]
    context = {
        "shown": {
            "level": text.choose_level(shown),
            "ceiling": 8,
            "reasons": [{"count": "2", "reason": "lost", "meaning": explain_reason("lost")}],
            "alarms": [{"lane": WHY, "reason": WHY}],
            "held": [],
            "processes": text.format_processes(shown),
            "lanes": [],
        },
        "texts": {**texts, "preset": WHY},
        "hour_json": "[]",
        "newest_first": [["10:30", 1, 2, 3, 4, 5, 6]],
        "rules": build_facts().rules,
        "scripted": True,
        "weakness": WHY,
        "drills": drills,
        "drill_due_at": AT,
        "drill_proof": drills[0],
        "drill_is_overdue": True,
        "drill_contradicts": "",
    }
    return render_to_string("ops/dashboard.html", on_every_page("dashboard") | context)


@pytest.mark.parametrize(
    "facts", [{}, {"people": [], "name": ROSA, "found": [], "flags": []}, {"people": [], "has_sites": False}]
)
def test_the_desk_has_no_word_outside_the_catalogue(facts: dict[str, Any]) -> None:
    assert find_words(draw_desk(**facts)) == []


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"control": {"quiet_since": AT}},
        {"control": {}, "needs_overdue": False, "needs_review": None, "items": []},
    ],
)
def test_the_page_of_one_person_has_no_word_outside_the_catalogue(facts: dict[str, Any]) -> None:
    assert find_words(draw_person(**facts)) == []


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"processes": [], "alerts": {"open": {}, "looked_through_s": None, "unsent": 0, "ways": 0}},
        {
            "waiting": 1,
            "counted_in_part": ["waiting"],
            "last_hour": {"complete": 0, "paused": 0, "refused": 0, "stopped": 0},
        },
        {"ceiling_from": {"setting": 8, "operators": 8, "preset": None, "by": SAM, "reason": WHY}},
        {"ceiling_from": {"setting": 8, "operators": None, "preset": 8, "by": "", "reason": ""}},
    ],
)
def test_the_dashboard_has_no_word_outside_the_catalogue(facts: dict[str, Any]) -> None:
    assert find_words(draw_dashboard(**facts)) == []


def test_what_pages_hand_over_to_scripts_has_no_word_outside_the_catalogue() -> None:
    handed = [
        write_script_texts(),
        desk_text.offer_words(),
        *desk_text.name_character(desk_text.DOINGS).values(),
        *desk_text.translate(desk_text.ENTRIES).values(),
        *(explain(code, SAM) for code in SENTENCES),
    ]
    shown: list[str] = []
    for one in handed:
        values = json.loads(one).values() if one.startswith("{") else [one]
        shown += [
            re.sub(r"\{\w+\}", "", part)
            for value in values
            for part in (value.values() if isinstance(value, dict) else [value])
        ]

    assert [one for one in shown if _WORD.search(SAME_EVERYWHERE.sub("", one))] == []


def test_a_word_that_is_in_no_catalogue_is_found() -> None:
    assert find_words("<p>Open <bdi>Ρόζα</bdi></p>") == ["Open"]
    assert find_words('<button aria-label="Open it"></button>') == ["Open it"]
    assert find_words("<p>Ανοιχτό <code>manage.py</code> 10:30 UTC</p>") == []
