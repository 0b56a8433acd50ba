"""What a member of staff may see: one rule, for pages and sockets. Checked at every request, never cached."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext

from ops.catalogue_marks import gettext_noop
from ops.database import fetch_one

OPERATORS = "operators"
"""The group whose members see how turns of all sites go, by number. Names and words take a stated reason."""

STAFF_NAME = "left(coalesce(nullif(btrim(u.first_name || ' ' || u.last_name), ''), u.username), 150)"
"""The name that participants and colleagues read, of `auth_user u`."""
IS_OPERATOR = """(u.is_superuser OR EXISTS (
    SELECT 1 FROM auth_user_groups m JOIN auth_group g ON g.id = m.group_id
    WHERE m.user_id = u.id AND g.name = %(operators)s))"""
"""Whether `auth_user u` is an operator. Takes `operators`, the name of their group."""

# The rule. Users who are inactive or not staff are left out. One row each: id, password, ids of sites, is_operator, ids
# of supervised sites, name.
SELECT_ACCESS = f"""
SELECT u.id, u.password,
       CASE WHEN role.is_operator THEN ARRAY(SELECT id FROM companion_site ORDER BY id)
            ELSE own.sites END,
       role.is_operator, own.sites,
       {STAFF_NAME}
FROM auth_user u
CROSS JOIN LATERAL (
    -- OFFSET 0 keeps it one read: both columns above would each have their own.
    SELECT ARRAY(SELECT site_id FROM ops_supervised WHERE user_id = u.id ORDER BY site_id) AS sites OFFSET 0
) own
CROSS JOIN LATERAL (SELECT {IS_OPERATOR} AS is_operator) role
WHERE u.id = ANY(%(users)s) AND u.is_active AND u.is_staff
"""

SIGNED_OUT = gettext_noop(
    "You had been signed out, so nothing was changed. Sign in, look again, and do it once more."
)

ViewFunction = Callable[..., HttpResponseBase]


@dataclass(frozen=True, kw_only=True, slots=True)
class StaffAccess:
    """`sites`: ids of the sites whose people this member of staff may see. Operators also move traffic.

    `supervised`: those of them that are the person's own. Live words of the others take a stated reason. `name` is the
    one that participants and colleagues read.
    """

    user: int | None = None
    sites: frozenset[int] = frozenset()
    is_operator: bool = False
    supervised: frozenset[int] = frozenset()
    name: str = ""

    def name_of(self, name: str, *, participant: int, site: int) -> str:
        """What this reader is shown of a participant of this site: the name, or else the number."""
        return name if site in self.supervised else name_person(participant)


NO_ACCESS = StaffAccess()


def name_person(participant: int) -> str:
    """What stands for a participant whose name is not shown."""
    return gettext("Person {number}").format(number=participant)


def get_access(user: AbstractBaseUser | AnonymousUser) -> StaffAccess:
    """What this user may see now; NO_ACCESS unless they are active staff. Uses Django's connection."""
    if user.pk is None:
        return NO_ACCESS
    row = fetch_one(SELECT_ACCESS, access_params([user.pk]))
    return NO_ACCESS if row is None else build_access(row)


def build_access(row: Sequence[Any]) -> StaffAccess:
    """The access that a row of SELECT_ACCESS gives."""
    user, _, sites, is_operator, supervised, name = row
    return StaffAccess(
        user=user,
        sites=frozenset(sites),
        is_operator=is_operator,
        supervised=frozenset(supervised),
        name=name,
    )


def access_params(users: list[int]) -> dict[str, Any]:
    """The parameters of SELECT_ACCESS, for users by id."""
    return {"users": users, "operators": OPERATORS}


def staff_only(view: ViewFunction) -> ViewFunction:
    """For signed-in staff. Others are sent to the sign-in page, participants get a 403."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return _redirect_to_sign_in(request)
        if not request.user.is_staff:
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return guarded


def operators_only(view: ViewFunction) -> ViewFunction:
    """For operators. Other staff get a 403, which says that this takes an operator."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not get_access(request.user).is_operator:
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return staff_only(guarded)


def form_on(page: str) -> Callable[[ViewFunction], ViewFunction]:
    """For the target of a form on the page named `page`. A GET is redirected to that page."""

    def decorate(view: ViewFunction) -> ViewFunction:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.method in ("GET", "HEAD"):
                return redirect(page)
            if request.method != "POST":
                return HttpResponseNotAllowed(["GET", "POST"])
            return view(request, *args, **kwargs)

        return guarded

    return decorate


def _redirect_to_sign_in(request: HttpRequest) -> HttpResponseBase:
    if request.method in ("GET", "HEAD"):
        return redirect_to_login(request.get_full_path())
    # Drop the form: another person may sign in now.
    messages.warning(request, gettext(SIGNED_OUT))
    referrer = request.headers.get("Referer", "")
    is_own = url_has_allowed_host_and_scheme(referrer, {request.get_host()})
    path = urlsplit(referrer).path if is_own else ""
    return redirect_to_login(path if path.startswith("/ops/") else request.path)
