"""Sessions are stored under a hash of their key: what lies in the database or a dump opens nothing."""

import httpx
from django.contrib.sessions.models import Session
from django.db import connection

from companion.sessions import SessionStore, hash_session_key
from tests.people import People, in_database
from tests.processes import Web


def test_no_key_of_a_live_session_lies_in_the_database(service: Web, people: People) -> None:
    key = people.rosa.sign_in(service.url)

    def stored() -> tuple[list[str], str]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT string_agg(s::text, ' ') FROM django_session s")
            return list(Session.objects.values_list("session_key", flat=True)), cursor.fetchone()[0]

    keys, rows = in_database(stored)
    assert hash_session_key(key) in keys
    assert key not in rows


def test_what_lies_in_the_database_opens_nothing(service: Web, people: People) -> None:
    key = people.rosa.sign_in(service.url)
    with httpx.Client(base_url=service.url, trust_env=False) as client:
        client.cookies["companion"] = key
        assert client.get("/chat/").status_code == 200
        client.cookies["companion"] = hash_session_key(key)
        assert client.get("/chat/").status_code == 302, "away from the chat"


def test_a_session_is_found_renewed_and_deleted_by_its_key() -> None:
    def live() -> list[bool]:
        store = SessionStore()
        store["word"] = "x"
        store.save()
        first = store.session_key or ""
        found = [SessionStore(first).load() == {"word": "x"}, SessionStore().exists(first)]
        store.cycle_key()
        second = store.session_key or ""
        found += [SessionStore(first).load() == {}, SessionStore(second).load() == {"word": "x"}]
        store.delete()
        return [*found, not SessionStore().exists(second)]

    assert all(in_database(live))


def test_a_late_request_of_the_last_person_leaves_the_cookie_of_the_next_one_alone(
    service: Web, people: People
) -> None:
    key = people.rosa.sign_in(service.url)
    in_database(lambda: SessionStore(key).delete())
    cookie = {"Cookie": f"companion={key}"}
    late = httpx.get(f"{service.url}/chat/", headers=cookie, trust_env=False)
    assert (late.status_code, late.headers.get_list("set-cookie")) == (302, [])


def test_a_visit_that_is_ended_once_more_leaves_the_cookie_of_the_next_one_alone(
    service: Web, people: People
) -> None:
    key = people.rosa.sign_in(service.url)
    from_the_page = {"Cookie": f"companion={key}", "Origin": service.url}

    def finish() -> list[str]:
        answer = httpx.post(f"{service.url}/chat/finish/", headers=from_the_page, trust_env=False)
        assert answer.status_code == 302
        return [cookie.split("=")[0] for cookie in answer.headers.get_list("set-cookie")]

    assert finish() == ["companion"]
    assert finish() == []
