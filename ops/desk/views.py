"""The staff's pages: sign in, lists of turns, one turn's whole story.

Sync views on purpose: a password takes long to check, and must not hold up a reply that is being said.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_safe

from companion.access import end_visit
from companion.tries import Tries
from ops.desk import audit
from ops.desk.access import sites_of, staff_only, unkept
from ops.desk.meanings import meaning_of
from ops.desk.shapes import Entry, Shelf, Story, Tried
from ops.desk.stories import shelf, story
from ops.desk.telling import barred, next_step, steps

LARGEST_ID = 2**63 - 1


class StaffForm(AuthenticationForm):
    """A name and a password of a member of staff."""

    def confirm_login_allowed(self, user: User) -> None:
        super().confirm_login_allowed(user)
        if not user.is_staff:
            # The same answer as for a wrong password: who exists is nobody's business.
            raise self.get_invalid_login_error()


@method_decorator(unkept, name="dispatch")
class SignIn(LoginView):
    """Where staff sign in. A participant's visit in the same browser ends first, on every screen."""

    template_name = "ops/sign_in.html"
    authentication_form = StaffForm
    redirect_authenticated_user = True
    tries: Callable[[], Tries] | None = None
    """Given where the page is placed."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if self._made().allows(self._address):
            return super().post(request, *args, **kwargs)
        return self.render_to_response(self.get_context_data(too_many_tries=True, form=None), status=429)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        end_visit(self.request)
        audit.record(audit.SIGNED_IN, who=form.get_user().get_username())
        return super().form_valid(form)

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        self._made().did_not_fit(self._address)
        return super().form_invalid(form)

    def _made(self) -> Tries:
        assert self.tries is not None
        return self.tries()

    @property
    def _address(self) -> str:
        return str(self.request.META.get("REMOTE_ADDR", ""))


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """A turn in a list, with its words for people."""

    turn: Entry
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """An attempt, with its words for people."""

    attempt: Tried
    meaning: str


@require_safe
@staff_only
def turns(request: HttpRequest) -> HttpResponse:
    """One list of turns, page by page, for the sites this member of staff supervises. No word anybody wrote."""
    chosen = request.GET.get("show", Shelf.PAUSED)
    if chosen not in list(Shelf):
        raise Http404
    page = shelf(Shelf(chosen), sites=sites_of(request.user), after=_id(request.GET.get("after")))
    listed = [Listed(turn=entry, why=meaning_of(entry.reason)) for entry in page.entries]
    context = {
        "shelves": list(Shelf),
        "chosen": chosen,
        "listed": listed,
        "further": page.further,
        "here": "turns",
    }
    return render(request, "ops/turns.html", context)


@require_safe
@staff_only
def turn(request: HttpRequest, turn: int) -> HttpResponse:
    """One turn's whole story. That it was opened is on record before it is shown."""
    found = story(turn, sites=sites_of(request.user)) if turn <= LARGEST_ID else None
    if found is None:
        raise Http404
    audit.record(
        audit.READ_STORY, who=request.user.get_username(), about=found.participant, note=f"turn {found.id}"
    )
    return render(request, "ops/turn.html", _told(found) | {"here": "turns"})


def _told(found: Story) -> dict[str, object]:
    return {
        "turn": found,
        "why": meaning_of(found.reason),
        "next": next_step(found),
        "steps": steps(found),
        "barred": [barred(lane) for lane in found.skipped],
        "attempts": [
            Told(
                attempt=attempt,
                meaning=meaning_of(attempt.failure) if attempt.failure else "The reply was whole.",
            )
            for attempt in found.attempts
        ],
    }


def _id(text: str | None) -> int | None:
    if text is None or not (text.isascii() and text.isdigit()) or len(text) > len(str(LARGEST_ID)):
        return None
    return min(int(text), LARGEST_ID)
