"""What tests of sockets share: a web process that serves the two lanes of a test."""

from collections.abc import Callable

import pytest

from tests.lanes import Lanes
from tests.processes import Web


@pytest.fixture
def web(another_web: Callable[..., Web], lanes: Lanes) -> Web:
    started = another_web(**lanes.write_settings())
    lanes.clear()
    return started
