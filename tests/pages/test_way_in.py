"""The way in: a card's link, a typed code, and every card that does not open anything. Plain HTTP, no browser."""

from collections.abc import Callable, Iterator

import httpx
import pytest

from companion.models import Participant, Site
from companion.visits.link_tries import MISS_WINDOW_S
from tests.people import People, Person, in_database
from tests.processes import Web

PICTURES_WRONG = "Those are not the pictures on your card. You can try again."
UNKNOWN = "This card or code does not work here."
CLOSED = "The chat is closed now."


@pytest.fixture
def visitor(service: Web) -> Iterator[httpx.Client]:
    """A browser that follows no redirects."""
    # Skip loading certificates for plain HTTP: it takes longer than the request.
    with httpx.Client(base_url=service.url, trust_env=False, verify=False) as client:
        yield client


def signed_in(visitor: httpx.Client) -> bool:
    return visitor.get("/chat/").status_code == 200


def typed(visitor: httpx.Client, code: str) -> httpx.Response:
    visitor.get("/card/")
    facts = {"code": code, "csrfmiddlewaretoken": visitor.cookies["csrftoken"]}
    return visitor.post("/card/", data=facts, headers={"Origin": str(visitor.base_url).rstrip("/")})


def close(site: Site) -> None:
    in_database(lambda: Site.objects.filter(pk=site.pk).update(is_open=False))


def pressed(visitor: httpx.Client, person: Person, *pictures: str) -> httpx.Response:
    """What the page sends once two pictures of a link were pressed: the card's own, or these."""
    first, second = pictures or person.card.pictures
    form = {"link": person.card.link, "first": first, "second": second}
    return visitor.post("/card/", data=form, headers={"Origin": str(visitor.base_url).rstrip("/")})


def others(person: Person) -> tuple[str, str]:
    """Pictures of which one is right, in the wrong order."""
    first, second = person.card.pictures
    return second, first


def test_a_card_link_with_its_pictures_signs_in_and_goes_on_to_the_chat(
    visitor: httpx.Client, people: People
) -> None:
    answer = pressed(visitor, people.rosa)

    assert (answer.status_code, answer.headers["location"]) == (302, "/chat/")
    assert signed_in(visitor)


def test_a_link_alone_opens_nothing_however_it_is_tried(visitor: httpx.Client, people: People) -> None:
    rosa = people.rosa

    assert PICTURES_WRONG in pressed(visitor, rosa, "", "").text
    assert UNKNOWN in typed(visitor, rosa.card.link).text
    assert UNKNOWN in visitor.get(f"/card/{rosa.card.link}/").text
    assert visitor.get(f"/card/?{rosa.card.link}").status_code == 200
    assert not signed_in(visitor)


def test_wrong_pictures_can_be_mended_and_after_three_only_the_code_opens(
    visitor: httpx.Client, people: People
) -> None:
    rosa = people.rosa
    answer = pressed(visitor, rosa, *others(rosa))
    assert (answer.status_code, PICTURES_WRONG in answer.text) == (403, True)
    assert f'value="{rosa.card.link}"' in answer.text
    pressed(visitor, rosa)
    assert signed_in(visitor)
    visitor.cookies.clear()

    # A right choice in between gives a stranger no new ones.
    for _ in range(2):
        pressed(visitor, rosa, *others(rosa))
    answer = pressed(visitor, rosa)

    assert UNKNOWN in answer.text and not signed_in(visitor)
    assert typed(visitor, rosa.card.code).headers["location"] == "/chat/"
    visitor.cookies.clear()
    assert pressed(visitor, rosa).headers["location"] == "/chat/"


def test_wrong_pictures_where_the_card_has_opened_before_are_forgotten_after_a_week(
    visitor: httpx.Client, people: People
) -> None:
    rosa = people.rosa
    pressed(visitor, rosa)
    visitor.cookies.clear()
    for _ in range(3):
        pressed(visitor, rosa, *others(rosa))
    of_rosa = Participant.objects.filter(pk=rosa.row.pk)
    ((place, tried),) = in_database(of_rosa.get).link_places.items()
    past = {place: {**tried, "missed": tried["missed"] - MISS_WINDOW_S}}
    assert not signed_in(visitor) and UNKNOWN in pressed(visitor, rosa).text
    in_database(lambda: of_rosa.update(link_places=past))

    assert pressed(visitor, rosa).headers["location"] == "/chat/"


@pytest.mark.parametrize("spelling", [str.upper, str.lower, lambda card: f"  {card.replace('-', ' ')} "])
def test_a_typed_code_signs_in_however_it_is_spelled(
    visitor: httpx.Client, people: People, spelling: Callable[[str], str]
) -> None:
    answer = typed(visitor, spelling(people.rosa.card.code))

    assert (answer.status_code, answer.headers["location"]) == (302, "/chat/")
    assert signed_in(visitor)


@pytest.mark.parametrize("code", ["abcd", "", "'; DROP TABLE", "\x00", "a" * 101, "ß" * 18, "\U0001f642"])
def test_a_code_that_opens_nothing_is_told_kindly_and_can_be_mended(visitor: httpx.Client, code: str) -> None:
    answer = typed(visitor, code)

    assert answer.status_code == 403
    assert UNKNOWN in answer.text
    assert 'aria-invalid="true"' in answer.text
    assert not signed_in(visitor)


@pytest.mark.parametrize("token", ["abcdef-ghjkmn-pqrstu", "x", "%00", "%F0%9F%99%82", "a" * 2_000])
def test_a_card_in_an_address_opens_nothing_and_is_told_kindly(visitor: httpx.Client, token: str) -> None:
    answer = visitor.get(f"/card/{token}/")

    assert answer.status_code == 403
    assert UNKNOWN in answer.text
    assert not signed_in(visitor)


@pytest.mark.parametrize("link", ["abcdef-ghjkmn-pqrstu", "x", "\x00", "\U0001f642", "a" * 2_000])
def test_a_link_that_opens_nothing_is_told_kindly(visitor: httpx.Client, link: str) -> None:
    form = {"link": link, "first": "boat", "second": "key"}
    answer = visitor.post("/card/", data=form, headers={"Origin": str(visitor.base_url).rstrip("/")})

    assert answer.status_code == 403
    assert UNKNOWN in answer.text


def test_a_card_of_a_closed_site_says_so(visitor: httpx.Client, people: People) -> None:
    rosa = people.rosa
    close(people.site)

    by_link, by_code = pressed(visitor, rosa), typed(visitor, rosa.card.code)

    assert by_link.status_code == by_code.status_code == 403
    assert CLOSED in by_link.text and CLOSED in by_code.text
    assert not signed_in(visitor)


def test_closing_a_site_ends_what_is_open_there(visitor: httpx.Client, people: People) -> None:
    pressed(visitor, people.rosa)
    assert signed_in(visitor)

    close(people.site)

    assert not signed_in(visitor)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {},
    ],
    ids=str,
)
def test_no_page_of_another_origin_opens_a_visit(
    visitor: httpx.Client, people: People, headers: dict[str, str]
) -> None:
    rosa = people.rosa
    first, second = rosa.card.pictures
    for form in ({"code": rosa.card.code}, {"link": rosa.card.link, "first": first, "second": second}):
        assert visitor.post("/card/", data=form, headers=headers).status_code == 403
    assert not signed_in(visitor)


def test_a_visitor_is_led_to_the_code_and_a_signed_in_participant_to_the_chat(
    visitor: httpx.Client, people: People
) -> None:
    assert visitor.get("/").headers["location"] == visitor.get("/chat/").headers["location"] == "/card/"

    pressed(visitor, people.rosa)

    assert visitor.get("/").headers["location"] == "/chat/"


def test_finishing_needs_our_own_form(visitor: httpx.Client, people: People) -> None:
    pressed(visitor, people.rosa)

    assert visitor.get("/chat/finish/").status_code == 405
    refused = visitor.post("/chat/finish/", headers={"Origin": "https://elsewhere.example"})

    assert refused.status_code == 403
    assert "You did nothing wrong." in refused.text
    assert signed_in(visitor)


def test_no_page_and_no_answer_may_be_kept(visitor: httpx.Client, people: People) -> None:
    paths = [
        "/",
        "/card/",
        "/card/x/",
        "/finished/",
        "/chat/",
        "/chat/turns/?after=0",
    ]

    answers = [visitor.get(path) for path in paths]
    answers += [pressed(visitor, people.rosa), *(visitor.get(path) for path in paths)]
    for answer in answers:
        assert answer.headers["cache-control"] == "private, no-store", answer.url


def test_every_page_forbids_what_it_does_not_need(visitor: httpx.Client, people: People) -> None:
    for path in ("/card/", "/card/x/", "/finished/", "/nowhere/"):
        headers = visitor.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy and "http" not in policy and "*" not in policy
        assert headers["referrer-policy"] == "same-origin"
        assert headers["x-content-type-options"] == "nosniff"


def test_turns_are_given_before_or_after_one_and_to_their_owner_alone(
    visitor: httpx.Client, people: People
) -> None:
    assert visitor.get("/chat/turns/?after=0").status_code == 401
    rosa = people.rosa
    pressed(visitor, rosa)

    assert visitor.get("/chat/turns/?after=0").json() == {"conversation": rosa.conversation.pk, "turns": []}
    for asked in (
        "",
        "?before=1&after=1",
        "?after=-1",
        "?after=x",
        "?before=%D9%A3",
        "?after=1e3",
        "?after=" + "9" * 40,
    ):
        assert visitor.get(f"/chat/turns/{asked}").status_code == 400, asked
    assert visitor.get(f"/chat/turns/?after={2**63 - 1}").json()["turns"] == []


def test_an_address_that_leads_nowhere_gets_a_page_of_our_own(visitor: httpx.Client) -> None:
    answer = visitor.get("/wp-login.php")

    assert answer.status_code == 404
    assert "There is nothing to see here." in answer.text
