"""Each test here may select what it likes: afterwards normal is selected again, and no alert is left open."""

from collections.abc import Iterator

import pytest

from ops.models import Alert, Round
from ops.stack.postgres import EmbeddedPostgres
from tests.people import in_database
from tests.selections import select_normal, wait_until_selection_is_served


@pytest.fixture(autouse=True)
def _normal_afterwards(database: EmbeddedPostgres) -> Iterator[None]:
    in_database(lambda: Alert.objects.all().delete())
    yield
    select_normal()
    in_database(lambda: Alert.objects.all().delete())
    # No worker runs beside the tests: none that was away may be told of to those that come later.
    in_database(lambda: Round.objects.all().delete())


@pytest.fixture(scope="package", autouse=True)
def _selection_is_served(database: EmbeddedPostgres) -> Iterator[None]:
    yield
    wait_until_selection_is_served()
