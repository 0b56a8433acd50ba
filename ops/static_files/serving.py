"""Answers for everything under `/static/`, from memory."""

import gzip
import hashlib
import logging
import mimetypes
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotAllowed
from django.utils.cache import get_conditional_response

from ops.stack import unavailable
from ops.static_files.kept import HASHED, KeptFiles
from ops.static_files.names import ReleaseFiles

log = logging.getLogger(__name__)

FOR_EVER = "public, max-age=31536000, immutable"
ASK_EACH_TIME = "no-cache"
NOT_AT_ALL = "no-store"
TAKES_GZIP = re.compile(r"\bgzip\b")


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """One file, ready to be sent; `small` is the same in gzip."""

    content: bytes
    small: bytes
    kind: str
    tag: str
    caching: str


def build_answer(name: str, content: bytes, caching: str) -> Answer:
    """A file by its name and what is in it."""
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return Answer(
        content=content,
        small=gzip.compress(content, mtime=0),
        kind=f"{kind}; charset=utf-8",
        # Weak, because it names the content and not the way it is packed.
        tag=f'W/"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"',
        caching=caching,
    )


class StaticFiles:
    """Middleware: this release's files under hashed and plain names, other releases' under theirs."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response
        files = cast(ReleaseFiles, staticfiles_storage).by_name()
        self._answers = dict(_answers(files))
        self._kept = KeptFiles(Path(settings.STATIC_ROOT))
        try:
            self._kept.keep(dict(files.values()))
        except OSError as refusal:
            log.warning(
                "static_files.not_kept folder=%s cause=%s. Pages work; one that is being opened during the next "
                "release may have to be loaded again. Make the folder usable, and start again.",
                settings.STATIC_ROOT,
                refusal.strerror,
            )

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """The file, or the response of the next middleware."""
        if not request.path_info.startswith(settings.STATIC_URL):
            return self._get_response(request)
        found = self._find(request.path_info.removeprefix(settings.STATIC_URL))
        if found is None:
            return self._get_response(request)
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        return _respond(request, found)

    def _find(self, name: str) -> Answer | None:
        if (known := self._answers.get(name)) is not None:
            return known
        parts = HASHED.fullmatch(name)
        if parts is None:
            return None
        if (content := self._kept.find(name)) is not None:
            return build_answer(name, content, FOR_EVER)
        # A release that never ran on this machine. Ours is the nearest; browsers must not cache it under that name.
        plain = self._answers.get(parts["stem"] + parts["kind"])
        return plain and build_answer(name, plain.content, NOT_AT_ALL)


def _answers(files: Mapping[str, tuple[str, bytes]]) -> Iterator[tuple[str, Answer]]:
    for plain, (hashed, content) in files.items():
        answer = build_answer(plain, content, FOR_EVER)
        yield hashed, answer
        yield plain, replace(answer, caching=ASK_EACH_TIME)
    # The unavailable page may request its files just after this process has taken over.
    for address, (_, path) in unavailable.FILES.items():
        name = address.removeprefix(settings.STATIC_URL)
        if name not in files:
            yield name, build_answer(name, path.read_bytes(), NOT_AT_ALL)


def _respond(request: HttpRequest, found: Answer) -> HttpResponseBase:
    packed = len(found.small) < len(found.content) and bool(
        TAKES_GZIP.search(request.headers.get("Accept-Encoding", ""))
    )
    response = HttpResponse(found.small if packed else found.content, content_type=found.kind)
    if packed:
        response["Content-Encoding"] = "gzip"
    response["Content-Length"] = str(len(response.content))
    response["Cache-Control"] = found.caching
    response["Vary"] = "Accept-Encoding"
    response["ETag"] = found.tag
    return get_conditional_response(request, etag=found.tag, response=response) or response
