"""Sign-ins that did not fit, counted by address in Valkey. Where it is away, everybody is let in: a card is long.

Only what did not fit is counted, because a whole house signs in from one address within a minute.
"""

import ipaddress
import logging
from collections.abc import Callable

import redis
from django.utils.crypto import salted_hmac

log = logging.getLogger(__name__)

WITHIN_S = 600
NOT_ASKED_S = 5.0
"""After it did not answer it is left alone for so long: sign-ins wait for one another, and must not wait for it."""


class Tries:
    """`most` tries that did not fit are allowed from one address within ten minutes. `now` is monotonic."""

    def __init__(self, client: "redis.Redis", *, most: int, now: Callable[[], float]) -> None:
        self._client = client
        self._most = most
        self._now = now
        self._away_until = 0.0

    def allows(self, address: str) -> bool:
        """Whether one more may be tried from here."""
        made = self._ask(lambda: self._client.get(_key(address)))
        return not made or int(made) < self._most

    def did_not_fit(self, address: str) -> None:
        """One more that did not fit."""

        def count() -> None:
            with self._client.pipeline() as together:
                together.incr(_key(address))
                together.expire(_key(address), WITHIN_S, nx=True)
                together.execute()

        self._ask(count)

    def _ask(self, question: Callable[[], object]) -> bytes | None:
        if self._now() < self._away_until:
            return None
        try:
            answer = question()
        except (redis.RedisError, OSError) as failure:
            log.warning("tries.not_counted cause=%s", type(failure).__name__)
            self._away_until = self._now() + NOT_ASKED_S
            return None
        return answer if isinstance(answer, bytes) else None


def _key(address: str) -> str:
    return "tries:" + salted_hmac("companion.tries", _neighbourhood(address)).hexdigest()[:32]


def _neighbourhood(address: str) -> str:
    """An IPv6 address stands for its whole network: one machine has as many of them as it likes."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((known, 64), strict=False)) if known.version == 6 else str(known)
