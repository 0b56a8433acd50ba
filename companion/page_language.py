"""Chooses the language of each page that a participant is shown, before its view runs."""

from collections.abc import Callable, Collection, Iterator

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.translation.trans_real import parse_accept_lang_header

from companion.access import session_visit_id
from companion.languages import OF_PERSON
from companion.machines.registry import recognise

OF_STAFF = ("/ops/", "/staff/")
"""Pages of staff have the language of the installation."""
PARAMETER = "in"
"""Names the language in the address of a page that is shown after a visit, when it is not known whose it was."""

LANGUAGE_OF_VISIT = f"""
SELECT {OF_PERSON} FROM companion_visit v
JOIN companion_participant p ON p.id = v.participant_id
JOIN companion_site s ON s.id = p.site_id
WHERE v.id = %s
"""


class PageLanguageMiddleware:
    """Activates the language of the participant; before sign-in, that of the machine's site or of the browser."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer in that language and say in a header which it is."""
        if request.path.startswith(OF_STAFF):
            return self._get_response(request)
        language = choose_language(request, [code for code, _ in settings.LANGUAGES])
        with translation.override(language):
            response = self._get_response(request)
        response.headers.setdefault("Content-Language", language)
        return response


def choose_language(request: HttpRequest, known: Collection[str]) -> str:
    """Return one of the known languages; the first of them where nothing says otherwise."""
    for language in _list_wanted(request):
        for one in (language, language.partition("-")[0]):
            if one in known:
                return one
    return next(iter(known))


def _list_wanted(request: HttpRequest) -> Iterator[str]:
    yield _find_language(request)
    yield request.GET.get(PARAMETER, "")
    yield _find_language_of_machine(request)
    yield from _list_accepted(request)


def _find_language_of_machine(request: HttpRequest) -> str:
    """Return the language of the site whose machine this browser is; empty: it is none."""
    try:
        machine = recognise(request)
    except DatabaseError:
        return ""
    return machine.language if machine else ""


def _find_language(request: HttpRequest) -> str:
    """Return the language of the participant of the session's visit, over or not; empty: it is not known."""
    try:
        visit = session_visit_id(request)
        if visit is None:
            return ""
        with connection.cursor() as cursor:
            cursor.execute(LANGUAGE_OF_VISIT, [visit])
            row = cursor.fetchone()
    except DatabaseError:
        # The view says what is to be said without a database, in a language that the browser asks for.
        return ""
    return str(row[0]) if row else ""


def _list_accepted(request: HttpRequest) -> list[str]:
    header = request.headers.get("Accept-Language", "")
    # Of the same preference the parser keeps the order of the header.
    return [language for language, weight in parse_accept_lang_header(header) if weight > 0]


def language_parameter(request: HttpRequest) -> str:
    """Return what is added to the address of a page that is shown after the visit, such as `?in=es`."""
    language = translation.get_language() or ""
    is_first = language == settings.LANGUAGES[0][0] or request.path.startswith(OF_STAFF)
    return "" if is_first else f"?{PARAMETER}={language}"


def add_language(request: HttpRequest) -> dict[str, str]:
    """Give templates `in_language`, which is `language_parameter`."""
    return {"in_language": language_parameter(request)}
