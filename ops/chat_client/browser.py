"""What a participant's browser does around the chat: it signs in with the card's code, opens pages and signs out."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from http.cookies import SimpleCookie

import aiohttp

from ops.chat_client.chat_socket import ChatSocket, open_chat
from ops.chat_client.errors import ChatFailed, ServiceUnavailable

REQUEST_TIMEOUT = aiohttp.ClientTimeout(total=15)


def find_form_token(cookies: SimpleCookie) -> str:
    """Return the token that a form must repeat; empty without one. A service names its cookies by its own settings."""
    tokens = [cookie.value for name, cookie in cookies.items() if "csrftoken" in name]
    return tokens[0] if tokens else ""


class Browser:
    """One participant at one service. `client` needs a cookie jar that keeps the cookies of IP addresses."""

    def __init__(self, client: aiohttp.ClientSession, service: str) -> None:
        self._client = client
        self._service = service

    async def check_ready(self) -> None:
        """Raise ServiceUnavailable unless the service answers and is ready."""
        try:
            async with self._client.get(f"{self._service}/readyz", timeout=REQUEST_TIMEOUT) as answer:
                status = answer.status
        except (aiohttp.ClientError, TimeoutError):
            raise ServiceUnavailable(
                f"Nothing answers at {self._service}. Start scripts/up, wait for its line “ready”, and run this again."
            ) from None
        if status == HTTPStatus.BAD_REQUEST:
            raise self._host_refused()
        if status != HTTPStatus.OK:
            raise ServiceUnavailable(
                f"The service at {self._service} answers, but is not ready: see what scripts/up says, "
                "and run this again."
            )

    async def sign_in(self, code: str) -> None:
        """Type the code of a card. Raises ServiceUnavailable if the service does not accept it."""
        async with self._client.post(
            f"{self._service}/card/",
            data={"code": code},
            headers={"Origin": self._service},
            allow_redirects=False,
            timeout=REQUEST_TIMEOUT,
        ) as answer:
            status = answer.status
        if status == HTTPStatus.BAD_REQUEST:
            raise self._host_refused()
        if status != HTTPStatus.FOUND:
            raise ServiceUnavailable(
                f"The service at {self._service} does not know the card this command made. "
                "Give this command the same SECRET_KEY and DATABASE_URL, and check that the site is open."
            )

    @asynccontextmanager
    async def open_page(self) -> AsyncIterator[ChatSocket]:
        """Open the chat, as a first visit, a reload and a second device do. Raises ChatFailed."""
        try:
            async with open_chat(self._client, self._service) as chat:
                yield chat
        except aiohttp.ClientError as failure:
            raise ChatFailed(f"The chat could not be opened ({type(failure).__name__}).") from None

    async def sign_out(self) -> None:
        """Press *I am finished*: the service ends the visit. Raises ChatFailed if it does not."""
        async with self._client.get(f"{self._service}/chat/", timeout=REQUEST_TIMEOUT) as page:
            token = find_form_token(page.cookies)
        headers = {"Origin": self._service, "X-CSRFToken": token}
        async with self._client.post(
            f"{self._service}/chat/finish/", headers=headers, allow_redirects=False, timeout=REQUEST_TIMEOUT
        ) as answer:
            if answer.status != HTTPStatus.FOUND:
                raise ChatFailed(f"The visit could not be ended (status {answer.status}).")

    def _host_refused(self) -> ServiceUnavailable:
        return ServiceUnavailable(
            f"The service refuses the host name in {self._service}. Add that name to its ALLOWED_HOSTS, "
            "or give --address the name it has."
        )
