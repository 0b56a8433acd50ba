"""The Celery application. It never runs turns: a chat does not notice when it, or its broker, is away."""

import asyncio
import gc
import os
import sys
from contextlib import suppress
from typing import Any

from celery import Celery, signals

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ops.project.settings")
# Celery would run Django's system checks at each start and drop what they find. They load every page of the service,
# for a fifth of the start; what must stop a worker is in `refuse_to_start`.
os.environ.setdefault("CELERY_SKIP_CHECKS", "true")
# What is imported stays, as in manage.py.
gc.set_threshold(50_000, 20, 20)

app = Celery("companion")
app.config_from_object("ops.schedule")
app.autodiscover_tasks(["ops"], related_name="jobs")


@signals.worker_init.connect
@signals.beat_init.connect
def refuse_to_start(**_: Any) -> None:
    """Stop, with exit code 78, where the web would stop.

    That is without whole files of persona, routing and safety rules, and on a database that cannot be used.
    """
    import psycopg

    from ops.preflight.start import DatabaseRefused, refuse_unusable
    from ops.project.wiring.routing import build_routing
    from ops.project.wiring.turns import build_turn_policy
    from personas import safety
    from personas.errors import PersonaInvalid
    from routing.errors import RoutingFileInvalid

    try:
        build_turn_policy()
        build_routing()
        # The worker reads no message: the form of the file is checked here, its patterns by the web.
        safety.name_kinds()
        # Jobs wait for a database that is away, each by itself.
        with suppress(psycopg.Error, TimeoutError):
            asyncio.run(refuse_unusable())
    except (PersonaInvalid, RoutingFileInvalid, DatabaseRefused) as refusal:
        sys.stderr.write(f"The service does not start. {refusal}\n")
        sys.stderr.flush()
        # Celery turns SystemExit inside a signal into a log line and goes on.
        os._exit(78)


@signals.worker_init.connect
def share_memory(**_: Any) -> None:
    """Keep the collector away from what is loaded by now: it would write to memory that forked processes share."""
    gc.collect()
    gc.freeze()
