"""The address that a request comes from, and which addresses count as one client."""

import ipaddress

from django.http import HttpRequest


def read_client_address(request: HttpRequest) -> str:
    """Return the address that a request comes from, as the server tells it; empty: it is not known."""
    return str(request.META.get("REMOTE_ADDR", ""))


def client_network(address: str) -> str:
    """Return the address, or its /64 network for IPv6, where one machine can use any address of its network.

    An IPv4 address written as IPv6 (::ffff:192.0.2.7) counts as that IPv4 address. Other text is returned unchanged.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        mapped = parsed.ipv4_mapped
        return str(mapped) if mapped else str(ipaddress.ip_network((int(parsed), 64), strict=False))
    return str(parsed)
