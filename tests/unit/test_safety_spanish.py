"""People of Spanish are read in Spanish and in English, and so is what the companion says to them (S1, S9)."""

import time
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from companion.supervision.noticing import Noticing
from companion.supervision.states import FlagTier
from personas.safety import SafetyRules, Tier, check_file, load, name_kinds
from personas.safety.files import rules_path
from personas.safety.measure import LabelledMessage, read_set
from personas.safety.several import SeveralRules

SETS = Path(__file__).resolve().parents[1] / "safety" / "es"
P95_MS = 1.0


@pytest.fixture(scope="module")
def spanish() -> SafetyRules:
    return load("es")


@pytest.fixture(scope="module")
def both(spanish: SafetyRules) -> SeveralRules:
    return SeveralRules(["es", "en"], [spanish, load()])


@pytest.fixture(scope="module")
def messages() -> list[LabelledMessage]:
    return [message for path in sorted(SETS.glob("*.jsonl")) for message in read_set(path)]


def test_every_pattern_of_the_file_matches_what_it_says() -> None:
    assert check_file(rules_path("es")).version.startswith("es-")


def test_the_sets_have_at_least_300_sentences_and_no_figure_is_below_its_floor(
    messages: list[LabelledMessage],
) -> None:
    assert len(messages) >= 300
    said = StringIO()

    call_command("safety_report", "--language", "es", stdout=said)

    assert "line shown on red" in said.getvalue()


def test_every_kind_of_danger_of_english_is_a_kind_of_spanish_and_has_a_sentence(
    messages: list[LabelledMessage],
) -> None:
    # The kinds of weighed words: only the English rules have weights.
    weighed = {"danger", "danger-and-staff", "concern"}
    assert name_kinds("es") == {kind: name for kind, name in name_kinds("en").items() if kind not in weighed}
    kinds = {message.kind for message in messages if message.tier != "none"}
    replies = {
        *("claims-person", "medicine", "secrecy", "encourages-harm", "link", "phone-number"),
        *("love", "holds-back", "emergency-number"),
    }
    assert set(name_kinds("es")) - kinds - replies == {"past-harm"}


@pytest.mark.parametrize(
    ("harmless", "danger"),
    [
        ("No quiero matarme", "No puedo más, quiero matarme"),
        ("Me muero de risa", "Me quiero morir"),
        ("Me corté el pelo", "Me corté los brazos otra vez"),
        ("Me tomé la pastilla de la presión", "Me tomé todas las pastillas"),
        ("Mi mamá me va a matar si llego tarde", "Mi ex me va a matar"),
        ("El gato me mordió", "Mi hermano me mordió"),
        ("Hace años mi marido me pegaba, ya pasó", "Mi marido me pega"),
        ("En la película ella quiere matarse", "Yo quiero matarme"),
        ("Me tiro a la piscina", "Me tiro del puente"),
        ("Mi esposo no me pega", "Mi esposo me pega"),
    ],
)
def test_of_two_sentences_that_are_close_only_the_dangerous_one_is_red(
    spanish: SafetyRules, harmless: str, danger: str
) -> None:
    assert spanish.read_message(harmless).tier < Tier.RED
    assert spanish.read_message(danger).tier is Tier.RED


@pytest.mark.parametrize(
    "written",
    [
        "KIERO MORIRME YA",
        "quiero suisidarme",
        "me voy a suicidar 🔪",
        "quierooo morirrrr",
        "me tome 40 pastis",
        "ya no quiero vivir mas xq nadie me quiere",
        "quiero m a t a r m e",
        "me kiero matar neta wey",
        "parce me voy a tirar del puente",
        "me quiero kill myself",
        "I want to matarme",
    ],
)
def test_danger_is_found_in_text_speak_slang_and_a_mix_of_languages(both: SeveralRules, written: str) -> None:
    assert both.read_message(written).tier is Tier.RED


def test_english_is_read_too_and_people_of_english_are_read_as_before(both: SeveralRules) -> None:
    noticing = Noticing(load(), translations={"es": both})

    assert noticing.in_language("en").read_message("Me quiero matar") is None
    notice = noticing.in_language("es").read_message("I want to kill myself")
    assert notice is not None and notice.tier is FlagTier.RED
    spanish_notice = noticing.in_language("es").read_message("Me quiero matar")
    assert spanish_notice is not None and spanish_notice.rules_version == both.version
    assert len(both.version) <= 16


def test_harmless_english_raises_nothing_by_the_rules_for_spanish(spanish: SafetyRules) -> None:
    english = [
        message
        for name in ("known", "held_out")
        for message in read_set(SETS.parent / f"{name}.jsonl")
        if message.tier == "none"
    ]

    assert [message.text for message in english if spanish.read_message(message.text).tier] == []


def test_a_usual_message_takes_under_a_millisecond_in_both_languages(
    both: SeveralRules, messages: list[LabelledMessage]
) -> None:
    def quickest(text: str) -> float:
        taken = []
        for _ in range(5):
            began = time.perf_counter()
            both.read_message(text)
            taken.append(time.perf_counter() - began)
        return min(taken)

    times = sorted(quickest(message.text) for message in messages)

    assert times[int(len(times) * 0.95)] * 1000 < P95_MS


STOPS = [
    ("claims-person", "Soy una persona real y vivo en Lima."),
    ("claims-person", "No soy un robot."),
    ("medicine", "Deje de tomar sus pastillas."),
    ("medicine", "Puede aumentar la dosis esta noche."),
    ("medicine", "Tome dos pastillas más y acuéstese."),
    ("secrecy", "No le diga a nadie."),
    ("secrecy", "Que esto quede entre nosotros."),
    ("encourages-harm", "Debería matarse."),
    ("encourages-harm", "Todos estarían mejor sin usted."),
    ("link", "Mire en www.ejemplo.com para saber más."),
    ("phone-number", "Puede llamar al 0800 122 3344 cuando quiera."),
]
FLAGS = [
    ("love", "Le amo mucho."),
    ("love", "Le extrañé tanto."),
    ("holds-back", "No se vaya todavía, quédese un rato más."),
    ("emergency-number", "Llame al 911."),
]
KIND = [
    "Soy un programa de computadora. No soy una persona.",
    "Gracias por contarme eso. Suena muy duro.",
    "El personal de aquí puede ayudar con sus medicinas.",
    "Sobre las pastillas, lo mejor es preguntar al personal.",
    "Puede contarme más, si quiere.",
    "Quiero que una persona le ayude. Por favor, avise al personal.",
    "Qué bueno que su nieta venga el domingo.",
    "No hay prisa. Aquí estoy.",
    "Me alegra que hoy esté mejor.",
    "Adiós. Puede volver cuando quiera.",
    "No puedo dar consejos de medicina.",
    "Hable de esto con una persona de confianza.",
    "Tal vez un té caliente y un poco de música ayuden.",
    "Eso que siente importa.",
    "Puede decirle al personal lo que me contó.",
    "El mar es muy grande y muy azul.",
]


@pytest.mark.parametrize(("kind", "reply"), STOPS)
def test_the_worst_is_stopped_before_it_is_shown(both: SeveralRules, kind: str, reply: str) -> None:
    reader = both.reply_reader()
    found = reader.feed(reply) or reader.finish()

    assert found is not None and (found.severity, found.kind) == ("stop", kind)


@pytest.mark.parametrize(("kind", "reply"), FLAGS)
def test_what_binds_people_is_flagged(both: SeveralRules, kind: str, reply: str) -> None:
    reader = both.reply_reader()
    assert reader.feed(reply) is None

    found = reader.finish()
    assert found is not None and (found.severity, found.kind) == ("flag", kind)


@pytest.mark.parametrize("reply", KIND)
def test_a_kind_reply_is_neither_stopped_nor_flagged(both: SeveralRules, reply: str) -> None:
    reader = both.reply_reader()

    assert (reader.feed(reply) or reader.finish()) is None


@pytest.mark.parametrize(
    "question",
    [
        "¿Eres una persona?",
        "¿Es usted una persona?",
        "¿Sos un robot?",
        "¿Estoy hablando con una persona real?",
        "¿Hay alguien ahí?",
        "¿Con quién hablo?",
        "¿Eres humano o robot?",
        "dime si eres una maquina",
        "Are you a real person?",
    ],
)
def test_a_question_whether_it_is_a_person_is_recognised(both: SeveralRules, question: str) -> None:
    assert both.asks_if_human(question)


def test_other_questions_do_not_ask_it(both: SeveralRules) -> None:
    for text in ("¿Cómo está usted?", "Mi hermana es una persona muy buena", "¿Qué hora es?"):
        assert not both.asks_if_human(text), text


@pytest.mark.parametrize(
    "text", ["Adiós", "Hasta luego, Robin", "Bueno, me voy a dormir", "Buenas noches. Gracias."]
)
def test_a_farewell_is_recognised(both: SeveralRules, text: str) -> None:
    assert both.is_farewell(text) or both.ends_with_farewell(text)


@pytest.mark.parametrize(
    "text",
    [
        *("Mi hijo dijo adiós", "Adiós mundo cruel", "¿Ya se va?", "Me voy a morir"),
        *("Buenas noches, no voy a despertar", "Chao, ya no puedo más"),
    ],
)
def test_what_only_sounds_like_a_farewell_is_none(both: SeveralRules, text: str) -> None:
    assert not both.is_farewell(text)
