"""As for selections: each test here may raise and select what it likes."""

from tests.database.selections.conftest import _everybody_follows, _normal_again

__all__ = ["_everybody_follows", "_normal_again"]
