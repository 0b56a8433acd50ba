"""Names that carry what is in a file, and a folder that no page depends on."""

import gzip
import logging
import os
import re
import resource
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.files.storage import FileSystemStorage
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.test import RequestFactory, override_settings

from ops.static_files.kept import KeptFiles
from ops.static_files.names import ReleaseFiles
from ops.static_files.serving import StaticFiles

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
IMPORTS = re.compile(rb"""from "(\.[^"]+)";""")
NEXT = "not a static file"
FILES = {"companion/a.0cc175b9c0f1.css": b"a", "companion/b.92eb5ffee6ae.css": b"b"}
"""Two files under the names that their content gives them."""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with override_settings(STATIC_ROOT=tmp_path / "static"):
        yield tmp_path / "static"


@pytest.fixture
def static(folder: Path) -> StaticFiles:
    return StaticFiles(lambda request: HttpResponse(NEXT))


def get(static: StaticFiles, address: str, **headers: str) -> HttpResponseBase:
    return static(RequestFactory().get(address, headers=headers))


def body(answer: HttpResponseBase) -> bytes:
    assert isinstance(answer, HttpResponse)
    return answer.content


def test_every_module_imports_by_names_that_carry_a_hash() -> None:
    imported = [
        name
        for plain, (_, content) in ReleaseFiles().by_name().items()
        if plain.endswith(".js")
        for name in IMPORTS.findall(content)
    ]

    assert len(imported) > 15
    assert [name for name in imported if not re.search(rb"\.[0-9a-f]{12}\.js$", name)] == []


def test_every_file_that_a_template_names_is_in_the_release() -> None:
    named = {
        name
        for template in TEMPLATES.rglob("*.html")
        for name in re.findall(r"{% static '([^']+)' %}", template.read_text(encoding="utf-8"))
    }

    assert len(named) > 8
    assert named - ReleaseFiles().by_name().keys() == set()


def test_the_same_files_have_the_same_names_in_every_process() -> None:
    assert ReleaseFiles().hashed_files == ReleaseFiles().hashed_files


def release(folder: Path, **modules: str) -> ReleaseFiles:
    """A release of these modules."""
    for name, text in modules.items():
        (folder / f"{name}.js").write_text(text)
    return ReleaseFiles({f"{name}.js": FileSystemStorage(folder) for name in modules})


def test_a_module_has_another_name_when_one_that_it_imports_has_changed(tmp_path: Path) -> None:
    root = 'import { leaf } from "./leaf.js";'

    first = release(tmp_path, root=root, leaf="export const leaf = 1;")
    second = release(tmp_path, root=root, leaf="export const leaf = 2;")

    assert first.url("root.js") != second.url("root.js")


def test_a_module_that_imports_what_is_not_there_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"root\.js cannot be given a name"):
        release(tmp_path, root='import { leaf } from "./leaf.js";')


def test_a_name_of_this_release_may_be_kept_for_ever(static: StaticFiles) -> None:
    answer = get(static, staticfiles_storage.url("companion/chat.js"))

    assert answer["Cache-Control"] == "public, max-age=31536000, immutable"
    assert answer["Content-Type"] == "text/javascript; charset=utf-8"
    assert b"The chat page" in body(answer)


def test_a_plain_name_is_asked_for_each_time_and_answered_in_a_word_when_nothing_changed(
    static: StaticFiles,
) -> None:
    first = get(static, "/static/companion/companion.css")
    again = get(static, "/static/companion/companion.css", if_none_match=first["ETag"])

    assert first["Cache-Control"] == "no-cache"
    assert (again.status_code, body(again)) == (304, b"")


def test_a_browser_that_takes_gzip_gets_the_same_in_less(static: StaticFiles) -> None:
    address = staticfiles_storage.url("companion/chat.js")

    whole, small = body(get(static, address)), body(get(static, address, accept_encoding="br, gzip"))

    assert len(small) < len(whole) / 2
    assert gzip.decompress(small) == whole


def test_a_name_of_a_release_that_ran_here_before_is_answered_with_its_own_file(
    static: StaticFiles, folder: Path
) -> None:
    KeptFiles(folder).keep({"companion/chat.900150983cd2.js": b"abc"})

    answer = get(static, "/static/companion/chat.900150983cd2.js")

    assert body(answer) == b"abc"
    assert "immutable" in answer["Cache-Control"]


def test_a_name_of_a_release_that_never_ran_here_is_answered_with_ours_and_not_cached(
    static: StaticFiles,
) -> None:
    answer = get(static, "/static/companion/chat.000000000000.js")

    assert body(answer) == body(get(static, "/static/companion/chat.js"))
    assert answer["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "name",
    ["chat.js", "companion/none.000000000000.js", "companion/../../secret_key", "", "%2e%2e/secret_key"],
)
def test_what_was_never_a_file_is_not_ours_to_answer(static: StaticFiles, name: str) -> None:
    assert body(get(static, f"/static/{name}")) == NEXT.encode()


def test_nothing_can_be_sent_to_a_file(static: StaticFiles) -> None:
    request: HttpRequest = RequestFactory().post("/static/companion/chat.js")

    assert static(request).status_code == 405


def test_a_folder_that_cannot_be_used_costs_no_page_and_is_told_in_a_sentence(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder.write_text("a file in its place")

    with caplog.at_level(logging.WARNING):
        static = StaticFiles(lambda request: HttpResponse(NEXT))

    assert get(static, staticfiles_storage.url("companion/chat.js")).status_code == 200
    assert get(static, "/static/companion/chat.000000000000.js").status_code == 200
    assert "static_files.not_kept" in caplog.text and "Make the folder usable" in caplog.text


def test_half_a_file_is_never_sent_and_is_whole_after_the_next_start(tmp_path: Path) -> None:
    kept = KeptFiles(tmp_path)
    kept.keep(FILES)
    (tmp_path / "companion" / "a.0cc175b9c0f1.css").write_bytes(b"")

    assert kept.find("companion/a.0cc175b9c0f1.css") is None
    kept.keep(FILES)
    assert kept.find("companion/a.0cc175b9c0f1.css") == b"a"


def test_the_files_of_the_newest_starts_stay_when_there_are_too_many(tmp_path: Path) -> None:
    kept = KeptFiles(tmp_path, max_files=2)
    kept.keep(FILES)
    for name in FILES:
        os.utime(tmp_path / name, (1, 1))

    kept.keep({"companion/c.4a8a08f09d37.css": b"c", "companion/a.0cc175b9c0f1.css": b"a"})

    assert kept.find("companion/b.92eb5ffee6ae.css") is None
    assert kept.find("companion/a.0cc175b9c0f1.css") == b"a"
    assert kept.find("companion/c.4a8a08f09d37.css") == b"c"


def test_many_that_start_at_once_leave_every_file_whole_and_nothing_else(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as starts:
        for start in [starts.submit(KeptFiles(tmp_path).keep, FILES) for _ in range(64)]:
            start.result()

    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*")} == set(FILES)
    assert {name: KeptFiles(tmp_path).find(name) for name in FILES} == FILES


def test_nothing_half_written_is_left_when_the_disk_is_full(tmp_path: Path) -> None:
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, usual[1]))
    try:
        with pytest.raises(OSError):
            KeptFiles(tmp_path).keep({"companion/chat.900150983cd2.js": b"abc"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)

    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
