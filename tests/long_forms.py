"""Cases that repeat what one of their kind has shown, and are run with `--long` alone."""

from collections.abc import Iterable

import pytest
from _pytest.mark import ParameterSet


def mark_long(cases: Iterable[object]) -> list[ParameterSet]:
    """Mark these cases of a parameter `long`."""
    return [pytest.param(case, marks=pytest.mark.long) for case in cases]
