"""A persona file is read whole, or refused with a text that names the file, the key and the mend."""

from pathlib import Path

import pytest

from personas.errors import PersonaInvalid
from personas.load import DEFAULT, load
from personas.schema import system_prompt

WHOLE = DEFAULT.read_text(encoding="utf-8")


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "rowan.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refusal(path: Path) -> str:
    with pytest.raises(PersonaInvalid) as refused:
        load(path)
    assert str(path) in str(refused.value)
    return str(refused.value)


def changed(before: str, after: str) -> str:
    assert WHOLE.count(before) == 1, before
    return WHOLE.replace(before, after)


def test_the_file_that_ships_is_whole() -> None:
    persona = load(DEFAULT)

    assert persona.name == "Robin"
    assert "not approved for real use" in persona.approver


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert "there is no such file" in refusal(tmp_path / "missing.toml")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    assert "it cannot be read" in refusal(tmp_path)


def test_a_file_that_is_not_utf_8_is_refused_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, b'name = "Robin"\nvoice = "caf\xe9"\n')

    assert "line 2 is not UTF-8" in refusal(path)


def test_a_byte_order_mark_changes_nothing(tmp_path: Path) -> None:
    assert load(written(tmp_path, b"\xef\xbb\xbf" + WHOLE.encode())).version == load(DEFAULT).version


def test_broken_toml_is_refused_with_its_line(tmp_path: Path) -> None:
    assert "(at line 2, column 8)" in refusal(written(tmp_path, 'name = "Robin"\nvoice =\n'))


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    assert "over 256 KiB" in refusal(written(tmp_path, b"#" * 300_000))


def test_an_unknown_key_is_refused_by_name(tmp_path: Path) -> None:
    text = refusal(written(tmp_path, changed("\nqueued = ", "\nqeued = ")))

    assert "lines.qeued: is not a key of a persona file" in text
    assert "lines.queued: is missing. To mend it: add it." in text


def test_every_key_is_required(tmp_path: Path) -> None:
    text = refusal(written(tmp_path, "[lines]\n"))

    for key in (
        "name",
        "owner",
        "approver",
        "review_by",
        "voice",
        "boundaries",
        "lines.pause",
        "lines.break",
    ):
        assert f"{key}: is missing" in text


def test_an_empty_line_is_refused(tmp_path: Path) -> None:
    text = changed('reduced = "I may not answer as well as usual today."', 'reduced = "  "')

    assert "lines.reduced: is empty. To mend it: write the line." in refusal(written(tmp_path, text))


def test_no_boundaries_are_refused(tmp_path: Path) -> None:
    start, end = WHOLE.index("boundaries = ["), WHOLE.index("[lines]")

    assert "boundaries: is empty" in refusal(
        written(tmp_path, WHOLE[:start] + "boundaries = []\n" + WHOLE[end:])
    )


def test_a_line_of_the_wrong_kind_is_refused(tmp_path: Path) -> None:
    text = changed('reduced = "I may not answer as well as usual today."', "reduced = 5")

    assert "lines.reduced: is not a text. To mend it: put it in quotes." in refusal(written(tmp_path, text))


def test_a_date_that_is_none_is_refused(tmp_path: Path) -> None:
    text = changed("review_by = 2027-03-31", 'review_by = "next year"')

    assert "review_by: is not a date" in refusal(written(tmp_path, text))


def test_every_badly_worded_line_is_named_with_its_mend(tmp_path: Path) -> None:
    text = changed("I may not answer as well as usual today.", "The server is slow.").replace(
        "I have stopped. We can go on when you like.", "I am back in ten minutes."
    )

    told = refusal(written(tmp_path, text))

    assert "lines.reduced: “The server is slow.” says “server”, which is never said." in told
    assert "lines.stopped: “I am back in ten minutes.” promises a time." in told
    assert told.count("To mend it:") == 2


def test_the_version_follows_the_content_and_nothing_else(tmp_path: Path) -> None:
    version = load(DEFAULT).version

    assert load(written(tmp_path, "# a remark\n\n" + WHOLE)).version == version
    assert load(written(tmp_path, changed("today.", "now."))).version != version
    assert len(version) == 16 and int(version, 16) >= 0


def test_a_persona_cannot_be_changed_once_read() -> None:
    with pytest.raises(ValueError, match="frozen"):
        setattr(load(DEFAULT), "name", "Rowan")  # noqa: B010  (a plain assignment is refused by the type checker already)


def test_the_system_prompt_holds_the_voice_and_every_boundary_and_no_drafted_line() -> None:
    persona = load(DEFAULT)

    prompt = system_prompt(persona)

    assert prompt.startswith("You are Robin.")
    assert persona.voice in prompt
    assert all(f"- {boundary}\n" in f"{prompt}\n" for boundary in persona.boundaries)
    assert not any(line in prompt for line in persona.lines.shown().values())
