"""E-mail with a deadline: a server that answers a byte at a time is left, whatever the time-out of a single read is."""

import contextlib
import smtplib
import socket
import threading
from typing import Any

from django.core.mail.backends.smtp import EmailBackend

MAIL_WITHIN_S = 15.0
"""From the connection to the last answer. A single read or connect may take `EMAIL_TIMEOUT`, which is less."""


class LimitedSMTP(smtplib.SMTP):
    """Ends the conversation with the server when its time is up: the caller gets SMTPServerDisconnected."""

    _limit: threading.Timer | None = None

    def connect(self, *args: Any, **kwargs: Any) -> tuple[int, bytes]:
        """As smtplib does it. The time begins here."""
        self._limit = threading.Timer(MAIL_WITHIN_S, self._end)
        self._limit.daemon = True
        self._limit.start()
        try:
            return super().connect(*args, **kwargs)
        except BaseException:
            self._limit.cancel()
            raise

    def close(self) -> None:
        """As smtplib does it."""
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
