"""Writes to the source while it is drilled."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

WRITES = """
INSERT INTO person (name, kind) VALUES ('new', 'guest');
UPDATE person SET age = (coalesce(age, 0) + 1) % 90 WHERE id % 7 = 0;
DELETE FROM person WHERE id > 400 AND id % 5 = 0;
INSERT INTO heap VALUES (9, 'nine');
DELETE FROM heap WHERE a = 9 AND random() < 0.5;
INSERT INTO visit (person_id, state) VALUES (1, 'open');
INSERT INTO log VALUES (1, '2026-05-05');
REFRESH MATERIALIZED VIEW totals;
SELECT nextval('ticket'), nextval('down');
"""


class Writer:
    """Writes in a thread without a pause. `rounds` counts its rounds."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._over = threading.Event()
        self.begun = threading.Event()
        self.rounds = 0
        self.error: Exception | None = None

    def run(self) -> None:
        """Write until `end` is called."""
        try:
            with psycopg.connect(self._url, autocommit=True) as connection:
                while not self._over.is_set():
                    connection.execute(WRITES.encode())
                    self.rounds += 1
                    self.begun.set()
        except psycopg.Error as error:
            self.error = error
            self.begun.set()

    def end(self) -> None:
        self._over.set()


@contextmanager
def write_meanwhile(url: str) -> Iterator[Writer]:
    """Write during the block, which begins after the first round."""
    writer = Writer(url)
    thread = threading.Thread(target=writer.run, daemon=True)
    thread.start()
    assert writer.begun.wait(20)
    try:
        yield writer
    finally:
        writer.end()
        thread.join(20)
    assert writer.error is None, writer.error
