"""PURE. A token bucket: how much one client may ask for in a burst, and how much each second after that."""


class Bucket:
    """Holds at most `capacity` tokens and gains `per_s` each second. `now` is in seconds on a monotonic clock."""

    def __init__(self, *, capacity: float, per_s: float, now: float) -> None:
        self._capacity = capacity
        self._per_s = per_s
        self._tokens = capacity
        self._at = now

    def spend(self, tokens: float, now: float) -> None:
        """Take tokens out. The bucket may go into debt: what has been received cannot be sent back."""
        self._tokens = self._at_time(now) - tokens
        self._at = now

    def wait_s(self, now: float) -> float:
        """Seconds until the bucket is out of debt; 0.0 if something may be asked for now."""
        return max(0.0, -self._at_time(now) / self._per_s)

    def is_calm(self, now: float) -> bool:
        """Whether the bucket is at least half full."""
        return self._at_time(now) >= self._capacity / 2

    def _at_time(self, now: float) -> float:
        return min(self._capacity, self._tokens + (now - self._at) * self._per_s)
