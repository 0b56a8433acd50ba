"""The ASGI application: pages by Django, sockets by the process that `ops.project.web` started."""

import os

from channels.routing import ProtocolTypeRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ops.project.settings")
pages = get_asgi_application()

# Models may be imported only now.
from companion.process import Process  # noqa: E402
from companion.sockets import sockets  # noqa: E402

running: list[Process] = []


def process() -> Process:
    """The process that serves here."""
    return running[0]


application = ProtocolTypeRouter({"http": pages, "websocket": sockets(process)})
