"""Staff of a measurement: accounts that supervise its site, each with an open session."""

from collections.abc import Sequence

from django.contrib.auth import login
from django.contrib.auth.models import Group, User
from django.http import HttpRequest

from companion.models import Conversation
from companion.sessions import SessionStore
from ops.access import OPERATORS
from ops.models import Supervision


def invite_staff(count: int, *, site: int) -> list[str]:
    """Create `count` supervisors of a site; returns the session key of each."""
    return [_sign_in(_add_supervisor(f"bench-{number}", site=site)) for number in range(count)]


def invite_operator() -> str:
    """Create an operator, who sees how turns of all sites go; returns the session key."""
    user = _add_account("bench-operator")
    user.groups.add(Group.objects.get_or_create(name=OPERATORS)[0])
    return _sign_in(user)


def list_conversations(site: int) -> Sequence[int]:
    """The conversations of a site, in the order in which its participants were added."""
    of_site = Conversation.objects.filter(participant__site=site).order_by("participant_id")
    return list(of_site.values_list("id", flat=True))


def _add_supervisor(username: str, *, site: int) -> User:
    user = _add_account(username)
    Supervision.objects.create(user=user, site_id=site)
    return user


def _add_account(username: str) -> User:
    user = User(username=username, is_staff=True)
    user.set_unusable_password()
    user.save()
    return user


def _sign_in(user: User) -> str:
    request = HttpRequest()
    request.session = SessionStore()
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    request.session.save()
    return request.session.session_key or ""
