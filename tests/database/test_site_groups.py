"""Staff supervise groups of sites: each of their sites, and each change is on record (S5)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from companion.models import Site
from ops.access import OPERATORS, SELECT_ACCESS, access_params, get_access
from ops.database import execute, fetch_all
from ops.models import AuditEntry
from ops.supervision.ringing import LIST_ADDRESSES
from ops.supervision.screens import LIST_COLLEAGUES, MAX_COLLEAGUES
from tests.commands import BY, refused, run, run_lines
from tests.people import People, in_database
from tests.staff import last_entry

HEAD = "role,name,sites,username,email,groups\n"


@pytest.fixture
def group(people: People) -> str:
    """The short name of a group that holds the first site of the test."""
    slug = f"north-{people.password}"
    run("site", "group", "add", slug, "The north", *BY)
    run("site", "group", "include", slug, people.site.slug, *BY)
    return slug


def sees(username: str) -> set[int]:
    return in_database(lambda: set(get_access(User.objects.get(username=username)).supervised))


def add_kim(people: People, *arguments: str) -> str:
    username = f"kim-{people.password}"
    run("staff", "add", username, "--name", "Kim", *arguments, *BY)
    return username


def test_a_supervisor_of_a_group_supervises_each_of_its_sites_also_one_that_joins_later(
    people: People, group: str
) -> None:
    kim = add_kim(people, "--supervises-group", group)
    assert sees(kim) == {people.site.pk}

    run("site", "group", "include", group, people.elsewhere.slug, *BY)
    assert sees(kim) == {people.site.pk, people.elsewhere.pk}

    run("site", "group", "exclude", group, people.site.slug, *BY)
    assert sees(kim) == {people.elsewhere.pk}
    assert f"{kim}  Kim  supervises group {group}" in run("staff", "list")
    assert f"{group}  The north  sites: {people.elsewhere.slug}  staff: 1" in run("site", "group", "list")


def test_a_site_that_was_given_twice_is_kept_when_one_of_the_two_is_taken(people: People, group: str) -> None:
    kim = add_kim(people, "--supervises", people.site.slug, "--supervises-group", group)

    answer = run("staff", "no-longer-group", kim, group, *BY)
    assert people.site.slug in answer and sees(kim) == {people.site.pk}

    run("staff", "supervises-group", kim, group, *BY)
    assert "group: 1, 1 of whom were given it otherwise" in run(
        "site", "group", "exclude", group, people.site.slug, *BY
    )
    run("site", "group", "include", group, people.site.slug, *BY)
    answer = run("staff", "no-longer", kim, people.site.slug, *BY)
    assert people.site.slug in answer and sees(kim) == {people.site.pk}
    run("staff", "no-longer-group", kim, group, *BY)
    assert sees(kim) == set()


def test_a_withdrawn_colleague_has_no_group_and_returns_without_one(people: People, group: str) -> None:
    kim = add_kim(people, "--supervises-group", group)
    run("staff", "withdraw", kim, *BY)
    run("staff", "restore", kim, *BY)
    assert sees(kim) == set()


def test_each_change_of_a_group_is_on_record_once(people: People, group: str) -> None:
    kim = add_kim(people, "--supervises", people.elsewhere.slug)
    for words, what in (
        (("site", "group", "include", group, people.elsewhere.slug), "included_site"),
        (("site", "group", "exclude", group, people.elsewhere.slug), "excluded_site"),
        (("staff", "supervises-group", kim, group), "supervises"),
        (("staff", "no-longer-group", kim, group), "supervises_no_longer"),
    ):
        before = in_database(AuditEntry.objects.count)
        run(*words, *BY)
        entry = in_database(lambda: AuditEntry.objects.latest("id"))
        assert entry.what == what and "group " in entry.note
        run(*words, *BY)
        assert in_database(AuditEntry.objects.count) == before + 1
    run("site", "group", "remove", group, *BY)
    assert "sites 1" in last_entry()[3]


def test_a_group_is_refused_in_a_sentence_where_it_cannot_be_changed(people: People, group: str) -> None:
    add_kim(people, "--supervises-group", group)
    assert "1 members of staff have" in refused("site", "group", "remove", group, *BY)
    assert "There is no group nowhere" in refused(
        "site", "group", "include", "nowhere", people.site.slug, *BY
    )
    assert "There is no site nowhere" in refused("site", "group", "include", group, "nowhere", *BY)
    assert "The short name of a group" in refused("site", "group", "add", "North East", "North East", *BY)
    assert "is The north already" in refused("site", "group", "add", group, "The south", *BY)


def test_a_file_gives_groups_and_an_export_is_read_back(people: People, group: str, tmp_path: Path) -> None:
    kim, file = f"kim-{people.password}", tmp_path / "people.csv"
    file.write_text(f"{HEAD}supervisor,Kim,,{kim},kim@example.org,{group}\n")
    assert run_lines("people", "import", str(file), *BY)[-1].startswith("Added: 1;")
    assert sees(kim) == {people.site.pk}
    added = in_database(lambda: AuditEntry.objects.filter(what="added_staff").latest("id"))
    assert ", groups " in added.note and "sites" not in added.note

    written = tmp_path / "everyone.csv"
    run("people", "export", str(written), "--site", people.site.slug, *BY)
    assert f"supervisor,Kim,,{kim},kim@example.org,{group}" in written.read_text("utf-8-sig").splitlines()
    assert run_lines("people", "import", str(written), *BY)[-1] == "Added: 0; there before: 1."

    file.write_text(f"{HEAD}participant,Ann,{people.site.slug},,,{group}\nsupervisor,Flo,,flo,,nowhere\n")
    assert "2 of 2 lines are refused" in refused("people", "import", str(file), *BY)


def test_a_flag_rings_the_staff_of_a_group_once(people: People, group: str) -> None:
    kim = add_kim(people, "--supervises", people.site.slug, "--supervises-group", group)
    run("staff", "email", kim, f"{kim}@example.org", *BY)
    addresses = in_database(lambda: fetch_all(LIST_ADDRESSES, [people.site.pk, 100]))
    assert addresses == [(f"{kim}@example.org",)]


FILL = (
    """INSERT INTO companion_site (slug, name, is_open, regions)
    SELECT 's-' || n, 'S', true, '{}' FROM generate_series(1, 500) n""",
    """INSERT INTO auth_user (username, first_name, last_name, email, password, is_active, is_staff, is_superuser,
        date_joined)
    SELECT 'u-' || n, 'U', '', 'u@example.org', '!', true, true, false, now() FROM generate_series(1, 2000) n""",
    "INSERT INTO ops_sitegroup (slug, name) SELECT 'g-' || n, 'G' FROM generate_series(1, 50) n",
    """INSERT INTO ops_groupedsite (group_id, site_id)
    SELECT g.id, s.id FROM generate_series(1, 500) n JOIN companion_site s ON s.slug = 's-' || n
    JOIN ops_sitegroup g ON g.slug = 'g-' || n % 50 + 1""",
    """INSERT INTO ops_groupsupervision (user_id, group_id)
    SELECT u.id, g.id FROM generate_series(1, 2000) n JOIN auth_user u ON u.username = 'u-' || n
    JOIN ops_sitegroup g ON g.slug = 'g-' || n % 50 + 1""",
    """INSERT INTO ops_supervision (user_id, site_id)
    SELECT u.id, s.id FROM generate_series(1, 2000) n JOIN auth_user u ON u.username = 'u-' || n
    JOIN companion_site s ON s.slug = 's-' || n % 500 + 1""",
    "ANALYZE auth_user, companion_site, ops_sitegroup, ops_groupedsite, ops_groupsupervision, ops_supervision",
)
"""500 sites in 50 groups, and 2,000 staff, each with a site and a group of ten."""


def facts_of_colleagues(sites: list[int]) -> dict[str, Any]:
    return {"sites": sites, "operators": OPERATORS, "limit": MAX_COLLEAGUES}


def list_nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from list_nodes(child)


def test_the_reads_of_rights_read_few_rows_of_hundreds_of_sites_and_thousands_of_staff() -> None:
    read: dict[str, int] = {}

    def measure() -> None:
        with transaction.atomic():
            for statement in FILL:
                execute(statement)
            user = User.objects.get(username="u-7").pk
            site = Site.objects.get(slug="s-7").pk
            everywhere = list(Site.objects.values_list("pk", flat=True))
            for name, statement, facts in (
                ("access", SELECT_ACCESS, access_params([user])),
                ("addresses", LIST_ADDRESSES, [site, 100]),
                ("colleagues", LIST_COLLEAGUES, facts_of_colleagues([site])),
                ("colleagues everywhere", LIST_COLLEAGUES, facts_of_colleagues(everywhere)),
            ):
                [[[plan]]] = fetch_all(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", facts)
                read[name] = sum(
                    round(
                        (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
                    )
                    for node in list_nodes(plan["Plan"])
                    if node.get("Relation Name")
                    in {"ops_supervision", "ops_groupsupervision", "ops_groupedsite"}
                )
            transaction.set_rollback(True)

    in_database(measure)

    # One site of their own, and ten by their group; the four and forty staff of a site.
    assert read["access"] <= 50 and read["addresses"] <= 150 and read["colleagues"] <= 150
    # Each row that gives something, once.
    assert read["colleagues everywhere"] <= 5_000
