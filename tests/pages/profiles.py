"""What a browser has written into the folder of its profile."""

from pathlib import Path


def find_files_with(folder: Path, words: str) -> list[str]:
    """The files that contain these words, as UTF-8 or UTF-16."""
    forms = [words.encode(), words.encode("utf-16-le"), words.replace(" ", "%20").encode()]
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(form in path.read_bytes() for form in forms)
    ]
