"""Openings of pages with words of participants: recorded once, and known again while the page reads on."""

from dataclasses import dataclass

from django.core import signing
from django.http import HttpRequest


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenedPages:
    """Signs the opening of one kind of page. The page sends it back for `lasts_s` seconds, as `X-Opened`."""

    salt: str
    lasts_s: int

    def sign(self, request: HttpRequest, number: int) -> str:
        """Return what proves that this person's opening of page `number` is on record."""
        return signing.dumps([request.user.pk, number], salt=self.salt)

    def has_signed(self, request: HttpRequest, number: int) -> bool:
        """Whether the request comes from such a page. If not, it is another opening."""
        sent = request.headers.get("X-Opened", "")
        try:
            opened = signing.loads(sent, salt=self.salt, max_age=self.lasts_s)
        except signing.BadSignature:
            return False
        return bool(opened == [request.user.pk, number])
