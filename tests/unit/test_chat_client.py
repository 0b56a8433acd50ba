"""What stands on a page while the frames of its turn arrive, and after a reconnect."""

from typing import Any

from ops.chat_client import frames
from ops.chat_client.shown_turn import ShownTurn

ACCEPTED = {"type": "accepted", "key": "k", "turn": 7}


def words(seq: int, text: str, turn: int = 7) -> dict[str, Any]:
    return {"type": "words", "turn": turn, "seq": seq, "text": text}


def shown(*arrived: dict[str, Any]) -> ShownTurn:
    turn = ShownTurn(key="k")
    for frame in arrived:
        turn.take(frame)
    return turn


def test_a_reply_shows_its_words_in_order_and_its_kinds_once() -> None:
    turn = shown(ACCEPTED, words(1, "Good "), words(2, "day."), {"type": "complete", "turn": 7})

    assert (turn.turn, turn.words, turn.seq, turn.ending) == (7, "Good day.", 2, "complete")
    assert turn.kinds == ["accepted", "words", "complete"]


def test_a_pause_shows_its_drafted_line_after_the_words() -> None:
    turn = shown(ACCEPTED, words(1, "Good "), {"type": "paused", "turn": 7, "line": "I have to stop."})

    assert (turn.words, turn.line, turn.ending) == ("Good ", "I have to stop.", "paused")


def test_frames_of_other_turns_change_nothing() -> None:
    turn = shown(ACCEPTED)

    assert not turn.take(words(1, "No.", turn=8))
    assert not turn.take({"type": "accepted", "key": "other", "turn": 8})
    assert not turn.take({"type": "pong"})
    assert (turn.turn, turn.words, turn.kinds) == (7, "", ["accepted"])


def test_before_its_message_is_accepted_no_frame_belongs_to_a_turn() -> None:
    assert not ShownTurn(key="k").take(words(1, "No."))


def test_a_reconnect_adds_only_the_words_that_were_missed() -> None:
    turn = shown(ACCEPTED, words(1, "Good "))
    snapshot = {"id": 7, "state": "streaming", "reply": "Good day.", "seq": 3}

    assert turn.resume(snapshot) == "day."
    assert (turn.words, turn.seq, turn.ending) == ("Good day.", 3, "")


def test_a_reconnect_after_a_pause_adds_no_words_and_ends_the_turn() -> None:
    turn = shown(ACCEPTED, words(1, "Good "))
    snapshot = {"id": 7, "state": "paused", "reply": "", "seq": 0}

    assert turn.resume(snapshot) == ""
    assert (turn.words, turn.ending) == ("Good ", "paused")


def test_the_handshake_names_the_service_as_its_origin() -> None:
    url = frames.socket_url("https://talk.example.org")

    assert url == "wss://talk.example.org/ws/chat/"
    assert frames.handshake_headers(url, "s", cookie_name="companion-8177") == {
        "Cookie": "companion-8177=s",
        "Origin": "https://talk.example.org",
    }
