"""Wrong cards are counted for the machine, or else for the address, and never for the person (A1)."""

from django.http import HttpRequest

from companion.client_address import read_client_address
from companion.machines.registry import recognise
from companion.throttle import SignInThrottle


def count_wrong_card(request: HttpRequest, throttle: SignInThrottle) -> bool:
    """Count a wrong card or wrong pictures. False: too many have come from here; a right card is still let in."""
    machine = recognise(request)
    return throttle.count_failure(read_client_address(request), machine=str(machine.id) if machine else "")
