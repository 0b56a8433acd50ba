"""How Celery works here, and the whole schedule on one screen."""

from celery.schedules import crontab
from django.conf import settings

broker_url = settings.VALKEY_URL
broker_connection_retry_on_startup = True
broker_transport_options = {
    "visibility_timeout": 600,
    "socket_timeout": 10,
    "socket_keepalive": True,
    "health_check_interval": 15,
}
task_acks_late = True
task_ignore_result = True
# Under half the visibility time-out: a slower task would be started a second time.
task_time_limit = 240
task_soft_time_limit = 200
worker_hijack_root_logger = False
worker_prefetch_multiplier = 1
timezone = "UTC"

beat_schedule = {
    "forget processes that left": {"task": "ops.forget_processes", "schedule": 60.0},
    "count the minutes that are over": {
        "task": "ops.count_minutes",
        "schedule": 60.0,
        "options": {"expires": 60},
    },
    "ask for a restore drill": {"task": "ops.ask_for_restore_drill", "schedule": crontab(hour=7, minute=0)},
    # Late runs of these are of no use: the next one does the same.
    "revert pins whose time is up": {
        "task": "ops.revert_ended_pins",
        "schedule": 10.0,
        "options": {"expires": 10},
    },
    "send alerts": {"task": "ops.send_alerts", "schedule": 10.0, "options": {"expires": 10}},
    # Looks whether a drill is due. It is one every six hours, and the first a few minutes after the first start.
    "ask every lane": {"task": "ops.fallback_drill", "schedule": 300.0, "options": {"expires": 300}},
    # Looks whether a contract check is due. It is one a day, and one after a change of the routing file.
    "compare the lanes": {"task": "ops.check_lanes", "schedule": 300.0, "options": {"expires": 300}},
    "watch the lanes": {"task": "ops.watch_lanes", "schedule": 60.0, "options": {"expires": 60}},
    "close alerts whose cause is over": {
        "task": "ops.close_alerts",
        "schedule": 60.0,
        "options": {"expires": 60},
    },
    "clear expired sessions": {"task": "ops.clear_sessions", "schedule": 3600.0},
    "delete what sites no longer keep": {
        "task": "ops.apply_retention",
        "schedule": crontab(hour=2, minute=30),
    },
    "escalate flags": {"task": "ops.escalate_flags", "schedule": 5.0, "options": {"expires": 5}},
    "delete old rings": {"task": "ops.delete_old_rings", "schedule": 86_400.0},
    "clear old drafts": {"task": "ops.clear_drafts", "schedule": 3600.0},
}
