"""The version of this release, as `pyproject.toml` names it."""

import tomllib
from pathlib import Path

PROJECT_FILE = Path(__file__).resolve().parents[2] / "pyproject.toml"
VERSION: str = tomllib.loads(PROJECT_FILE.read_text(encoding="utf-8"))["project"]["version"]
