"""Staff: added, given sites to supervise or all of them to run, taken away. All on record, all at once in force.

A page asks with every request who somebody is, an open socket every few seconds: see `ops.access`
and `ops.socket_access`.
"""

import secrets
from collections.abc import Sequence

from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction

from companion.cards import ALPHABET
from companion.models import Site
from ops import audit, names
from ops.access import OPERATORS, is_operator
from ops.changes import Done, Refused
from ops.models import Supervision
from ops.people import finding
from ops.text import escape_controls

SUPERVISORS = "supervisors"


@transaction.atomic
def added(username: str, name: str, *, sites: Sequence[str], operator: bool, by: str) -> Done:
    """Somebody new, with a password that is shown once. They supervise these sites, or are an operator."""
    own, signs_in_as = names.name(name), names.username(username)
    supervised = [finding.site(slug) for slug in sorted(set(sites))]
    if operator == bool(supervised):
        raise Refused("Say what they are to be: --operator, or --supervises SITE for each of their sites.")
    if there := User.objects.filter(username__iexact=signs_in_as).first():
        return _there(there, own)
    password = _password()
    try:
        with transaction.atomic():
            user = User.objects.create_user(signs_in_as, password=password, first_name=own, is_staff=True)
    except IntegrityError:
        raise Refused(f"Somebody else adds {signs_in_as} at this moment. Ask again.") from None
    _into(user, OPERATORS if operator else SUPERVISORS)
    for site in supervised:
        Supervision.objects.create(user=user, site=site)
    where = f"sites {', '.join(str(site.pk) for site in supervised)}" if supervised else "operator"
    _record(audit.ADDED_STAFF, user, where, by=by)
    does = (
        "operator"
        if operator
        else "supervises " + ", ".join(escape_controls(site.name) for site in supervised)
    )
    return Done(
        sentence=f"{escape_controls(own)} was added ({does}) and signs in as {signs_in_as} with this password. "
        "It is shown once.",
        secret=password,
    )


@transaction.atomic
def supervises(username: str, slug: str, *, by: str) -> Done:
    """From now on they see the people of this site."""
    user, site = _active(username), finding.site(slug)
    _, is_new = Supervision.objects.get_or_create(user=user, site=site)
    told = f"{user.username} supervises {escape_controls(site.name)}"
    if not is_new:
        return Done(sentence=f"{told}, and did before.", is_new=False)
    _record(audit.SUPERVISES, user, f"site {site.pk}", by=by)
    return Done(sentence=f"{told}.")


@transaction.atomic
def no_longer_supervises(username: str, slug: str, *, by: str) -> Done:
    """From now on they see the people of this site no more, unless they are an operator."""
    user, site = finding.member(username), finding.site(slug)
    gone, _ = Supervision.objects.filter(user=user, site=site).delete()
    if not gone:
        return Done(sentence=f"{user.username} did not supervise {escape_controls(site.name)}.", is_new=False)
    _record(audit.SUPERVISES_NO_LONGER, user, f"site {site.pk}", by=by)
    also = " As an operator they still see all sites." if is_operator(user) else ""
    return Done(sentence=f"{user.username} supervises {escape_controls(site.name)} no longer.{also}")


@transaction.atomic
def made(username: str, *, operator: bool, by: str) -> Done:
    """An operator, who sees all sites and moves traffic; or a supervisor, who sees the sites that are given."""
    user = _active(username)
    role = "an operator" if operator else "a supervisor"
    if is_operator(user) == operator:
        return Done(sentence=f"{user.username} was {role} before.", is_new=False)
    user.groups.remove(*user.groups.filter(name__in=[OPERATORS, SUPERVISORS]))
    # Superusers are operators too, whatever group they are in.
    user.is_superuser = False
    user.save(update_fields=["is_superuser"])
    _into(user, OPERATORS if operator else SUPERVISORS)
    _record(audit.MADE_OPERATOR if operator else audit.MADE_SUPERVISOR, user, by=by)
    return Done(sentence=f"{user.username} is now {role}.")


@transaction.atomic
def withdrawn(username: str, *, by: str) -> Done:
    """They are signed out everywhere, can sign in no more, and see nothing. What they did stays on record."""
    user = finding.member(username)
    if not user.is_active:
        return Done(sentence=f"{user.username} was withdrawn before.", is_new=False)
    user.is_active = user.is_superuser = False
    # Every session was made with the password, and none holds without it, even if they come back one day.
    user.set_unusable_password()
    user.save()
    user.groups.clear()
    gone, _ = Supervision.objects.filter(user=user).delete()
    _record(audit.WITHDREW_STAFF, user, f"supervisions {gone}", by=by)
    return Done(sentence=f"{user.username} is signed out everywhere and can sign in no more.")


@transaction.atomic
def restored(username: str, *, by: str) -> Done:
    """They can sign in again, with a new password, and see nobody's turns until that is given to them."""
    user = finding.member(username)
    if user.is_active:
        return Done(sentence=f"{user.username} is not withdrawn.", is_new=False)
    user.is_active = True
    password = _give_password(user)
    _into(user, SUPERVISORS)
    _record(audit.RESTORED_STAFF, user, by=by)
    return Done(
        sentence=f"{user.username} can sign in again with this password, and supervises nothing yet. It is shown once.",
        secret=password,
    )


@transaction.atomic
def given_password(username: str, *, by: str) -> Done:
    """A new password, shown once. They are signed out everywhere."""
    user = _active(username)
    password = _give_password(user)
    _record(audit.NEW_PASSWORD, user, by=by)
    return Done(
        sentence=f"{user.username} is signed out everywhere, and signs in with this password. It is shown once.",
        secret=password,
    )


def listed() -> list[str]:
    """Everybody who is staff or was, a line each."""
    return [_line(user) for user in User.objects.filter(is_staff=True).order_by("username")]


def _line(user: User) -> str:
    sites = Site.objects.filter(supervisions__user=user).order_by("slug").values_list("slug", flat=True)
    does = "operator" if is_operator(user) else f"supervises {', '.join(sites) or 'nothing'}"
    names = f"{escape_controls(user.username)}  {escape_controls(user.first_name)}"
    return f"{names}  {does if user.is_active else 'withdrawn'}"


def _there(user: User, name: str) -> Done:
    if user.is_staff and user.is_active and user.first_name == name:
        return Done(
            sentence=f"{user.username} was there before. manage.py staff password gives them a new password.",
            is_new=False,
        )
    if user.is_staff and not user.is_active:
        raise Refused(f"{user.username} was withdrawn. manage.py staff restore lets them in again.")
    raise Refused(f"Somebody else signs in as {user.username}. Choose another.")


def _active(username: str) -> User:
    user = finding.member(username)
    if not user.is_active:
        raise Refused(f"{user.username} was withdrawn. manage.py staff restore lets them in again.")
    return user


def _into(user: User, group: str) -> None:
    user.groups.add(Group.objects.get_or_create(name=group)[0])


def _give_password(user: User) -> str:
    password = _password()
    user.set_password(password)
    user.save()
    return password


def _password() -> str:
    return "-".join("".join(secrets.choice(ALPHABET) for _ in range(5)) for _ in range(3))


def _record(what: str, user: User, note: str = "", *, by: str) -> None:
    facts = ", ".join(part for part in (f"staff {user.pk}", note) if part)
    audit.record(what, who=by, note=audit.by_command(facts))
