"""What an address of the web says of the way there."""

import pytest

from routing.web_addresses import is_loopback, is_private_way


@pytest.mark.parametrize(
    ("address", "here", "private"),
    [
        ("http://127.0.0.1:8000/v1", True, True),
        ("http://[::1]/", True, True),
        ("http://localhost", True, True),
        ("//LOCALHOST:8", True, False),
        ("https://id.example.org/realm", False, True),
        ("http://id.example.org/realm", False, False),
        ("http://localhost.example.org", False, False),
        ("http://127.0.0.1@id.example.org/", False, False),
        ("ftp://127.0.0.1/", True, False),
        ("https:", False, False),
        ("http://[::1/", False, False),
        ("", False, False),
    ],
)
def test_only_https_and_this_machine_are_read_by_no_machine_in_between(
    address: str, here: bool, private: bool
) -> None:
    assert (is_loopback(address), is_private_way(address)) == (here, private)
