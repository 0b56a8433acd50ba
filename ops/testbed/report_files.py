"""Writes the report of a measurement: a page for people and, beside it, the same figures as JSON."""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from ops.stack.state import write_private


def write_report(folder: Path, name: str, *, at: datetime, page: str, document: Mapping[str, Any]) -> Path:
    """Write `NAME-TIME.html` and `.json` into a folder, which is made. Returns the path of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{at:%Y%m%dT%H%M%SZ}.html"
    write_private(path.with_suffix(".json"), json.dumps(document, indent=1))
    write_private(path, page)
    return path
