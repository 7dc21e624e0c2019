"""JSON of files: no number that surprises arithmetic, and no change without a word."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop.checked_json import finite, parse_json, sealed, unsealed, whole

NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(-1e19, 1e19)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_reads_what_json_writes(value: object) -> None:
    assert parse_json(json.dumps(value)) == value
    assert parse_json(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")) == (
        value
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "NaN",
        "[-Infinity]",
        "1e400",
        "-1e20",
        "9223372036854775808",
        "-" + "9" * 4_000,
        "1" * 10_000,
        "[" * 100_000,
        b"\xff",
        b'{"a": 1} {}',
    ],
    ids=lambda text: str(text[:20]),
)
def test_what_no_file_of_ours_holds_is_refused(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_json(text)


@given(st.dictionaries(st.text(min_size=6), VALUES, max_size=4))
def test_what_was_sealed_is_found_again(content: dict[str, object]) -> None:
    assert unsealed(parse_json(json.dumps(sealed(content), indent=2)), required=True) == content
    assert unsealed(content, required=False) == content
    with pytest.raises(ValueError, match="its checksum is missing"):
        unsealed(content, required=True)


@given(
    st.dictionaries(st.text(max_size=3), VALUES, min_size=1, max_size=4),
    st.text(max_size=3),
    VALUES,
)
def test_a_change_is_told(content: dict[str, object], key: str, value: object) -> None:
    changed = {**sealed(content), key: value}
    if json.dumps(content, sort_keys=True) == json.dumps({**content, key: value}, sort_keys=True):
        return
    with pytest.raises(ValueError, match="its checksum does not fit"):
        unsealed(parse_json(json.dumps(changed)), required=False)


def test_numbers_as_keys_are_sealed_as_texts() -> None:
    content = {"by_cpu": {10: 1, 9: 2}}
    read = unsealed(parse_json(json.dumps(sealed(content))), required=True)
    assert read == {"by_cpu": {"10": 1, "9": 2}}


@pytest.mark.parametrize("value", ["9" * 40, 1 << 63, -(1 << 63) - 1, "x", "", 1e300])
def test_what_is_no_number_of_a_file(value: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        whole(value)


def test_whole_numbers_and_keys_of_a_file() -> None:
    numbers = [0, -1, (1 << 63) - 1, -(1 << 63)]
    assert [whole(one) for one in numbers] == [whole(str(one)) for one in numbers] == numbers


@pytest.mark.parametrize("value", ["NaN", "-inf", "1e30", 1e400, "x", ""])
def test_what_is_no_measure_of_a_file(value: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        finite(value)


def test_measures_of_a_file() -> None:
    assert [finite(one) for one in (0, -1.5, "2.5", 1e19)] == [0.0, -1.5, 2.5, 1e19]
