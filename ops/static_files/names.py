"""The names of this release's files: each carries the hash of its content, its imports included.

Worked out in memory from the files of the release itself, once in each process. So there is no step to forget, no
list on a disk that could be missing or of another release, and nothing that two processes could write at once.
"""

from collections.abc import Mapping

from django.conf import settings
from django.contrib.staticfiles.finders import AppDirectoriesFinder
from django.contrib.staticfiles.storage import HashedFilesMixin
from django.core.files.storage import InMemoryStorage, Storage

ROOMS = ("companion", "ops")


class ReleaseFiles(HashedFilesMixin, InMemoryStorage):  # type: ignore[misc]
    """Django's hashed names without its folder: what `{% static %}` writes into a page, and the bytes behind it."""

    support_js_module_import_aggregation = True
    keep_intermediate_files = False

    def __init__(self, files: Mapping[str, Storage] | None = None) -> None:
        super().__init__(base_url=settings.STATIC_URL)
        found = _of_the_rooms() if files is None else files
        for path, storage in found.items():
            with storage.open(path) as file:
                self.save(path, file)
        for name, _, outcome in self.post_process({path: (found[path], path) for path in found}):
            if isinstance(outcome, Exception):
                raise ValueError(f"{name} cannot be given a name of its own: {outcome}") from outcome

    def by_name(self) -> Mapping[str, tuple[str, bytes]]:
        """Every file: its plain name, the name that carries its hash, and what is in it."""
        return {plain: (hashed, self._read(hashed)) for plain, hashed in self.hashed_files.items()}

    def _read(self, name: str) -> bytes:
        with self.open(name) as file:
            content: bytes = file.read()
            return content


def _of_the_rooms() -> Mapping[str, Storage]:
    return dict(AppDirectoriesFinder(app_names=ROOMS).list(None))
