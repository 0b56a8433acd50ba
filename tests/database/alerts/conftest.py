"""As for selections: each test here may raise and select what it likes."""

from tests.database.selections.conftest import _normal_afterwards, _selection_is_served

__all__ = ["_normal_afterwards", "_selection_is_served"]
