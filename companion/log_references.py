"""What log lines name beside their own fields: the request and the turn that they are about.

Formatters read them as a line is written. Values are numbers and codes, never anything that a person wrote.
"""

import contextvars
from collections.abc import Mapping

Reference = int | str

_references: contextvars.ContextVar[Mapping[str, Reference]] = contextvars.ContextVar("log_references")


def get_references() -> Mapping[str, Reference]:
    """The references of the current task, by name: `request`, `turn`."""
    return _references.get({})


def bind_references(**references: Reference) -> None:
    """Add references for the rest of the current task, and for the tasks that it starts."""
    _references.set({**get_references(), **references})


def copy_references(**more: Reference) -> contextvars.Context:
    """A context that holds the current references and `more`, and nothing else of the current context."""
    context = contextvars.Context()
    context.run(_references.set, {**get_references(), **more})
    return context
