"""Each test here may select what it likes: afterwards normal is selected again, and no alert is left open."""

from collections.abc import Iterator

import pytest

from ops.models import Alert, Round
from ops.stack.postgres import EmbeddedPostgres
from tests.people import in_database
from tests.selections import back_to_normal, everybody_follows


@pytest.fixture(autouse=True)
def _normal_again(database: EmbeddedPostgres) -> Iterator[None]:
    in_database(lambda: Alert.objects.all().delete())
    yield
    back_to_normal()
    in_database(lambda: Alert.objects.all().delete())
    # No worker runs beside the tests: none that was away may be told of to those that come later.
    in_database(lambda: Round.objects.all().delete())


@pytest.fixture(scope="package", autouse=True)
def _everybody_follows(database: EmbeddedPostgres) -> Iterator[None]:
    yield
    everybody_follows()
