"""Printed cards in tests: what stands on them, and whether they lead into the chat."""

from collections.abc import Sequence

import httpx

from ops.management.commands.card import format_card
from tests.people import Person
from tests.processes import Web


def print_card(person: Person) -> list[str]:
    """The card that the person holds, in lines as the command prints it."""
    return format_card(person.card)


def opens(service: Web, printed: Sequence[str]) -> bool:
    """Whether a printed card leads into the chat: its link with the pictures, and its code."""
    pictures, code, link = (line.split(": ")[-1] for line in printed[-3:])
    first, second = pictures.split(", then ")
    by_link = {"link": link.split("/card/#")[-1], "first": first, "second": second}
    answers = [
        httpx.post(f"{service.url}/card/", data=form, headers={"Origin": service.url}, trust_env=False)
        for form in (by_link, {"code": code})
    ]
    [leads] = {bool(answer.headers.get("location") == "/chat/") for answer in answers}
    return leads


def get_chat_status(service: Web, cookie: str) -> int:
    """The status of the chat for a browser with this session: 302 once the visit is over."""
    return httpx.get(f"{service.url}/chat/", cookies={"companion": cookie}, trust_env=False).status_code
