"""What runs all day writes only what is worth reading: a log that is never read is not let grow for it."""

import logging


def test_a_job_that_goes_well_writes_nothing() -> None:
    for name in ("celery.app.trace", "celery.beat", "celery.worker.strategy"):
        assert not logging.getLogger(name).isEnabledFor(logging.INFO)
        assert logging.getLogger(name).isEnabledFor(logging.WARNING)
