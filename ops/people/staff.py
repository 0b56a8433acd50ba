"""Staff: add, set role and supervised sites, withdraw, restore. Every change is recorded and takes effect at once.

Pages check access at every request and open sockets every second: see `ops.access` and `ops.socket_access`.
"""

import secrets
from collections.abc import Iterable, Sequence

from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction

from companion.look_alikes import ALPHABET
from companion.models import Site
from ops import audit, names
from ops.access import OPERATORS, get_access
from ops.changes import ChangeRefused, ChangeResult
from ops.models import GroupSupervision, SiteGroup, Supervision
from ops.people import lookup
from ops.people.second_factor import remove_second_factor
from ops.people.staff_identities import forget_identity
from ops.text import escape_controls

SUPERVISORS = "supervisors"
MAX_NAMED = 10
"""Sites that one answer names."""


@transaction.atomic
def add_staff(
    username: str, name: str, *, sites: Sequence[str], groups: Sequence[str] = (), operator: bool, by: str
) -> ChangeResult:
    """A new member of staff, who supervises these sites and groups or is an operator. The password is shown once."""
    own, login = names.clean_name(name), names.clean_username(username)
    given = [lookup.get_group(slug) for slug in sorted(set(groups))]
    supervised = [lookup.get_site(slug) for slug in sorted(set(sites))]
    # Both or neither: an operator sees every site, and a supervisor without one sees nothing.
    if operator == bool(supervised or given):
        raise ChangeRefused(
            "Say what they are to be: --operator, or --supervises SITE for each of their sites, "
            "or --supervises-group GROUP for each of their groups."
        )
    if there := User.objects.filter(username__iexact=login).first():
        return _report_existing(there, own)
    password = generate_password()
    try:
        with transaction.atomic():
            user = User.objects.create_user(login, password=password, first_name=own, is_staff=True)
    except IntegrityError:
        raise ChangeRefused(f"{login} is being added by another command at this moment. Try again.") from None
    _add_to_group(user, OPERATORS if operator else SUPERVISORS)
    for site in supervised:
        Supervision.objects.create(user=user, site=site)
    for group in given:
        GroupSupervision.objects.create(user=user, group=group)
    _record(audit.ADDED_STAFF, user, format_given(supervised, given) or "operator", by=by)
    places = [site.name for site in supervised] + [f"each site of {group.name}" for group in given]
    does = "operator" if operator else "supervises " + ", ".join(map(escape_controls, places))
    return ChangeResult(
        sentence=f"{escape_controls(own)} was added ({does}) and signs in as {login} with this password. "
        "It is shown once.",
        secret=password,
    )


@transaction.atomic
def add_supervision(username: str, slug: str, *, by: str) -> ChangeResult:
    """Let them see the people of this site."""
    user, site = _get_active(username), lookup.get_site(slug)
    _, is_new = Supervision.objects.get_or_create(user=user, site=site)
    sentence = f"{user.username} supervises {escape_controls(site.name)}"
    if not is_new:
        return ChangeResult(sentence=f"{sentence}, and did before.", is_new=False)
    _record(audit.SUPERVISES, user, f"site {site.pk}", by=by)
    return ChangeResult(sentence=f"{sentence}.")


@transaction.atomic
def remove_supervision(username: str, slug: str, *, by: str) -> ChangeResult:
    """Stop them seeing the people of this site, unless they are an operator."""
    user, site = lookup.get_member(username), lookup.get_site(slug)
    gone, _ = Supervision.objects.filter(user=user, site=site).delete()
    if not gone:
        return ChangeResult(
            sentence=f"{user.username} did not supervise {escape_controls(site.name)}.", is_new=False
        )
    _record(audit.SUPERVISES_NO_LONGER, user, f"site {site.pk}", by=by)
    return ChangeResult(
        sentence=f"{user.username} supervises {escape_controls(site.name)} no longer.{_tell_rest(user, [site.pk])}"
    )


@transaction.atomic
def add_group_supervision(username: str, slug: str, *, by: str) -> ChangeResult:
    """Let them see the people of each site of this group, also of those that join it later."""
    user, group = _get_active(username), lookup.get_group(slug)
    _, is_new = GroupSupervision.objects.get_or_create(user=user, group=group)
    sentence = f"{user.username} supervises each site of {escape_controls(group.name)}"
    if not is_new:
        return ChangeResult(sentence=f"{sentence}, and did before.", is_new=False)
    _record(audit.SUPERVISES, user, f"group {group.pk}", by=by)
    return ChangeResult(sentence=f"{sentence}. Sites in it: {group.grouped.count()}.")


@transaction.atomic
def remove_group_supervision(username: str, slug: str, *, by: str) -> ChangeResult:
    """Stop them seeing the people of this group's sites, except of those that they were given otherwise."""
    user, group = lookup.get_member(username), lookup.get_group(slug)
    gone, _ = GroupSupervision.objects.filter(user=user, group=group).delete()
    if not gone:
        return ChangeResult(
            sentence=f"{user.username} did not supervise the group {escape_controls(group.name)}.",
            is_new=False,
        )
    _record(audit.SUPERVISES_NO_LONGER, user, f"group {group.pk}", by=by)
    sites = group.grouped.values_list("site_id", flat=True)
    return ChangeResult(
        sentence=f"{user.username} supervises the group {escape_controls(group.name)} no longer."
        f"{_tell_rest(user, sites)}"
    )


@transaction.atomic
def set_role(username: str, *, operator: bool, by: str) -> ChangeResult:
    """Make them an operator, who sees all sites and moves traffic, or a supervisor, who sees supervised sites."""
    user = _get_active(username)
    role = "an operator" if operator else "a supervisor"
    if get_access(user).is_operator == operator:
        return ChangeResult(sentence=f"{user.username} was {role} before.", is_new=False)
    user.groups.remove(*user.groups.filter(name__in=[OPERATORS, SUPERVISORS]))
    # A superuser is an operator in any group.
    user.is_superuser = False
    user.save(update_fields=["is_superuser"])
    _add_to_group(user, OPERATORS if operator else SUPERVISORS)
    _record(audit.MADE_OPERATOR if operator else audit.MADE_SUPERVISOR, user, by=by)
    return ChangeResult(sentence=f"{user.username} is now {role}.")


@transaction.atomic
def withdraw_staff(username: str, *, by: str) -> ChangeResult:
    """Sign them out everywhere and take every right away. The record of what they did stays."""
    user = lookup.get_member(username)
    if not user.is_active:
        return ChangeResult(sentence=f"{user.username} was withdrawn before.", is_new=False)
    user.is_active = user.is_superuser = False
    # Sessions are bound to the password, so this ends them for good, even if the account is restored later.
    user.set_unusable_password()
    user.save()
    remove_second_factor(user)
    forget_identity(user)
    user.groups.clear()
    gone, _ = Supervision.objects.filter(user=user).delete()
    groups, _ = GroupSupervision.objects.filter(user=user).delete()
    _record(audit.WITHDREW_STAFF, user, f"supervisions {gone}, groups {groups}", by=by)
    return ChangeResult(sentence=f"{user.username} is signed out everywhere and can sign in no more.")


@transaction.atomic
def restore_staff(username: str, *, by: str) -> ChangeResult:
    """Let them sign in again, with a new password and no supervised site."""
    user = lookup.get_member(username)
    if user.is_active:
        return ChangeResult(sentence=f"{user.username} is not withdrawn.", is_new=False)
    user.is_active = True
    password = _set_new_password(user)
    _add_to_group(user, SUPERVISORS)
    _record(audit.RESTORED_STAFF, user, by=by)
    return ChangeResult(
        sentence=f"{user.username} can sign in again with this password, and supervises nothing yet. It is shown once.",
        secret=password,
    )


@transaction.atomic
def reset_password(username: str, *, by: str) -> ChangeResult:
    """Set a new password, shown once. They are signed out everywhere."""
    user = _get_active(username)
    password = _set_new_password(user)
    _record(audit.NEW_PASSWORD, user, by=by)
    return ChangeResult(
        sentence=f"{user.username} is signed out everywhere, and signs in with this password. It is shown once.",
        secret=password,
    )


@transaction.atomic
def forget_second_factor(username: str, *, by: str) -> ChangeResult:
    """For a lost phone: forget the app, and set a new password, shown once. They are signed out everywhere."""
    user = _get_active(username)
    if not remove_second_factor(user):
        return ChangeResult(sentence=f"{user.username} signs in without an app.", is_new=False)
    # The person at the counter may not be the one whose account it is: what was known before opens nothing.
    password = _set_new_password(user)
    _record(audit.REMOVED_SECOND_FACTOR, user, by=by)
    return ChangeResult(
        sentence=f"{user.username} is signed out everywhere, and signs in with this password, without the app. "
        "It is shown once.",
        secret=password,
    )


@transaction.atomic
def set_email(username: str, address: str, *, by: str) -> ChangeResult:
    """The address to which flags of their sites ring; empty: none. The record says that it changed, and not to what."""
    user = _get_active(username)
    address = names.clean_email(address)
    if user.email == address:
        return ChangeResult(
            sentence=f"The address of {escape_controls(user.get_username())} is that already."
        )
    user.email = address
    user.save(update_fields=["email"])
    _record(audit.SET_EMAIL, user, by=by)
    does = "Flags of their sites ring there" if address else "No flag rings by e-mail"
    return ChangeResult(sentence=f"{does}: {escape_controls(user.get_username())}.")


def list_staff() -> list[str]:
    """Every present and former member of staff, a line each."""
    return [_line(user) for user in User.objects.filter(is_staff=True).order_by("username")]


def _line(user: User) -> str:
    sites = Site.objects.filter(supervisions__user=user).order_by("slug").values_list("slug", flat=True)
    groups = SiteGroup.objects.filter(supervisions__user=user).order_by("slug").values_list("slug", flat=True)
    given = ", ".join([*sites, *(f"group {slug}" for slug in groups)])
    does = "operator" if get_access(user).is_operator else f"supervises {given or 'nothing'}"
    names = f"{escape_controls(user.username)}  {escape_controls(user.first_name)}"
    return f"{names}  {does if user.is_active else 'withdrawn'}"


def format_given(sites: Sequence[Site], groups: Sequence[SiteGroup]) -> str:
    """The note of what a member of staff was given, by ids; empty: nothing."""
    return audit.join_note(
        f"sites {', '.join(str(site.pk) for site in sites)}" if sites else "",
        f"groups {', '.join(str(group.pk) for group in groups)}" if groups else "",
    )


def _tell_rest(user: User, taken: Iterable[int]) -> str:
    """What they still see of these sites, as a sentence; empty: nothing."""
    access = get_access(user)
    if access.is_operator:
        return " As an operator they still see all sites."
    if kept := access.supervised & set(taken):
        slugs = Site.objects.filter(pk__in=kept).order_by("slug").values_list("slug", flat=True)[:MAX_NAMED]
        more = f" and {len(kept) - MAX_NAMED} more" if len(kept) > MAX_NAMED else ""
        return f" They were given these otherwise, and still see them: {', '.join(slugs)}{more}."
    return ""


def _report_existing(user: User, name: str) -> ChangeResult:
    if user.is_staff and user.is_active and user.first_name == name:
        return ChangeResult(
            sentence=f"{user.username} was there before. manage.py staff password gives them a new password.",
            is_new=False,
        )
    if user.is_staff and not user.is_active:
        raise ChangeRefused(f"{user.username} was withdrawn. manage.py staff restore lets them in again.")
    raise ChangeRefused(f"Another account signs in as {user.username}. Choose another name.")


def _get_active(username: str) -> User:
    user = lookup.get_member(username)
    if not user.is_active:
        raise ChangeRefused(f"{user.username} was withdrawn. manage.py staff restore lets them in again.")
    return user


def _add_to_group(user: User, group: str) -> None:
    user.groups.add(Group.objects.get_or_create(name=group)[0])


def _set_new_password(user: User) -> str:
    password = generate_password()
    user.set_password(password)
    user.save()
    return password


def generate_password() -> str:
    """Fifteen letters and digits that are not easily confused, in three groups."""
    return "-".join("".join(secrets.choice(ALPHABET) for _ in range(5)) for _ in range(3))


def _record(what: str, user: User, note: str = "", *, by: str) -> None:
    audit.record(what, who=by, note=audit.format_command_note(f"staff {user.pk}", note))
