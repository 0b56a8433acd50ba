"""PURE. Whether something is an address that e-mail can be sent to."""

import re
from email.headerregistry import Address
from email.utils import parseaddr


def is_mailbox(entry: str) -> bool:
    """Whether `entry` is one address: ines@example.org, or Ines <ines@example.org>."""
    named = entry.endswith(">") and "<" in entry
    try:
        address = Address(addr_spec=parseaddr(entry)[1] if named else entry)
    except Exception:
        # The parser of the standard library ends in errors of many classes: "ops@" is an IndexError.
        return False
    return bool(address.username and address.domain) and not re.search(r"\s", address.addr_spec)
