"""A context processor: the version of this release, for the foot of the staff pages."""

from django.http import HttpRequest

from ops.stack.version import VERSION


def add_version(request: HttpRequest) -> dict[str, str]:
    """`version` in every template."""
    return {"version": VERSION}
