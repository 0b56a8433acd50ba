"""PostgreSQL and Valkey from their wheels: real servers in folders of their own, broken in every way we know."""

import os
import signal
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import dj_database_url
import psycopg
import pytest
import redis
from kombu.connection import Connection

from ops.stack.account import find_service_account
from ops.stack.errors import CannotStart
from ops.stack.postgres import MAX_SOCKET_PATH_BYTES, EmbeddedPostgres
from ops.stack.process import wait_until_over
from ops.stack.valkey import EmbeddedValkey

# Root leaves its place to another account; an ordinary user runs them as themselves.
SERVER_UID = find_service_account().pw_uid if os.geteuid() == 0 else os.geteuid()


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="companion-servers-") as path:
        # PostgreSQL runs as another account when we are root.
        os.chmod(path, 0o755)
        yield Path(path)


@pytest.fixture(scope="module")
def made_before(folder: Path) -> Iterator[EmbeddedPostgres]:
    server = EmbeddedPostgres(folder / "postgres")
    server.start()
    yield server
    server.kill()


@pytest.fixture
def server(made_before: EmbeddedPostgres) -> EmbeddedPostgres:
    made_before.start()
    return made_before


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[EmbeddedValkey]:
    running = EmbeddedValkey(tmp_path / "valkey")
    running.start()
    yield running
    running.kill()


def ask(url: str, question: str) -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(question).fetchone()
    assert row is not None
    return row[0]


def test_it_serves_utf_8_to_psycopg_and_to_django_alike(server: EmbeddedPostgres) -> None:
    settings = dj_database_url.parse(server.url)

    assert ask(server.url, "SHOW server_encoding") == "UTF8"
    assert ask(server.url, "SELECT lower('ÄÖÉ')") == "äöé"
    assert settings["NAME"] == "companion"
    assert settings["OPTIONS"]["host"] == str(server.url).split("host=")[1]


def test_it_listens_on_no_network_and_its_socket_is_private(server: EmbeddedPostgres) -> None:
    sockets = Path(server.url.split("host=")[1])

    assert ask(server.url, "SHOW listen_addresses") == ""
    assert sockets.stat().st_mode & 0o077 == 0


def test_it_takes_two_hundred_connections(server: EmbeddedPostgres) -> None:
    assert int(str(ask(server.url, "SHOW max_connections"))) >= 200


def test_a_failing_statement_leaves_none_of_its_words_in_the_log(
    server: EmbeddedPostgres, folder: Path
) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection, pytest.raises(psycopg.Error):
        connection.execute("SELECT 1 / 0, 'what a person wrote'")

    log = (folder / "postgres" / "postgres.log").read_text()
    assert "division by zero" in log
    assert "what a person wrote" not in log


def test_a_second_handle_uses_the_server_that_runs(server: EmbeddedPostgres, folder: Path) -> None:
    other = EmbeddedPostgres(folder / "postgres")

    other.start()

    assert other.running == server.running


@pytest.mark.parametrize("how", ["fast", "immediate"])
def test_a_restart_keeps_the_address_and_the_rows(server: EmbeddedPostgres, how: str) -> None:
    url = server.url
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept (word text)")
        connection.execute("INSERT INTO kept VALUES ('one')")

    assert server.restart("fast" if how == "fast" else "immediate") == url

    assert ask(url, "SELECT word FROM kept LIMIT 1") == "one"


def test_it_starts_after_a_kill_of_everything(server: EmbeddedPostgres) -> None:
    server.kill()
    assert server.running is None

    assert ask(server.start(), "SELECT 1") == 1


def test_it_starts_while_the_children_of_a_killed_server_still_hold_its_memory(
    server: EmbeddedPostgres,
) -> None:
    main = server.running
    assert main is not None
    process = main.process()
    assert process is not None
    os.kill(main.pid, signal.SIGKILL)

    assert ask(server.start(), "SELECT 1") == 1
    assert wait_until_over([process], limit_s=5)


def test_a_number_in_the_pid_file_that_is_another_process_now_does_not_stop_it(
    server: EmbeddedPostgres, folder: Path
) -> None:
    pid_file = folder / "postgres" / "data" / "postmaster.pid"
    content = pid_file.read_text()
    server.kill()
    pid_file.write_text("\n".join([str(os.getpid()), *content.splitlines()[1:]]) + "\n")

    assert ask(server.start(), "SELECT 1") == 1
    assert server.running is not None
    assert server.running.pid != os.getpid()


def test_it_is_ended_though_its_number_is_written_down_nowhere(
    server: EmbeddedPostgres, folder: Path
) -> None:
    # Into the hands of this handle, in case another has started it.
    server.restart()
    process = server.running.process() if server.running else None
    assert process is not None
    (folder / "postgres" / "data" / "postmaster.pid").unlink()

    server.stop()

    assert wait_until_over([process], limit_s=0)
    assert ask(server.start(), "SELECT 1") == 1


def test_data_of_another_version_is_refused_with_the_way_out(server: EmbeddedPostgres, folder: Path) -> None:
    server.stop()
    version = folder / "postgres" / "data" / "PG_VERSION"
    ours = version.read_text()
    version.write_text("12\n")
    try:
        with pytest.raises(CannotStart, match="made by PostgreSQL 12"):
            server.start()
    finally:
        version.write_text(ours)


def test_a_first_start_that_was_broken_off_is_begun_anew(folder: Path) -> None:
    place = folder / "broken-off"
    (place / "data.partial" / "base").mkdir(parents=True)
    (place / "data.partial" / "PG_VERSION").write_text("18\n")
    server = EmbeddedPostgres(place)

    assert ask(server.start(), "SELECT 1") == 1

    server.kill()
    assert not (place / "data.partial").exists()


def test_a_folder_with_a_name_too_long_for_a_socket_has_its_socket_elsewhere(folder: Path) -> None:
    server = EmbeddedPostgres(folder / ("long" * 30))

    url = server.start()

    sockets = Path(url.split("host=")[1])
    assert len(str(sockets / ".s.PGSQL.5432.lock")) <= MAX_SOCKET_PATH_BYTES
    assert sockets.stat().st_mode & 0o077 == 0
    assert ask(url, "SELECT 1") == 1
    server.kill()


def test_it_may_be_kept_where_other_accounts_may_not_enter_and_never_runs_as_root(folder: Path) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    server = EmbeddedPostgres(closed / "postgres")

    assert ask(server.start(), "SELECT 1") == 1

    main = server.running.process() if server.running else None
    assert main is not None
    assert main.uids().real == SERVER_UID
    server.kill()


def test_a_link_in_place_of_the_socket_folder_is_refused_and_nothing_behind_it_is_touched(
    folder: Path,
) -> None:
    behind = folder / "behind"
    behind.mkdir()
    (behind / ".s.PGSQL.5432").write_text("of another server")
    server = EmbeddedPostgres(folder / ("link" * 30))
    sockets = Path(server.url.split("host=")[1])
    sockets.symlink_to(behind)
    try:
        with pytest.raises(CannotStart, match="is a link"):
            server.start()

        assert [path.lstat().st_uid for path in (behind, *behind.iterdir())] == [os.geteuid()] * 2
    finally:
        sockets.unlink()


def test_valkey_serves_redis_py_and_kombu_with_one_url(valkey: EmbeddedValkey) -> None:
    with redis.Redis.from_url(valkey.url) as client:
        assert client.ping()
    with Connection(valkey.url) as broker:
        broker.ensure_connection(max_retries=1)


def test_valkey_never_runs_as_root_and_follows_no_link_that_is_planted_in_its_folder(
    valkey: EmbeddedValkey, tmp_path: Path
) -> None:
    url = valkey.url
    main = valkey.running.process() if valkey.running else None
    assert main is not None and main.uids().real == SERVER_UID
    secret = tmp_path / "of another account"
    secret.write_text("requirepass known-to-the-planter\n")
    configuration = tmp_path / "valkey" / "valkey.conf"
    valkey.stop()
    configuration.unlink()
    configuration.symlink_to(secret)

    again = valkey.start()

    assert again != url and "known-to-the-planter" not in again
    assert secret.read_text() == "requirepass known-to-the-planter\n"
    assert secret.stat().st_uid == os.geteuid()


def test_a_valkey_folder_of_a_release_before_is_used_on(tmp_path: Path) -> None:
    folder = tmp_path / "former"
    folder.mkdir(mode=0o700)
    (folder / "valkey.conf").write_text("requirepass kept\nport 1\n")
    (folder / "valkey.pid").write_text("1")
    running = EmbeddedValkey(folder)
    try:
        assert ":kept@" in running.start()
    finally:
        running.kill()


def test_valkey_serves_no_client_without_its_password(valkey: EmbeddedValkey) -> None:
    port = int(valkey.url.rsplit(":", 1)[1].split("/")[0])

    with redis.Redis(port=port) as stranger, pytest.raises(redis.AuthenticationError):
        stranger.ping()


def test_valkey_returns_empty_at_the_same_address(valkey: EmbeddedValkey) -> None:
    url = valkey.url
    with redis.Redis.from_url(url) as client:
        client.set("word", "one")

    assert valkey.restart() == url

    with redis.Redis.from_url(url) as client:
        assert client.get("word") is None


def test_valkey_moves_when_its_port_was_taken_meanwhile(valkey: EmbeddedValkey) -> None:
    url = valkey.url
    valkey.stop()
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", int(url.rsplit(":", 1)[1].split("/")[0])))
        other.listen()

        moved = valkey.start()

    assert moved != url
    with redis.Redis.from_url(moved) as client:
        assert client.ping()


def test_valkey_is_ended_though_its_number_is_written_down_nowhere(
    valkey: EmbeddedValkey, tmp_path: Path
) -> None:
    main = valkey.running
    process = main.process() if main else None
    assert process is not None
    (tmp_path / "valkey" / "valkey.pid").unlink()

    valkey.stop()

    assert wait_until_over([process], limit_s=0)


def test_valkey_starts_after_a_kill(valkey: EmbeddedValkey) -> None:
    valkey.kill()
    assert valkey.running is None

    with redis.Redis.from_url(valkey.start()) as client:
        assert client.ping()
