"""Sheets of cards: a QR code that holds the card's own link, no name on it, each printing on record (A1)."""

import re
import stat
from pathlib import Path

import pytest
from django.core.management import CommandError

from companion.models import Site
from ops.models import AuditEntry
from ops.people import card_sheets
from ops.people.card_sheets import build_link, draw_qr
from tests.commands import run, run_lines
from tests.machines import open_browser
from tests.people import People, in_database
from tests.processes import Web
from tests.staff import get_audit_entries, open_staff_client


def test_the_command_writes_one_page_for_several_people(people: People, tmp_path: Path) -> None:
    rosa, tomas = people.rosa, people.add_participant("Tomas")
    file = tmp_path / "cards.html"

    [said] = run_lines(
        "card", "Rosa", "Tomas", "--site", people.site.slug, "--sheet", str(file), "--by", "Ines"
    )

    assert said.startswith(f"{file} has 2 cards.")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    page = file.read_text()
    for person in (rosa, tomas):
        assert person.card.code.upper() in page
        assert draw_qr(build_link(person.card))[0] in page
        assert [entry.what for entry in get_audit_entries(person)] == ["printed_card"]
    # Whole by itself: opened from a disk it fetches nothing.
    assert not re.search(r'(?:src|href)="(?!#)', page)
    assert 'id="apple"' in page and "@media print" in page


def test_no_name_is_on_a_card_unless_the_site_says_so(people: People) -> None:
    rosa = people.rosa
    [card] = in_database(lambda: card_sheets.make_sheet([rosa.row], by="Sam"))
    assert (card.name, card.holder) == ("", "Rosa")
    page = in_database(lambda: card_sheets.render_sheet([card], is_file=True))
    assert page.count("Rosa") == 1 and page.index("Rosa") > page.index("Whose card is which")

    in_database(lambda: Site.objects.filter(pk=people.site.pk).update(prints_names_on_cards=True))
    in_database(rosa.row.site.refresh_from_db)
    [card] = in_database(lambda: card_sheets.make_sheet([rosa.row], by="Sam"))

    assert card.name == "Rosa"


def test_a_withdrawn_card_is_on_no_sheet(people: People, tmp_path: Path) -> None:
    people.rosa  # noqa: B018
    run("card", "Rosa", "--site", people.site.slug, "--withdraw", "--by", "Ines")

    with pytest.raises(CommandError, match="withdrawn"):
        run("card", "Rosa", "--site", people.site.slug, "--sheet", str(tmp_path / "cards.html"))

    assert list(tmp_path.iterdir()) == []


def test_several_names_need_a_sheet(people: People) -> None:
    with pytest.raises(CommandError, match="--sheet takes several"):
        run("card", "Rosa", "Tomas")


def test_a_folder_that_is_not_there_is_said(people: People, tmp_path: Path) -> None:
    people.rosa  # noqa: B018
    with pytest.raises(CommandError, match="cannot be written"):
        run("card", "Rosa", "--site", people.site.slug, "--sheet", str(tmp_path / "no" / "cards.html"))


def test_staff_print_cards_of_their_own_sites_alone(service: Web, people: People) -> None:
    rosa, otto = people.rosa, people.otto
    user = people.add_sam()
    with open_staff_client(service, user, people.password) as sam:
        listed = sam.get("/ops/cards/").text
        assert "Rosa" in listed and "Otto" not in listed
        form = {
            "csrfmiddlewaretoken": sam.cookies["csrftoken"],
            "person": [str(rosa.row.pk), str(otto.row.pk)],
        }
        page = sam.post("/ops/cards/sheet/", data=form, headers={"Origin": service.url})
    assert rosa.card.code.upper() in page.text and otto.card.code.upper() not in page.text
    assert "no-store" in page.headers["cache-control"]
    assert [entry.what for entry in get_audit_entries(rosa)] == ["printed_card"]
    assert get_audit_entries(otto) == []
    refusals = AuditEntry.objects.filter(
        who=user.get_username(), what="was_refused", note="cards, people of other sites 1"
    )
    assert in_database(refusals.count) == 1


def test_a_sheet_without_people_is_refused_in_words(service: Web, people: People) -> None:
    with open_staff_client(service, people.add_sam(), people.password) as sam:
        form = {"csrfmiddlewaretoken": sam.cookies["csrftoken"]}
        answer = sam.post("/ops/cards/sheet/", data=form, headers={"Origin": service.url})
    assert (answer.status_code, "Choose at least one person." in answer.text) == (400, True)


def test_a_code_of_a_renewed_card_opens_nothing_from_that_moment(service: Web, people: People) -> None:
    rosa = people.rosa
    run("card", "Rosa", "--site", people.site.slug, "--renew", "--by", "Ines")

    assert open_browser(service).post("/card/", code=rosa.card.code).status_code == 403


def test_the_drawn_modules_are_those_of_the_code() -> None:
    path, size = draw_qr("https://example.org/card/#abcdef-ghjkmn-pqrstu")

    dark = {(int(x), int(y)) for x, y in re.findall(r"M(\d+) (\d+)h1v1h-1z", path)}
    assert min(x for x, _ in dark) == 4 and max(x for x, _ in dark) == size - 5
    # The three corners that a reader looks for, and the one that is none.
    for x, y in ((4, 4), (size - 5, 4), (4, size - 5)):
        assert (x, y) in dark
    assert {(4 + step, 4) for step in range(7)} <= dark
