"""The Celery application. It never runs turns: a chat does not notice when it, or its broker, is away."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ops.project.settings")

app = Celery("companion")
app.config_from_object("ops.schedule")
app.autodiscover_tasks(["ops"], related_name="jobs")
