"""`manage.py rehearse_flag` before real processes: a flag from end to end, and what it refuses to touch (S2)."""

import os
import subprocess

from django.contrib.auth.models import User

from companion.models import Flag, Participant, Site
from companion.participants import add_participant
from ops.alerts.condition_queries import FLAG_REHEARSAL_SITE
from tests.people import People, in_database
from tests.prefork import prefork
from tests.processes import Rehearsal, Web


def rehearse(service: str, rehearsal: Rehearsal) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"REHEARSAL_URL": rehearsal.url}
    return prefork.run(["manage.py", "rehearse_flag", "--address", service], env=environment)


def test_a_flag_is_played_from_end_to_end_with_the_time_of_each_step(
    service: Web, rehearsal: Rehearsal
) -> None:
    played = rehearse(service.url, rehearsal)
    assert played.returncode == 0, played.stdout + played.stderr
    assert "A red flag rings on the desk" in played.stdout
    assert "  NOT KEPT" not in played.stdout and "As promised: 10 of 10" in played.stdout
    flag = in_database(lambda: Flag.objects.filter(site__slug=FLAG_REHEARSAL_SITE).latest("id"))
    assert (flag.state, flag.outcome) == ("closed", "no_concern")
    # No one can sign in there afterwards.
    assert not in_database(lambda: Site.objects.get(slug=FLAG_REHEARSAL_SITE)).is_open
    assert not in_database(lambda: User.objects.get(username="rehearsal-of-flags")).is_active


def test_it_does_not_start_where_other_people_belong_to_its_site(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    site, _ = in_database(
        lambda: Site.objects.get_or_create(slug=FLAG_REHEARSAL_SITE, defaults={"name": "Rehearsal of flags"})
    )
    stranger = in_database(lambda: add_participant("Rosa", site=site))
    try:
        refused = rehearse(service.url, rehearsal)
        assert refused.returncode == 2 and "other people belong to it" in refused.stderr
    finally:
        in_database(lambda: Participant.objects.filter(pk=stranger.pk).delete())
