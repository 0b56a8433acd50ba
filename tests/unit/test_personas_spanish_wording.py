"""Every wording rule of Spanish has a line that breaks it, and the lines that ship break none."""

import pytest

from personas.languages import language_path
from personas.load import DEFAULT, load
from personas.spanish_reading import count_syllables, perspicuity
from personas.wording import lint, lint_line

FIFTEEN_WORDS = "Puedo estar aquí con usted y leer lo que usted me quiera contar de hoy."


def rules(key: str, line: str) -> list[str]:
    return [finding.rule for finding in lint_line(key, line, "es")]


def test_the_lines_that_ship_break_no_rule() -> None:
    persona = load(language_path(DEFAULT, "es"))

    assert lint({**persona.lines.shown(), **persona.choices.shown()}, "es") == []


@pytest.mark.parametrize(
    ("word", "count"),
    [
        *(("que", 1), ("yo", 1), ("muy", 1), ("ley", 1), ("aquí", 2), ("ciudad", 2), ("leer", 2), ("día", 2)),
        *(("guitarra", 3), ("pingüino", 3), ("ahora", 3), ("computadora", 5)),
    ],
)
def test_syllables_are_counted_as_spoken(word: str, count: int) -> None:
    assert count_syllables(word) == count


def test_the_perspicuity_is_that_of_szigriszt_pazos() -> None:
    # 6 words in 2 sentences with 11 syllables.
    assert perspicuity("Estoy aquí. Puede contarme más hoy.") == pytest.approx(206.835 - 62.3 * 11 / 6 - 3)


def test_fifteen_words_are_one_sentence_and_sixteen_are_too_many() -> None:
    assert rules("pause", FIFTEEN_WORDS) == []
    assert rules("pause", FIFTEEN_WORDS.replace("hoy.", "hoy mismo.")) == [
        "16 words in a sentence, at most 15"
    ]


def test_easy_neighbours_do_not_carry_a_hard_sentence() -> None:
    easy = "Estoy aquí. Todo va bien. Puedo estar un rato con usted. No hay prisa. "
    hard = "Cada participante recibe nuevamente oportunidades adicionales para continuar conversaciones anteriores."

    assert f"perspicuity {perspicuity(hard):.0f} on the INFLESZ scale, at least 65" in rules(
        "pause", easy + hard
    )


def test_a_short_line_is_judged_by_its_words_not_by_the_measure() -> None:
    assert rules("disclosure", "Soy un programa de computadora.") == []
    assert rules("pause", "Hay responsabilidades.") == ["the word “responsabilidades” is hard to read"]
    assert rules("pause", "Descansando tranquilamente, regresando después.") == [
        "more than 2.5 syllables a word in a short line"
    ]


@pytest.mark.parametrize("line", ["Hubo un error.", "La RED no está.", "Cálmese.", "Debe probar otra vez."])
def test_words_that_are_never_said_are_found(line: str) -> None:
    assert any("which is never said" in rule for rule in rules("pause", line))


@pytest.mark.parametrize("line", ["Vuelvo en diez minutos.", "Vuelvo pronto.", "Es media hora."])
def test_a_time_is_never_promised(line: str) -> None:
    assert "promises a time" in rules("pause", line)


def test_only_the_queued_line_may_say_in_a_moment() -> None:
    assert rules("queued", "Le respondo en un momento.") == []
    assert rules("try_again", "Le respondo en un momento.") == ["promises a time"]


def test_a_place_in_a_queue_is_never_named() -> None:
    assert "names a place in a queue" in rules("queued", "Es su turno.")


@pytest.mark.parametrize("line", ["Adiós. Le extrañaré.", "Quédese un poco.", "Adiós. ¿Vuelve mañana?"])
def test_a_goodbye_lets_go_and_asks_nothing(line: str) -> None:
    assert any("in a goodbye" in rule for rule in rules("goodbye", line))


def test_the_reader_is_usted_in_every_line() -> None:
    assert rules("pause", "Puede contarme más.") == []
    assert rules("pause", "Puedes contarme más.") == ["says “puedes” to the reader"]


@pytest.mark.parametrize("line", ["Hola, amigo/a.", "Hola, amig@s.", "Hola, amigo(a)."])
def test_no_line_splits_readers_into_men_and_women(line: str) -> None:
    assert "splits readers into men and women" in rules("pause", line)
