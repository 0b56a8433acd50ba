"""PURE. Which addresses count as one client."""

import ipaddress


def client_network(address: str) -> str:
    """The address, or its /64 network if it is IPv6: one machine has as many of those addresses as it likes.

    An IPv4 address that is written as IPv6 (::ffff:192.0.2.7) counts as that IPv4 address. Other text is returned
    as it is.
    """
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(known, ipaddress.IPv6Address):
        mapped = known.ipv4_mapped
        return str(mapped) if mapped else str(ipaddress.ip_network((int(known), 64), strict=False))
    return str(known)
