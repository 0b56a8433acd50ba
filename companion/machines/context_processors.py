"""Says on every participant's page whether this browser is a shared machine: then it comes back to the waiting page."""

from django.http import HttpRequest

from companion.machines.tokens import read_machine_token


def add_machine(request: HttpRequest) -> dict[str, bool]:
    """Without the database: the cookie alone has our signature."""
    return {"on_machine": read_machine_token(request) is not None}
