"""The steps of a start, in order, each with one line to read; and the time after, good or bad."""

import http.client
import json
import os
import re
import select
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ops.stack.doors import DEFAULT_PORT, HOST, Door
from ops.stack.errors import CannotStart
from ops.stack.logs import tail
from ops.stack.postgres import EmbeddedPostgres
from ops.stack.roles import OWNER, SERVICE, prepare_roles
from ops.stack.roster import Roster
from ops.stack.state import StateFolder
from ops.stack.supervise import SERVER_STAGE, ConfigurationRefused, Hosted, Program, Supervisor
from ops.stack.surroundings import (
    OWNER_ADDRESSES,
    ConfigurationStat,
    is_named,
    is_on,
    merge_lists,
    select_for_commands,
    stat_configuration,
)
from ops.stack.valkey import EmbeddedValkey
from ops.stack.version import VERSION

ROOT = Path(__file__).resolve().parents[2]
MANAGE = (sys.executable, "manage.py")
WEB_STAGE, WORKER_STAGE, REHEARSAL_STAGE = 1, 2, 3
# Running replies get their time to end first; see the web process's own grace.
WEB_GRACE_S, WORKER_GRACE_S, REHEARSAL_GRACE_S = 25.0, 10.0, 3.0
# A small machine with much else to do is slow, and that is no reason to give up.
READY_LIMIT_S = 180.0
LOOK_AT_FILES_EVERY_S = 0.5
REHEARSAL_LINE = re.compile(r"^rehearsal: (http://\S+)", re.M)


@dataclass(kw_only=True)
class Launch:
    """One `up` from its first step to its last."""

    state: StateFolder
    doors: Sequence[Door]
    roster: Roster
    say: Callable[[str], None]
    wants_demo: bool = False
    """Whether demo people are made in a database that DATABASE_URL names too."""
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    supervisor: Supervisor = field(init=False)

    def __post_init__(self) -> None:
        self._has_own_database = not is_named(self.environment, "DATABASE_URL")
        self.supervisor = Supervisor(
            state=self.state,
            say=self.say,
            environment=self.environment,
            roster=self.roster,
            configuration=lambda: stat_configuration(self.environment, root=ROOT),
        )

    def bring_up(self) -> None:
        """Everything up to the moment at which the web processes can start."""
        self.say(f"Care companion {VERSION}.")
        self._settle_environment()
        self._database()
        self._queue()
        rehearsal = self._start_rehearsal()
        self._publish()
        facts = self._prepare()
        self._await_rehearsal(rehearsal)
        self._publish()
        self._introduce(facts)

    def serve(self) -> None:
        """Serve until StopRequested. If the configuration is refused before anything is served, the unavailable
        page stands instead; after that, only a program that has to start anew is stopped by it."""
        while True:
            # Taken first: what is mended while a program still reads the old file is a change all the same.
            tried = stat_configuration(self.environment, root=ROOT)
            try:
                self.supervisor.is_serving = False
                self._start_programs()
                self._await_web()
                self.say(f"ready: {self.doors[0].address}")
                self.supervisor.watch()
            except ConfigurationRefused as refusal:
                self._stand_in(str(refusal), tried)

    def _settle_environment(self) -> None:
        own = self.environment
        own["COMPANION_STATE_DIR"] = str(self.state.path)
        own["PYTHONUNBUFFERED"] = "1"
        if not is_named(own, "SECRET_KEY"):
            own["SECRET_KEY_FILE"] = str(self.state.secret_key_file())
        addresses = [f"http://{host}:{door.port}" for door in self.doors for host in (HOST, "localhost")]
        # Proxies, probes and commands of this machine use these names, beside any public name.
        own["TRUSTED_ORIGINS"] = merge_lists(own.get("TRUSTED_ORIGINS", ""), addresses)
        # Browsers keep the cookies of all ports of a host together, and a second `scripts/up` has another port.
        if self.doors[0].port != DEFAULT_PORT:
            own.setdefault("COMPANION_COOKIE_SUFFIX", str(self.doors[0].port))
        own["ALLOWED_HOSTS"] = merge_lists(own.get("ALLOWED_HOSTS", ""), (HOST, "localhost"))

    def _database(self) -> None:
        if not self._has_own_database:
            self.say("Database: the one DATABASE_URL names.")
            return
        folder = self.state.path / "postgres"
        is_new = not (folder / "data").exists()
        server = EmbeddedPostgres(folder, log=self.state.log("postgres"))
        hosted = Hosted(name="postgres", server=server, stage=SERVER_STAGE + 1, ends_with=signal.SIGINT)
        prepare_roles(self.supervisor.host(hosted))
        self.environment["DATABASE_URL"] = server.url_as(SERVICE)
        for name in OWNER_ADDRESSES:
            if not is_named(self.environment, name):
                self.environment[name] = server.url_as(OWNER)
        self.say(f"Database: PostgreSQL runs{', newly made,' if is_new else ''} in {folder}.")

    def _queue(self) -> None:
        if is_named(self.environment, "VALKEY_URL"):
            self.say("Queue: the one VALKEY_URL names.")
            return
        server = EmbeddedValkey(self.state.path / "valkey", log=self.state.log("valkey"))
        hosted = Hosted(name="valkey", server=server, stage=SERVER_STAGE, ends_with=signal.SIGTERM)
        self.environment["VALKEY_URL"] = self.supervisor.host(hosted)
        self.say("Queue: Valkey runs.")

    def _start_rehearsal(self) -> int | None:
        """Start the rehearsal provider; returns where its log began, None when no provider of ours is needed."""
        if self.environment.get("COMPANION_ROUTING"):
            self.say(f"Provider: the lanes in {self.environment['COMPANION_ROUTING']}.")
            return None
        if self.environment.get("REHEARSAL_URL"):
            self.say("Provider: the rehearsal provider REHEARSAL_URL names.")
            return None
        return self.supervisor.start(self._rehearsal(port=0)).log_since

    def _rehearsal(self, *, port: int) -> Program:
        return _rehearsal(
            port=port, tokens=self.state.run, obeys_messages=is_on(self.environment, "COMPANION_REHEARSED")
        )

    def _await_rehearsal(self, since: int | None) -> None:
        if since is None:
            return
        log = self.state.log("rehearsal")
        deadline = time.monotonic() + READY_LIMIT_S
        while (found := REHEARSAL_LINE.search(tail(log, since=since, size=10_000))) is None:
            self.supervisor.look()
            if time.monotonic() > deadline:
                raise CannotStart(f"The rehearsal provider does not start. The last it said:\n{tail(log)}")
            time.sleep(0.02)
        url = self.environment["REHEARSAL_URL"] = found[1]
        # A later start must answer at the address that everybody knows by then.
        self.supervisor.replace(self._rehearsal(port=int(url.split(":")[2].split("/")[0])))
        self.say(
            "Provider: the rehearsal provider runs; no key is needed. Its replies are SCRIPTED: no model answers."
        )

    def _publish(self) -> None:
        facts: dict[str, object] = dict(select_for_commands(self.environment, root=ROOT))
        self.state.publish(facts | {"pid": os.getpid(), "ports": [door.port for door in self.doors]})

    def _prepare(self) -> Mapping[str, Any]:
        # A database that DATABASE_URL names gets demo accounts only on request.
        unasked = "--if-new" if self._has_own_database else "--show"
        command = [*MANAGE, "demo_site", "--migrate", "--json", *([] if self.wants_demo else [unasked])]
        printed = self.supervisor.run_once("prepare", command)
        facts: Mapping[str, Any] = json.loads(printed.splitlines()[-1])
        self.say("Tables: in step with this release.")
        return facts

    def _introduce(self, facts: Mapping[str, Any]) -> None:
        self.say(f"\nStaff{' of ' + facts['site'] if facts['site'] else ''} sign in at {facts['sign_in']}")
        for member in facts["staff"]:
            self.say(f"  {member['name']}, {member['role']}: {member['username']}  {member['password']}")
        if facts["participants"]:
            self.say("Participants open the link of their card and press its two pictures, or type its code:")
        for person in facts["participants"]:
            self.say(f"  {person['name']}: {person['card']}")
            self.say(f"    {', then '.join(person['pictures'])}; code {person['code']}")
        if facts.get("machine"):
            self.say(
                f"A shared machine waits at {facts['machine']} (in a private window); staff enter its code at Machines."
            )
        if facts["is_empty"]:
            self.say(
                "There is no site yet. manage.py site and manage.py staff add one and its staff; "
                "scripts/up --demo makes one to look round."
            )
        if len(self.doors) > 1:
            self.say(f"Web processes: {', '.join(door.address for door in self.doors)}")
        self.say("")

    def _start_programs(self) -> None:
        for door in self.doors:
            self.supervisor.start(_web(door))
        self.supervisor.start(_worker(self.state))

    def _await_web(self) -> None:
        deadline = time.monotonic() + READY_LIMIT_S
        for door in self.doors:
            while not _answers(door.port) and not self.supervisor.has_refused(_name(door)):
                self.supervisor.look()
                if time.monotonic() > deadline:
                    log = self.state.log(_name(door))
                    raise CannotStart(
                        f"The web process on port {door.port} does not start. Its log:\n{tail(log)}"
                    )
            self.supervisor.is_serving = True

    def _stand_in(self, refusal: str, tried: ConfigurationStat) -> None:
        """Answer with the unavailable page until the configuration has been mended."""
        self.supervisor.end([_name(door) for door in self.doors] + ["worker"])
        for door in self.doors:
            door.say_unavailable()
        self.say(
            f"\n{refusal}\n\nUntil it is mended, {self.doors[0].address} says that the chat is not working."
        )
        while True:
            tried = self._await_change(tried)
            try:
                self.supervisor.run_once("check", [*MANAGE, "serve", "--check"])
            except (CannotStart, ConfigurationRefused) as still:
                self.say(f"\nNot yet. {still}")
            else:
                self.say("It has been mended. Starting.")
                return

    def _await_change(self, tried: ConfigurationStat) -> ConfigurationStat:
        while (now := stat_configuration(self.environment, root=ROOT)) == tried:
            self.supervisor.look()
            select.select([], [], [], LOOK_AT_FILES_EVERY_S)
        return now


def _name(door: Door) -> str:
    return f"web-{door.port}"


def _web(door: Door) -> Program:
    command = (*MANAGE, "serve", "--port", str(door.port), "--fd", str(door.socket.fileno()))
    return Program(name=_name(door), command=command, stage=WEB_STAGE, grace_s=WEB_GRACE_S, door=door)


def _worker(state: StateFolder) -> Program:
    celery = (sys.executable, "-m", "celery", "--app", "ops.project.celery", "worker", "--beat")
    schedule = ("--schedule", str(state.run / "beat"), "--concurrency", "2", "--loglevel", "WARNING")
    # There is one worker; searching for others would only slow its start.
    alone = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    return Program(
        name="worker", command=(*celery, *schedule, *alone), stage=WORKER_STAGE, grace_s=WORKER_GRACE_S
    )


def _rehearsal(*, port: int, tokens: Path, obeys_messages: bool) -> Program:
    # What a participant writes gives no order unless operators have said that all of it is a rehearsal.
    orders = ("--directives",) * obeys_messages
    command = (
        sys.executable,
        "-m",
        "routing.rehearsal",
        "--port",
        str(port),
        "--token-dir",
        str(tokens),
        *orders,
    )
    return Program(name="rehearsal", command=command, stage=REHEARSAL_STAGE, grace_s=REHEARSAL_GRACE_S)


def _answers(port: int) -> bool:
    # The door listens from the first step on, so it is the answer that counts and not the connection.
    connection = http.client.HTTPConnection(HOST, port, timeout=0.5)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
