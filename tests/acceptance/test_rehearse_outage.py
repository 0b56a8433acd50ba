"""`manage.py rehearse_outage` before real processes: the story as promised, not as promised, and not played."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from companion.models import Visit
from tests.people import People, in_database
from tests.prefork import prefork
from tests.processes import ROOT, Rehearsal, Web
from tests.staff import play_broken_turn

BACK = "I am back. First, what you asked me before."
PAUSE = "I have to stop for a little while. You did nothing wrong. I have kept your question safe."
NORA = "Nora (rehearsal)"


def before(
    service: str, people: People, rehearsal: Rehearsal, **settings: str
) -> subprocess.CompletedProcess[str]:
    """Play it before the service at this address, for this site, with settings that differ from the service's."""
    environment = os.environ | {"REHEARSAL_URL": rehearsal.url} | settings
    arguments = ("--site", people.site.slug, "--address", service)
    return prefork.run(["manage.py", "rehearse_outage", *arguments], env=environment)


def test_the_person_signed_in_for_the_rehearsal_is_signed_out_again(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    played = before(service.url, people, rehearsal)
    assert played.returncode == 0, played.stdout + played.stderr
    visits = in_database(lambda: list(Visit.objects.filter(participant__site=people.site)))
    assert [visit.ended_at is not None for visit in visits] == [True]


async def test_a_question_that_a_broken_off_rehearsal_left_is_answered_before_the_story_begins(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    nora = people.add_participant(NORA)
    left = await play_broken_turn(service, nora, rehearsal)
    played = before(service.url, people, rehearsal)
    assert played.returncode == 0, played.stdout + played.stderr
    assert "A question was still held from an earlier rehearsal." in played.stdout
    first, hello, broken, answer = nora.turns()
    assert (first.pk, first.answered_by_id, broken.answered_by_id) == (left.pk, hello.pk, answer.pk)


def test_a_promise_that_is_not_kept_is_named_and_ends_with_1(
    another_web: Callable[..., Web], people: People, rehearsal: Rehearsal, tmp_path: Path
) -> None:
    other = tmp_path / "other.toml"
    drafted = (ROOT / "personas" / "files" / "robin.toml").read_text()
    assert PAUSE in drafted
    other.write_text(drafted.replace(PAUSE, "I must stop here for now. You did nothing wrong."))
    shutil.copy(ROOT / "personas" / "files" / "robin.es.toml", tmp_path / "other.es.toml")
    web = another_web(COMPANION_PERSONA=str(other))
    played = before(web.url, people, rehearsal)
    assert played.returncode == 1
    assert "NOT KEPT  The pause line follows them" in played.stdout
    assert "Not as promised: 2 of 12 promises were not kept." in played.stderr


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {"COMPANION_ROUTING": "ops/deploy/routing.example.toml"},
            "is a real provider, and this never touches one",
        ),
        ({"REHEARSAL_URL": "http://192.0.2.1:8099/v1"}, "is a real provider, and this never touches one"),
        ({"REHEARSAL_URL": "http://127.0.0.1:9/v1"}, "is not the rehearsal provider, or it is not there"),
        ({"SECRET_KEY": "another key"}, "does not know the card this command made"),
        ({"COMPANION_PERSONA": "/nowhere.toml"}, "there is no such file"),
    ],
)
def test_it_says_why_it_cannot_be_played_and_asks_the_provider_nothing(
    service: Web, people: People, rehearsal: Rehearsal, settings: dict[str, str], says: str
) -> None:
    played = before(service.url, people, rehearsal, **settings)
    assert played.returncode == 2
    assert says in played.stderr
    assert "Traceback" not in played.stderr
    assert rehearsal.list_requests() == []


def test_a_service_that_goes_by_another_name_is_not_said_to_be_unready(
    another_web: Callable[..., Web], people: People, rehearsal: Rehearsal
) -> None:
    played = before(another_web(ALLOWED_HOSTS="talk.example.org").url, people, rehearsal)
    assert played.returncode == 2
    assert "Add that name to its ALLOWED_HOSTS" in played.stderr


def test_a_lane_that_is_something_else_on_this_machine_is_left_alone(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    played = before(service.url, people, rehearsal, REHEARSAL_URL=f"{service.url}/v1")
    assert played.returncode == 2
    assert "is not the rehearsal provider" in played.stderr


def test_it_says_so_where_no_service_runs(people: People, rehearsal: Rehearsal) -> None:
    nothing = prefork.run(["manage.py", "rehearse_outage", "--site", people.site.slug])
    assert (nothing.returncode, "No scripts/up runs from" in nothing.stderr) == (2, True)
    away = before("http://127.0.0.1:9", people, rehearsal)
    assert (away.returncode, "Nothing answers at http://127.0.0.1:9." in away.stderr) == (2, True)
