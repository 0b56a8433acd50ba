"""What commands are told of a running `up`, and the names by which this machine may always call it."""

from pathlib import Path

from ops.stack.surroundings import merge_lists, select_for_commands, stat_configuration

ROOT = Path("/checkout")


def test_a_public_name_stays_first_and_the_machines_own_names_are_added_once() -> None:
    own = ("127.0.0.1", "localhost")

    assert merge_lists("talk.example.org, localhost", own) == "talk.example.org,localhost,127.0.0.1"
    assert merge_lists("", own) == "127.0.0.1,localhost"


def test_files_are_published_by_name_and_a_secret_from_the_environment_is_not() -> None:
    told = select_for_commands(
        {
            "SECRET_KEY_FILE": "/run/secrets/key",
            "DATABASE_URL_FILE": "secrets/url",
            "DIRECT_DATABASE_URL": "postgresql://u@/direct",
            "VALKEY_URL_FILE": "/run/secrets/queue",
            "OPS_TOKEN": "a token",
            "OPENAI_API_KEY": "a key",
        },
        root=ROOT,
    )

    assert told == {
        "SECRET_KEY_FILE": "/run/secrets/key",
        "DATABASE_URL_FILE": "/checkout/secrets/url",
        "DIRECT_DATABASE_URL": "postgresql://u@/direct",
        "VALKEY_URL_FILE": "/run/secrets/queue",
    }
    assert select_for_commands({"SECRET_KEY": "a key", "OPS_TOKEN": "a token"}, root=ROOT) == {}


def test_a_file_that_is_not_read_is_not_published() -> None:
    told = select_for_commands({"SECRET_KEY": "a key", "SECRET_KEY_FILE": "/run/secrets/another"}, root=ROOT)

    assert told == {}


def test_commands_find_the_same_character_and_lanes_from_any_folder() -> None:
    told = select_for_commands(
        {"COMPANION_ROUTING": "routing.toml", "COMPANION_CEILING": "8", "COMPANION_STATE_DIR": "/s"},
        root=ROOT,
    )

    assert told == {"COMPANION_ROUTING": "/checkout/routing.toml", "COMPANION_CEILING": "8"}


def test_what_is_watched_changes_with_the_files_of_lanes_character_and_secrets(tmp_path: Path) -> None:
    names = ("COMPANION_PERSONA", "COMPANION_ROUTING", "SECRET_KEY_FILE")
    environment = {name: name.lower() for name in names}
    for name in environment.values():
        (tmp_path / name).write_text("before")

    for path in environment.values():
        before = stat_configuration(environment, root=tmp_path)
        (tmp_path / path).write_text("afterwards")
        assert stat_configuration(environment, root=tmp_path) != before
        (tmp_path / path).unlink()
        assert stat_configuration(environment, root=tmp_path) != before
