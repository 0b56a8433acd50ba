"""PURE. Delays of stamped words: each word is the moment the provider sent it, so its age on arrival is its delay."""

from routing.rehearsal.stamps import read_stamp


class StampedWords:
    """One reply as it arrives. Times in seconds of the monotonic clock, which all processes of a machine share."""

    def __init__(self, asked_at: float) -> None:
        self.asked_at = asked_at
        self.delays: list[float] = []
        self._rest = ""

    def add(self, text: str, now: float) -> None:
        """Record words that arrived at `now`. A word may be split over several pieces."""
        *whole, self._rest = (self._rest + text).split(" ")
        for stamp in whole:
            if stamp:
                self.delays.append(now - read_stamp(stamp))

    def end(self, now: float) -> None:
        """The reply is over: count the last word, which no space follows."""
        self.add(" ", now)
