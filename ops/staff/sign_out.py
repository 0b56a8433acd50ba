"""Sign-out: a member of staff who owns open flags is asked to hand each of them over first."""

from django.contrib.auth.views import LogoutView
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from companion.models import Flag
from companion.supervision.states import FlagState
from ops.access import get_access


class SignOut(LogoutView):
    """Leads to the shift page while this person owns flags, unless they sign out all the same (`anyway`)."""

    next_page = "/staff/sign-in/"

    def post(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        if "anyway" not in request.POST and count_owned(request):
            return redirect(f"{reverse('staff_shift')}?leaving")
        answer: HttpResponseBase = super().post(request, *args, **kwargs)
        assert isinstance(answer, HttpResponse)
        return answer


def count_owned(request: HttpRequest) -> int:
    """How many flags that are not closed this person owns. By the index of such flags of their sites."""
    access = get_access(request.user)
    if access.user is None:
        return 0
    owned = Flag.objects.filter(site__in=access.sites, owner=access.user)
    return owned.exclude(state=FlagState.CLOSED).count()
