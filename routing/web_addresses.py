"""PURE. What an address of the web says of the way there."""

import ipaddress
from urllib.parse import urlsplit


def is_loopback(address: str) -> bool:
    """Whether the host of an address, such as `http://127.0.0.1:8000/v1` or `//localhost`, is this machine."""
    try:
        host = urlsplit(address).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_private_way(address: str) -> bool:
    """Whether no machine in between reads what is sent there: it is HTTPS, or HTTP that stays on this machine."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return bool(parts.hostname) and (
        parts.scheme == "https" or (parts.scheme == "http" and is_loopback(address))
    )
