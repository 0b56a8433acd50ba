"""What pydantic refuses is explained by its key, its fault and a mend, and never by its value."""

from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from validation.phrases import Refusal, explain_error


class Document(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    count: int
    names: tuple[str, ...] = ()


def refusals(**document: Any) -> list[Refusal]:
    with pytest.raises(ValidationError) as refused:
        Document.model_validate(document)
    return [explain_error(error) for error in refused.value.errors()]


def test_a_missing_and_an_unknown_key_are_named_with_their_mends() -> None:
    assert [str(refusal) for refusal in refusals(cuont=1)] == [
        "count: is missing. Add it.",
        "cuont: is not a key that is known here. Take it out, or mend its spelling.",
    ]


def test_entries_of_a_list_count_from_one() -> None:
    [refusal] = refusals(count=1, names=("Rosa", 2))

    assert str(refusal) == "names.2: is not a text. Put it in quotes."


def test_an_error_without_a_phrase_is_explained_in_the_words_of_pydantic_and_not_by_its_value() -> None:
    [refusal] = refusals(count="a secret in the wrong place")

    assert str(refusal) == "count: should be a valid integer. Mend this value."


def test_own_phrases_replace_the_common_ones() -> None:
    with pytest.raises(ValidationError) as refused:
        Document.model_validate({})
    [error] = refused.value.errors()

    assert (
        str(explain_error(error, {"missing": ("is not there", "write it")}))
        == "count: is not there. Write it."
    )


def test_a_refusal_without_a_key_is_of_the_whole_document() -> None:
    assert (
        str(Refusal(key="", fault="is not JSON", mend="write it again"))
        == "the document: is not JSON. Write it again."
    )
