"""Every form in which a provider says how long to stay away."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.retry_after import LONGEST_S, longer_rest, retry_after_s

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
THEIRS = "Sun, 01 Mar 2026 13:00:00 GMT"
"""The provider's clock is an hour ahead."""


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "20"}, 20.0),
        ({"retry-after": " 20 "}, 20.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": ".5"}, 0.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "+5"}, 5.0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"x-ms-retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "1"}, 1.0),
        # The three spellings of a date, 20 s after their own Date.
        ({"retry-after": "Sun, 01 Mar 2026 13:00:20 GMT", "date": THEIRS}, 20.0),
        ({"retry-after": "Sunday, 01-Mar-26 13:00:20 GMT", "date": THEIRS}, 20.0),
        ({"retry-after": "Sun Mar  1 13:00:20 2026", "date": THEIRS}, 20.0),
        ({"retry-after": "Sun, 01 Mar 2026 12:59:00 GMT", "date": THEIRS}, 0.0),
        # Without the provider's Date header the local clock counts.
        ({"retry-after": "Sun, 01 Mar 2026 12:00:20 GMT"}, 20.0),
        ({"retry-after": "Sun, 01 Mar 2026 12:00:20 GMT", "date": "yesterday"}, 20.0),
        ({"retry-after": "999999999999999999999"}, LONGEST_S),
        ({}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "1e9"}, None),
        ({"retry-after": "1_0"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "0x10"}, None),
        ({"retry-after": "٣"}, None),
        ({"retry-after": "20 seconds"}, None),
        ({"retry-after": "Sun, 99 Mar 2026 13:00:20 GMT"}, None),
        ({"retry-after": "9" * 400}, None),
    ],
)
def test_each_form_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers, now=NOW) == seconds


@given(
    st.dictionaries(
        st.sampled_from(["retry-after", "retry-after-ms", "x-ms-retry-after-ms", "date"]), st.text()
    )
)
def test_nothing_a_provider_writes_makes_it_fail(headers: dict[str, str]) -> None:
    found = retry_after_s(headers, now=NOW)
    assert found is None or 0 <= found <= LONGEST_S


def test_a_longer_rest_extends_a_shorter_one_and_never_the_reverse() -> None:
    assert longer_rest(None, 10) == 10
    assert longer_rest(10, 20) == 20
    assert longer_rest(20, 10) == 20
