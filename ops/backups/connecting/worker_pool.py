"""Threads with one session each that work through a shared list of jobs."""

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from ops.backups.connecting.session import Session

Job = TypeVar("Job")
Result = TypeVar("Result")
TICK_S = 0.2
CANCEL_EVERY_S = 0.1
LEAVE_LIMIT_S = 10.0


class WorkerPool(Generic[Job, Result]):
    """Threads with one session each. Leaving the block cancels their statements and closes their sessions."""

    def __init__(self, sessions: Sequence[Session], do: Callable[[Session, Job], Result]) -> None:
        self._sessions = sessions
        self._do = do
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[Result | BaseException] = queue.SimpleQueue()
        self._leaving = threading.Event()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> "WorkerPool[Job, Result]":
        return self

    def __exit__(self, *_unused: object) -> None:
        self._leaving.set()
        deadline = time.monotonic() + LEAVE_LIMIT_S
        while (at_work := self._list_sessions_at_work()) and time.monotonic() < deadline:
            # Again and again: a request that comes before its statement begins cancels nothing.
            for session in at_work:
                with contextlib.suppress(Exception):
                    session.cancel_safe(timeout=2)
            for thread in self._threads:
                thread.join(CANCEL_EVERY_S / len(self._threads))
        for session in self._sessions:
            # libpq may crash where one thread closes a connection that another waits on.
            if session not in at_work:
                session.close()

    def _list_sessions_at_work(self) -> list[Session]:
        return [
            session
            for session, thread in zip(self._sessions, self._threads, strict=False)
            if thread.is_alive()
        ]

    def run_jobs(self, jobs: Sequence[Job], *, tick: Callable[[], None]) -> Iterator[Result]:
        """Yield results as they arrive. `tick` is called at least every 0.2 s and may raise."""
        for job in jobs:
            self._jobs.put(job)
        self._threads = [
            threading.Thread(target=self._run_worker, args=[session], daemon=True)
            for session in self._sessions
        ]
        for thread in self._threads:
            thread.start()
        left = len(jobs)
        while left:
            tick()
            with contextlib.suppress(queue.Empty):
                result = self._results.get(timeout=TICK_S)
                if isinstance(result, BaseException):
                    raise result
                left -= 1
                yield result

    def _run_worker(self, session: Session) -> None:
        try:
            while not self._leaving.is_set():
                self._results.put(self._do(session, self._jobs.get_nowait()))
        except queue.Empty:
            return
        except BaseException as error:
            self._results.put(error)
