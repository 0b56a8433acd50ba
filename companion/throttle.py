"""Sign-ins that did not fit, counted in Valkey. Where it is away, everybody is let in: a card is long.

Only what did not fit is counted, because a whole house signs in from one address within a minute.
"""

import logging
import unicodedata
from collections.abc import Callable, Sequence

import redis
from django.utils.crypto import salted_hmac

from companion.client_address import client_network

log = logging.getLogger(__name__)

WINDOW_S = 600
RETRY_AFTER_S = 5.0
"""After it did not answer it is left alone for so long: sign-ins wait for one another, and must not wait for it."""
NAMES_PER_ADDRESS = 10
"""One address may try this many times `most` passwords in all, whatever the names."""


class SignInThrottle:
    """`most` throttle that did not fit are allowed within ten minutes. `now` is monotonic.

    Cards are counted by address, passwords by name and address: neither locks the other out, and one name locks no
    other name out.
    """

    def __init__(self, client: "redis.Redis", *, most: int, now: Callable[[], float]) -> None:
        self._client = client
        self._most = most
        self._now = now
        self._away_until = 0.0

    def count_failure(self, address: str) -> bool:
        """Count a card that did not fit. Returns whether that is still within what is allowed from this address.

        A right card is never counted and never refused: it is too long to be guessed.
        """
        return self._within([(_card_key(address), self._most)])

    def reserve(self, name: str, address: str) -> bool:
        """Count a password before it is checked, so that parallel throttle cannot pass the limit together.

        False: it may not be checked. A password that fits is given back with `release`.
        """
        return self._within(
            [
                (_name_key(name, address), self._most),
                (_staff_key(address), self._most * NAMES_PER_ADDRESS),
            ]
        )

    def release(self, name: str, address: str) -> None:
        """The password that was reserved for did fit, or was not checked."""

        def take_off() -> None:
            with self._client.pipeline() as together:
                for key in (_name_key(name, address), _staff_key(address)):
                    together.decr(key)
                    together.expire(key, WINDOW_S, nx=True)
                together.execute()

        self._ask(take_off)

    def _within(self, limits: Sequence[tuple[str, int]]) -> bool:
        def count() -> list[int]:
            with self._client.pipeline() as together:
                for key, _ in limits:
                    together.incr(key)
                    together.expire(key, WINDOW_S, nx=True)
                made: list[int] = together.execute()[::2]
                return made

        counted = self._ask(count)
        if counted is None:
            return True
        return all(int(made) <= most for made, (_, most) in zip(counted, limits, strict=True))

    def _ask(self, question: Callable[[], list[int] | None]) -> list[int] | None:
        if self._now() < self._away_until:
            return None
        try:
            return question()
        except (redis.RedisError, OSError) as failure:
            log.warning("throttle.not_counted cause=%s", type(failure).__name__)
            self._away_until = self._now() + RETRY_AFTER_S
            return None


def _card_key(address: str) -> str:
    return _key("card", client_network(address))


def _name_key(name: str, address: str) -> str:
    return _key("name", client_network(address), unicodedata.normalize("NFKC", name).strip().casefold())


def _staff_key(address: str) -> str:
    return _key("staff", client_network(address))


def _key(*facts: str) -> str:
    return "throttle:" + salted_hmac("companion.throttle", "\n".join(facts)).hexdigest()[:32]
