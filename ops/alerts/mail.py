"""E-mail with a deadline for the whole conversation: a server that answers a byte at a time never times out."""

import contextlib
import smtplib
import socket
import threading
from functools import partial
from typing import Any, cast

from django.core.mail.backends.smtp import EmailBackend

MAIL_TIMEOUT_S = 15.0
"""From the connection to the last response. `EMAIL_TIMEOUT` limits a single read or connect, and is less."""


class LimitedSMTP(smtplib.SMTP):
    """Closes the connection after `limit_s`: the caller gets SMTPServerDisconnected."""

    _limit: threading.Timer | None = None

    def __init__(self, *args: Any, limit_s: float, **kwargs: Any) -> None:
        self._limit_s = limit_s
        super().__init__(*args, **kwargs)

    def connect(self, *args: Any, **kwargs: Any) -> tuple[int, bytes]:
        """Connect, and start the timer."""
        self._limit = threading.Timer(self._limit_s, self._end)
        self._limit.daemon = True
        self._limit.start()
        try:
            return super().connect(*args, **kwargs)
        except BaseException:
            self._limit.cancel()
            raise

    def close(self) -> None:
        """Stop the timer and close."""
        if self._limit is not None:
            self._limit.cancel()
        super().close()

    def _end(self) -> None:
        if self.sock is not None:
            with contextlib.suppress(OSError):
                self.sock.shutdown(socket.SHUT_RDWR)


class LimitedSMTPOverTLS(LimitedSMTP, smtplib.SMTP_SSL):
    """The same over TLS from the first byte."""


class LimitedMail(EmailBackend):
    """The server that Django's settings name, for `limit_s` at most."""

    def __init__(self, *, limit_s: float = MAIL_TIMEOUT_S) -> None:
        self._limit_s = limit_s
        super().__init__()

    @property
    def connection_class(self) -> type[smtplib.SMTP]:
        limited = partial(LimitedSMTPOverTLS if self.use_ssl else LimitedSMTP, limit_s=self._limit_s)
        # Django only calls it.
        return cast(type[smtplib.SMTP], limited)
