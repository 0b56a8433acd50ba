"""The file of lanes and presets: what is taken, and what is refused with a message that names the mend (R1, R2)."""

from pathlib import Path

import pytest

from routing.chain import build_route
from routing.errors import RoutingFileInvalid
from routing.lanes import load, parse, rehearsal_routing

EXAMPLE = Path(__file__).parents[2] / "ops/deploy/routing.example.toml"

LANE = """
[lanes.primary]
adapter = "openai"
base_url = "https://provider.example/v1"
model = "m"
api_key_env = "PRIMARY_API_KEY"
failure_domain = "vendor-a"
region = "uk"
context_tokens = 128000
max_in_flight = 32
connect_ms = 3000
first_word_ms = 8000
idle_ms = 10000
"""
NORMAL = """
[presets.normal]
chain = ["primary"]
"""


def refused(text: str) -> str:
    with pytest.raises(RoutingFileInvalid) as invalid:
        parse(text, source="routing.toml")
    message = str(invalid.value)
    assert all(line.startswith("routing.toml: ") for line in message.splitlines())
    return message


def test_a_good_file_is_taken() -> None:
    routing = parse(
        LANE + NORMAL + '[presets.local_only]\nchain = ["primary"]\nmarking = "reduced"\nceiling = 4\n',
        source="x",
    )
    lane = routing.lanes["primary"]
    assert (lane.name, lane.api_key_env, lane.first_word_ms) == ("primary", "PRIMARY_API_KEY", 8000)
    assert routing.presets["normal"].marking == "none"
    assert (routing.presets["local_only"].marking, routing.presets["local_only"].ceiling) == ("reduced", 4)


def test_the_example_that_ships_is_taken() -> None:
    routing = load(EXAMPLE)
    assert set(routing.presets) >= {"normal", "local_only"}
    assert len({lane.failure_domain for lane in routing.lanes.values()}) > 1


@pytest.mark.parametrize("key", ["connect_ms", "first_word_ms", "idle_ms"])
@pytest.mark.parametrize("value", ["499", "120001", "0", "-1", "8000.0", '"8000"', "true"])
def test_a_time_limit_is_whole_milliseconds_between_its_bounds(key: str, value: str) -> None:
    lines = [f"{key} = {value}" if line.startswith(key) else line for line in LANE.splitlines()]
    assert f"lanes.primary.{key}: " in refused("\n".join(lines) + NORMAL)


@pytest.mark.parametrize(
    "line", ["reply_ms = 499", "reply_ms = 1800001", "max_tokens = 15", "max_tokens = 100001"]
)
def test_the_limits_of_a_reply_have_bounds_of_their_own(line: str) -> None:
    assert f"lanes.primary.{line.split()[0]}: " in refused(LANE + line + NORMAL)


def test_the_limits_of_a_reply_may_be_left_out_or_set() -> None:
    plain = parse(LANE + NORMAL, source="x").lanes["primary"]
    assert (plain.reply_ms, plain.max_tokens) == (300_000, 1_024)
    own = parse(LANE + "reply_ms = 1800000\nmax_tokens = 64000\n" + NORMAL, source="x").lanes["primary"]
    assert (own.reply_ms, own.max_tokens) == (1_800_000, 64_000)


def test_a_reply_may_not_take_more_than_half_of_the_window() -> None:
    assert "leave room" in refused(LANE + "max_tokens = 64001\n" + NORMAL).lower()


@pytest.mark.parametrize("value", ["500", "120000"])
def test_the_bounds_of_a_time_limit_are_allowed(value: str) -> None:
    parse(LANE.replace("first_word_ms = 8000", f"first_word_ms = {value}") + NORMAL, source="x")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (LANE, "presets: is missing. Add it."),
        (NORMAL, "lanes: is missing. Add it."),
        ("", "lanes: is missing. Add it."),
        (LANE + NORMAL.replace("normal", "usual"), "presets.normal: is missing."),
        (LANE + NORMAL.replace("primary", "elsewhere"), "presets.normal.chain: no lane is called 'elsewhere'."),
        (LANE + NORMAL.replace('["primary"]', "[]"), "presets.normal.chain: is empty."),
        (LANE + NORMAL.replace('["primary"]', '["primary", "primary"]'), "names 'primary' more than once."),
        (LANE + NORMAL.replace('["primary"]', '["a", "b", "c", "d", "e"]'), "A chain has 1 to 4 lanes."),
        (LANE + NORMAL + "celing = 4\n", "presets.normal.celing: is not a key that is known here."),
        (LANE + NORMAL + "ceiling = 0\n", "presets.normal.ceiling: "),
        (LANE + NORMAL + 'marking = "red"\n', "presets.normal.marking: "),
        (LANE + "idle = 3\n" + NORMAL, "lanes.primary.idle: is not a key that is known here."),
        (LANE.replace('model = "m"\n', "") + NORMAL, "lanes.primary.model: is missing. Add it."),
        (LANE.replace('"m"', '""') + NORMAL, "lanes.primary.model: "),
        (LANE.replace('"openai"', '"openia"') + NORMAL, "lanes.primary.adapter: "),
        (LANE.replace("https:", "ftp:") + NORMAL, "lanes.primary.base_url: must be an address"),
        (LANE.replace("provider.example", "provider.example:99999") + NORMAL, "lanes.primary.base_url: "),
        (LANE.replace("https://", "https://me:secret@") + NORMAL, "must hold no name, password"),
        (LANE.replace("lanes.primary", "lanes.'Primary Lane'") + NORMAL, "lanes.Primary Lane"),
        (LANE + "[lanes.primary]\n", "(at line"),
        ("lanes = \n", "(at line 1"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_with_the_place_and_the_mend(text: str, says: str) -> None:
    assert says in refused(text)


def test_a_key_in_the_file_is_refused_and_not_repeated() -> None:
    message = refused(LANE + 'api_key = "sk-secret"\n' + NORMAL)
    assert "api_key_env" in message
    assert "sk-secret" not in message
    assert "secret" not in refused(LANE.replace("https://", "https://me:secret@") + NORMAL)


def test_everything_wrong_is_told_at_once() -> None:
    message = refused(LANE.replace('model = "m"\n', "").replace("idle_ms = 10000", "idle_ms = 1") + NORMAL)
    assert "lanes.primary.model" in message
    assert "lanes.primary.idle_ms" in message


@pytest.mark.parametrize("content", [None, b"\xff\xfe"], ids=["no file", "not UTF-8"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "routing.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RoutingFileInvalid, match=r"routing\.toml: cannot be read"):
        load(path)


def test_the_default_has_the_rehearsal_provider_alone() -> None:
    routing = rehearsal_routing("http://127.0.0.1:1234/v1")
    assert {lane.base_url for lane in routing.lanes.values()} == {"http://127.0.0.1:1234/v1"}
    assert routing.presets["normal"].chain == ("rehearsal",)


def test_the_default_has_a_preset_of_every_kind_whose_heads_can_be_told_apart() -> None:
    routing = rehearsal_routing("http://127.0.0.1:1234/v1")
    assert list(routing.presets) == ["normal", "pin_second", "drop_first", "local_only"]
    assert len({lane.model for lane in routing.lanes.values()}) == len(routing.lanes)
    assert (routing.presets["local_only"].marking, routing.presets["local_only"].ceiling) == ("reduced", 8)


def test_a_routing_cannot_be_changed() -> None:
    routing = rehearsal_routing("http://127.0.0.1:1234/v1")
    with pytest.raises(TypeError):
        routing.presets["mine"] = routing.presets["normal"]  # type: ignore[index]


def test_a_chain_whose_lanes_go_down_together_is_flagged() -> None:
    routing = load(EXAMPLE)
    both = LANE + LANE.replace("primary", "second", 1) + '[presets.normal]\nchain = ["primary", "second"]\n'
    assert parse(both, source="x").shares_one_failure_domain("normal")
    assert not routing.shares_one_failure_domain("normal")
    assert not routing.shares_one_failure_domain("local_only")


def test_a_route_holds_the_lanes_of_its_chain_in_order() -> None:
    chosen = build_route(load(EXAMPLE), "normal", 7)
    assert [lane.name for lane in chosen.lanes] == ["openai", "anthropic", "vllm", "ollama"]
    assert (chosen.preset, chosen.version, chosen.marking) == ("normal", 7, "none")


def test_a_preset_with_a_ceiling_of_its_own_brings_it_along() -> None:
    assert build_route(load(EXAMPLE), "local_only", 1).ceiling == 2
    assert build_route(load(EXAMPLE), "normal", 1).ceiling is None


def test_there_is_no_route_for_a_preset_that_does_not_exist() -> None:
    with pytest.raises(KeyError):
        build_route(load(EXAMPLE), "mine", 1)
