"""Sites are added, closed, opened and given rules and helplines while all runs: each is on record once (S5, S8)."""

import pytest

from companion.models import Site, Visit
from ops.models import AuditEntry
from tests.cards import get_chat_status, opens, print_card
from tests.commands import BY, refused, run, run_lines
from tests.people import People, in_database
from tests.processes import Web
from tests.staff import last_entry


def test_a_site_is_added_once_and_renamed(people: People) -> None:
    slug = f"new-{people.password}"
    run("site", "add", slug, "Elm House", *BY)
    site = in_database(lambda: Site.objects.get(slug=slug))
    assert last_entry()[:2] == ("Ines", "added_site") and last_entry()[3].startswith(
        f"site {site.pk}, command"
    )
    assert "was there before" in run("site", "add", slug, "Elm House", *BY)
    assert "site rename" in refused("site", "add", slug, "Oak House", *BY)
    run("site", "rename", slug, "Oak House", *BY)
    assert any(line.startswith(f"{slug}  Oak House  closed") for line in run_lines("site", "list"))
    assert "There is no site nowhere" in refused("site", "rename", "nowhere", "Oak House", *BY)


def test_closing_a_site_ends_its_visits_and_opening_it_revives_none(service: Web, people: People) -> None:
    rosa, otto = people.rosa, people.otto
    hers, his = rosa.sign_in(service.url), otto.sign_in(service.url)

    assert "visits ended: 1" in run("site", "close", people.site.slug, *BY)
    assert (get_chat_status(service, hers), get_chat_status(service, his)) == (302, 200)
    assert not opens(service, print_card(rosa)) and opens(service, print_card(otto))
    assert "was closed before" in run("site", "close", people.site.slug, *BY)

    # As if a visit had begun at the very moment of closing.
    in_database(lambda: Visit.objects.filter(participant=rosa.row).update(ended_at=None, end_reason=""))
    run("site", "open", people.site.slug, *BY)
    assert get_chat_status(service, hers) == 302 and opens(service, print_card(rosa))
    assert last_entry()[:2] == ("Ines", "opened_site")


def test_a_site_is_confined_to_regions_in_which_lanes_lie(people: People) -> None:
    slug = people.site.slug
    run("site", "regions", slug, "here", *BY)
    assert in_database(lambda: Site.objects.get(slug=slug).regions) == ["here"]
    assert "regions here" in last_entry()[3]
    assert "before" in run("site", "regions", slug, "here", *BY)
    assert "Lanes lie in: here" in refused("site", "regions", slug, "hree", *BY)
    assert "There is no site" in refused("site", "regions", "nowhere-house", "hree", *BY)
    run("site", "regions", slug, *BY)
    assert in_database(lambda: Site.objects.get(slug=slug).regions) == []


HELPLINE = ("--voice", "0808 157 0123", "--text", "HOME to 85258", "--owner", "Ines Ward")


def test_a_site_opens_only_once_it_has_a_whole_helpline(people: People) -> None:
    slug = f"new-{people.password}"
    assert "is closed" in run("site", "add", slug, "Elm House", *BY)
    told = refused("site", "open", slug, *BY)
    assert "cannot open without a helpline" in told and f"site helpline {slug} --voice" in told
    assert "--review-by too" in refused("site", "helpline", slug, *HELPLINE, *BY)

    said = run_lines("site", "helpline", slug, *HELPLINE, "--review-by", "2099-12-31", *BY)[0]

    assert "call 0808 157 0123, text HOME to 85258" in said and "site is closed" in said
    site = in_database(lambda: Site.objects.get(slug=slug))
    assert (site.helpline_owner, str(site.helpline_review_by)) == ("Ines Ward", "2099-12-31")
    assert last_entry()[:2] == ("Ines", "set_helpline")
    assert last_entry()[3].startswith(f"site {site.pk}, review by 2099-12-31, command")
    run("site", "open", slug, *BY)
    assert in_database(lambda: Site.objects.get(slug=slug).is_open)
    assert any("helpline: 0808 157 0123, text HOME to 85258" in line for line in run_lines("site", "list"))


def test_a_part_of_a_helpline_is_changed_alone_and_on_record_once(people: People) -> None:
    slug = people.site.slug
    run("site", "helpline", slug, "--voice", "116 123", *BY)
    before = in_database(AuditEntry.objects.count)
    assert "before" in run("site", "helpline", slug, "--voice", "116 123", *BY)
    assert in_database(AuditEntry.objects.count) == before
    site = in_database(lambda: Site.objects.get(slug=slug))
    assert (site.helpline_voice, site.helpline_text) == ("116 123", "07700 900123")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--voice", "call us"), "has digits"),
        (("--voice", "1" * 41), "has digits"),
        (("--text", "{helpline} 1"), "has digits"),
        (("--text", " "), "cannot be empty"),
        (("--owner", "a\nb"), "one line"),
        (("--review-by", "2020-01-01"), "2020-01-01 is over"),
    ],
)
def test_a_helpline_that_cannot_be_one_is_refused(
    people: People, arguments: tuple[str, ...], sentence: str
) -> None:
    assert sentence in refused("site", "helpline", people.site.slug, *arguments, *BY)


def test_the_rules_of_a_site_are_shown_and_set_within_their_limits(people: People) -> None:
    slug = people.site.slug
    assert "disclosure_s=10800, shows_reading=no" in run("site", "rules", slug, *BY)

    run("site", "rules", slug, "disclosure_s=7200", "quiet_s=3600", "shows_reading=yes", *BY)

    site = in_database(lambda: Site.objects.get(slug=slug))
    assert (site.disclosure_s, site.quiet_s, site.shows_reading) == (7200, 3600, True)
    assert last_entry()[1] == "set_site_rules" and "disclosure_s=7200" in last_entry()[3]
    run("site", "rules", slug, "quiet_s=staff", *BY)
    assert in_database(lambda: Site.objects.get(slug=slug).quiet_s) is None
    out = ("idle_s=300", "visit_hours=4", "exit_address=https://weather.example/?q=a")
    assert all(rule in run("site", "rules", slug, *out, *BY) for rule in out)
    run("site", "rules", slug, "visit_hours=longest", "exit_address=none", *BY)
    site = in_database(lambda: Site.objects.get(slug=slug))
    assert (site.idle_s, site.visit_hours, site.exit_address) == (300, None, "")
    for typed, sentence in (
        ("idle_s=59", "from 60 to 3600"),
        ("visit_hours=0", "or the word longest"),
        ("exit_address=http://weather.example/", "an https address"),
        ("exit_address=javascript:alert(1)", "an https address"),
        ("exit_address=https://sam:secret@weather.example/", "an https address"),
        ("exit_address=//weather.example/", "an https address"),
        ("disclosure_s=10801", "from 60 to 10800"),
        ("quiet_s=never", "or the word staff"),
        ("shows_reading=true", "yes or no"),
        ("language=xx", "one of en, es"),
        ("second_ring_s=30", "cannot be less"),
        ("loudness=3", "no rule of a site"),
    ):
        assert sentence in refused("site", "rules", slug, typed, *BY)
