"""The staff's pages: sign in, lists of turns, one turn's whole story.

Sync views on purpose: a password takes long to check, and must not hold up a reply that is being said.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_safe

from companion.access import end_visit
from companion.throttle import WINDOW_S, SignInThrottle
from ops import audit
from ops.access import sites_of, staff_only, unkept
from ops.staff.passwords import TooBusy, user_with_password
from ops.transcripts.formatting import barred, next_step, steps
from ops.transcripts.meanings import meaning_of
from ops.transcripts.queries import participant_of, shelf, story
from ops.transcripts.shapes import Entry, Shelf, Story, Tried

LARGEST_ID = 2**63 - 1
OPENED = "ops.turns.opened"
OPENED_FOR_S = 3_600
"""How long a page may read on before that is an opening of its own."""
LONGEST_NAME = 150
RETRY_AFTER_S = {429: WINDOW_S, 503: 30}


class StaffForm(AuthenticationForm):
    """A name and a password of a member of staff."""

    def clean(self) -> dict[str, Any]:
        name, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if name is not None and password:
            self.user_cache = user_with_password(name, password)
            if self.user_cache is None:
                raise self.get_invalid_login_error()
            self.confirm_login_allowed(self.user_cache)
        return self.cleaned_data

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
    throttle: Callable[[], SignInThrottle] | None = None
    """Given where the page is placed."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not self._made().reserve(self._name, self._address):
            return self._refuse(429, too_many_tries=True)
        try:
            return super().post(request, *args, **kwargs)
        except TooBusy:
            self._made().release(self._name, self._address)
            return self._refuse(503, too_busy=True)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        self._made().release(self._name, self._address)
        end_visit(self.request)
        audit.record(audit.SIGNED_IN, who=form.get_user().get_username())
        return super().form_valid(form)

    def _refuse(self, status: int, **why: bool) -> HttpResponse:
        response = self.render_to_response(self.get_context_data(form=None, **why), status=status)
        response["Retry-After"] = str(RETRY_AFTER_S[status])
        return response

    def _made(self) -> SignInThrottle:
        assert self.throttle is not None
        return self.throttle()

    @property
    def _name(self) -> str:
        return self.request.POST.get("username", "")[:LONGEST_NAME]

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
    if turn > LARGEST_ID:
        raise Http404
    found = story(turn, sites=sites_of(request.user))
    if found is None:
        if (person := participant_of(turn)) is not None:
            audit.record_refusal(request.user.get_username(), about=person, note=f"turn {turn}")
        raise Http404
    _put_on_record(request, found)
    opened = signing.dumps([request.user.pk, found.id], salt=OPENED)
    return render(request, "ops/turn.html", _told(found) | {"here": "turns", "opened": opened})


@require_safe
@staff_only
def words(request: HttpRequest, turn: int) -> JsonResponse:
    """What a turn's page reads on with while a reply is being said. Its opening is on record; reading on is not."""
    found = story(turn, sites=sites_of(request.user)) if turn <= LARGEST_ID else None
    if found is None:
        raise Http404
    if not _was_opened(request, turn):
        _put_on_record(request, found)
    return JsonResponse({"stands": found.stands, "seq": found.seq, "reply": found.reply})


def _put_on_record(request: HttpRequest, found: Story) -> None:
    audit.record(
        audit.READ_STORY, who=request.user.get_username(), about=found.participant, note=f"turn {found.id}"
    )


def _was_opened(request: HttpRequest, turn: int) -> bool:
    try:
        opened = signing.loads(request.headers.get("X-Opened", ""), salt=OPENED, max_age=OPENED_FOR_S)
    except signing.BadSignature:
        return False
    return bool(opened == [request.user.pk, turn])


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
