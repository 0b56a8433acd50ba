"""Staff are added, removed and given sites while all runs: at once, and each on record once (S5)."""

from django.contrib.auth import authenticate
from django.contrib.auth.models import User

from ops.access import get_access
from ops.models import AuditEntry
from tests.commands import BY, refused, run, run_lines
from tests.people import People, in_database
from tests.processes import Web
from tests.staff import last_entry, open_staff_client


def colleague(people: People, *arguments: str) -> tuple[str, str]:
    """A new member of staff: what they sign in with, and the password of the last line."""
    username = f"kim-{people.password}"
    does = arguments or ("--supervises", people.site.slug)
    return username, run_lines("staff", "add", username, "--name", "Kim", *does, *BY)[-1]


def user(username: str) -> User:
    return in_database(lambda: User.objects.get(username=username))


def sees(username: str) -> list[int]:
    return in_database(lambda: sorted(get_access(User.objects.get(username=username)).sites))


def test_a_new_colleague_signs_in_with_the_password_of_the_last_line_and_sees_her_site(
    service: Web, people: People
) -> None:
    username, password = colleague(people)
    with open_staff_client(service, user(username), password) as staff_client:
        assert staff_client.get("/ops/turns/").status_code == 200
    assert sees(username) == [people.site.pk]
    again = run_lines("staff", "add", username, "--name", "Kim", "--supervises", people.site.slug, *BY)
    assert len(again) == 1 and "was there before" in again[0]
    assert "Choose another" in refused("staff", "add", username, "--name", "Kit", "--operator", *BY)
    stored = in_database(
        lambda: list(AuditEntry.objects.filter(what="added_staff").values_list("note", flat=True))
    )
    assert stored[-1].startswith(f"staff {user(username).pk}, sites {people.site.pk}, command")
    assert not any(password in note for note in stored)


def test_what_a_new_colleague_is_to_be_must_be_said(people: People) -> None:
    add = ("staff", "add", f"kim-{people.password}", "--name", "Kim", *BY)
    assert "--operator, or --supervises" in refused(*add)
    assert "--operator, or --supervises" in refused(*add, "--operator", "--supervises", people.site.slug)
    assert "There is no site nowhere" in refused(*add, "--supervises", "nowhere")


def test_what_a_colleague_may_see_is_given_and_taken_and_each_is_on_record_once(people: People) -> None:
    username, _ = colleague(people)
    pk = user(username).pk
    for words in (
        ("supervises", username, people.elsewhere.slug),
        ("no-longer", username, people.site.slug),
        ("operator", username),
        ("supervisor", username),
    ):
        before = in_database(AuditEntry.objects.count)
        run("staff", *words, *BY)
        assert last_entry()[3].startswith(f"staff {pk}")
        run("staff", *words, *BY)
        assert in_database(AuditEntry.objects.count) == before + 1
    assert sees(username) == [people.elsewhere.pk]
    run("staff", "operator", username, *BY)
    assert in_database(lambda: get_access(User.objects.get(username=username)).is_operator)
    assert f"{username}  Kim  operator" in run("staff", "list")


def test_removed_staff_are_signed_out_at_once_and_return_with_a_new_password_and_no_sites(
    service: Web, people: People
) -> None:
    username, password = colleague(people)
    with open_staff_client(service, user(username), password) as staff_client:
        run("staff", "withdraw", username, *BY)
        assert staff_client.get("/ops/turns/").status_code == 302
        assert "before" in run("staff", "withdraw", username, *BY)
        assert "staff restore" in refused("staff", "password", username, *BY)
        new = run_lines("staff", "restore", username, *BY)[-1]
        # The session of before stays ended.
        assert staff_client.get("/ops/turns/").status_code == 302
    assert in_database(lambda: authenticate(username=username, password=password)) is None
    assert in_database(lambda: authenticate(username=username, password=new)) is not None
    assert sees(username) == []


def test_a_new_password_ends_the_sessions_of_the_old_one(service: Web, people: People) -> None:
    username, password = colleague(people, "--operator")
    with open_staff_client(service, user(username), password) as staff_client:
        new = run_lines("staff", "password", username, *BY)[-1]
        assert staff_client.get("/ops/turns/").status_code == 302
    with open_staff_client(service, user(username), new) as staff_client:
        assert staff_client.get("/ops/turns/").status_code == 200
    assert last_entry()[1] == "signed_in"


def test_a_name_that_no_person_can_have_is_refused_in_a_sentence(people: People) -> None:
    assert "no member of staff who signs in as unknown." in refused("staff", "withdraw", "unknown", *BY)
    odd = "x\udce1"
    for words in (("staff", "withdraw", odd), ("site", "close", odd), ("card", "Rosa", "--site", odd)):
        assert "not UTF-8" in refused(*words, *BY)
    assert "no participant" in refused("card", "Rosa", "--number", "9" * 25, *BY)
