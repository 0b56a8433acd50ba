"""Counts failed sign-ins in Valkey and limits them. Without Valkey nothing is limited: a card is too long to guess.

Only failures count, because all people of a site may sign in from one address within a minute.
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
"""After a failed call Valkey is not called for this long: concurrent sign-ins wait for one another's calls."""
NAMES_PER_ADDRESS = 10
"""One address may try `most` passwords this many times, over all names."""
SHOWN_CODES_PER_ADDRESS = 60
"""Pairing codes that screens behind one address may show."""
TYPED_CODES_PER_ADDRESS = 30
"""Pairing codes, right or wrong, that may be typed on screens behind one address."""
GUESSES_PER_STAFF = 30
GUESSES_PER_SITE = 100
"""Pairing codes, right or wrong, that one member of staff, and the staff of one site together, may enter."""


class SignInThrottle:
    """Allows `most` failures within `WINDOW_S`. `now` is a monotonic clock in seconds.

    Cards are counted by address, passwords by name and address, so cards and passwords do not lock each other out,
    and neither do two names. A password typed in a browser that knows its owner is counted by name and browser instead:
    wrong ones that others type behind the same address do not lock the owner out.
    """

    def __init__(self, client: "redis.Redis", *, most: int, now: Callable[[], float]) -> None:
        self._client = client
        self._most = most
        self._now = now
        self._away_until = 0.0

    def count_failure(self, address: str, *, machine: str = "") -> bool:
        """Count a wrong card. Returns whether this machine, or else this address, is still within its limit.

        A right card is never counted and never refused, and a person is never limited: no person can shut out another.
        """
        return self._within([(_key("machine", machine) if machine else _card_key(address), self._most)])

    def count_shown_code(self, address: str) -> bool:
        """Count a pairing code that is shown. Returns whether this address may be shown one more."""
        return self._within([(_key("pairing", client_network(address)), SHOWN_CODES_PER_ADDRESS)])

    def count_typed_code(self, address: str) -> bool:
        """Count a pairing code typed on a screen, before it is looked up. Returns whether it may be."""
        return self._within([(_key("typed", client_network(address)), TYPED_CODES_PER_ADDRESS)])

    def count_guess(self, *, staff: int, site: int) -> bool:
        """Count a pairing code before it is looked up. Returns whether it may be."""
        return self._within(
            [
                (_key("guess-staff", str(staff)), GUESSES_PER_STAFF),
                (_key("guess-site", str(site)), GUESSES_PER_SITE),
            ]
        )

    def count_asked_provider(self, address: str) -> bool:
        """Count that a browser asks for the identity provider. Returns whether it may be led there."""
        return self._within([(_key("provider", client_network(address)), self._most * NAMES_PER_ADDRESS)])

    def reserve(self, name: str, address: str, *, browser: str = "") -> bool:
        """Count a password before it is checked, so that parallel attempts cannot exceed the limit.

        False: it must not be checked. Call `release` for a right password. `browser` names a browser in which this
        person has signed in before.
        """
        return self._within(self._password_limits(name, address, browser))

    def reserve_code(self, name: str, *, browser: str) -> bool | None:
        """As `reserve`, for a code of an app typed in a browser that knows its owner. None: it was not counted."""
        return self._count(self._password_limits(name, "", browser))

    def _password_limits(self, name: str, address: str, browser: str) -> Sequence[tuple[str, int]]:
        if browser:
            return [(_key("browser", browser, _normalize(name)), self._most)]
        return [
            (_name_key(name, address), self._most),
            (_staff_key(address), self._most * NAMES_PER_ADDRESS),
        ]

    def release(self, name: str, address: str, *, browser: str = "") -> None:
        """Undo `reserve` for a password that was right, or was not checked."""

        # The key may have expired meanwhile. DECR makes it anew, and without EXPIRE it would stay for good.
        def decrement() -> None:
            with self._client.pipeline() as pipeline:
                for key, _ in self._password_limits(name, address, browser):
                    pipeline.decr(key)
                    pipeline.expire(key, WINDOW_S, nx=True)
                pipeline.execute()

        self._call(decrement)

    def _within(self, limits: Sequence[tuple[str, int]]) -> bool:
        # Not counted is allowed: the throttle must not close the door when Valkey is away.
        return self._count(limits) is not False

    def _count(self, limits: Sequence[tuple[str, int]]) -> bool | None:
        # `nx`: the window begins with its first failure, and later ones do not extend it.
        def increment() -> list[int]:
            with self._client.pipeline() as pipeline:
                for key, _ in limits:
                    pipeline.incr(key)
                    pipeline.expire(key, WINDOW_S, nx=True)
                # Every second result is that of EXPIRE.
                counts: list[int] = pipeline.execute()[::2]
                return counts

        counted = self._call(increment)
        if counted is None:
            return None
        return all(int(count) <= limit for count, (_, limit) in zip(counted, limits, strict=True))

    def _call(self, command: Callable[[], list[int] | None]) -> list[int] | None:
        if self._now() < self._away_until:
            return None
        try:
            return command()
        except (redis.RedisError, OSError) as failure:
            log.warning("throttle.not_counted cause=%s", type(failure).__name__)
            self._away_until = self._now() + RETRY_AFTER_S
            return None


def _card_key(address: str) -> str:
    return _key("card", client_network(address))


def _name_key(name: str, address: str) -> str:
    return _key("name", client_network(address), _normalize(name))


def _normalize(name: str) -> str:
    return unicodedata.normalize("NFKC", name).strip().casefold()


def _staff_key(address: str) -> str:
    return _key("staff", client_network(address))


def _key(*facts: str) -> str:
    # Neither a name nor an address stands in Valkey, and a key has the same length for every name.
    return "throttle:" + salted_hmac("companion.throttle", "\n".join(facts)).hexdigest()[:32]
