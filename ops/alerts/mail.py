"""E-mail with a deadline for the whole conversation: a server that answers a byte at a time never times out."""

import contextlib
import smtplib
import socket
import threading
from typing import Any

from django.core.mail.backends.smtp import EmailBackend

MAIL_TIMEOUT_S = 15.0
"""From the connection to the last response. `EMAIL_TIMEOUT` limits a single read or connect, and is less."""


class LimitedSMTP(smtplib.SMTP):
    """Closes the connection after MAIL_TIMEOUT_S: the caller gets SMTPServerDisconnected."""

    _limit: threading.Timer | None = None

    def connect(self, *args: Any, **kwargs: Any) -> tuple[int, bytes]:
        """Connect, and start the timer."""
        self._limit = threading.Timer(MAIL_TIMEOUT_S, self._end)
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
    """The server that Django's settings name."""

    @property
    def connection_class(self) -> type[smtplib.SMTP]:
        return LimitedSMTPOverTLS if self.use_ssl else LimitedSMTP
