"""PURE. Hears stamped words: each is the moment the provider sent it, so what it took since is the delay."""


class Ear:
    """One reply as it arrives. Times in seconds of the machine's monotonic clock, which all its processes share."""

    def __init__(self, asked_at: float) -> None:
        self.asked_at = asked_at
        self.delays: list[float] = []
        self._rest = ""

    def hear(self, text: str, now: float) -> None:
        """Words arrived at `now`, cut wherever the sender liked."""
        *whole, self._rest = (self._rest + text).split(" ")
        for stamp in whole:
            if stamp:
                self.delays.append(now - int(stamp) / 1_000_000)

    def end(self, now: float) -> None:
        """The reply is over."""
        self.hear(" ", now)
