import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from noisetop.text.sanitize import printable


@pytest.mark.parametrize(
    ("raw", "safe"),
    [
        ("kworker/2:1", "kworker/2:1"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x9b2J", "\\x9b2J"),
        ("a\nb\tc\rd\x00\x7f", "a\\x0ab\\x09c\\x0dd\\x00\\x7f"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("a\u200bb\u2066c", "a\\u200bb\\u2066c"),
        ("e\u0301", "e\\u0301"),
        ("\u2028", "\\u2028"),
        ("non\u00a0breaking", "non\\xa0breaking"),
        ("\u1100\u1161\u11a8", "\u1100\\u1161\\u11a8"),
        ("\U0001f44d\U0001f3fd", "\U0001f44d\\U0001f3fd"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("日本 ü µ ›", "日本 ü µ ›"),
        ("[red]x[/red]", "[red]x[/red]"),
        ("x\\x2dy", "x\\x2dy"),
    ],
)
def test_what_is_no_glyph_is_escaped(raw: str, safe: str) -> None:
    assert printable(raw) == safe


@given(st.text())
def test_nothing_that_a_terminal_obeys_is_left(raw: str) -> None:
    safe = printable(raw)
    assert not any(unicodedata.category(one).startswith(("C", "M", "Zl", "Zp")) for one in safe)
    assert printable(safe) == safe


@given(st.text(min_size=1))
def test_every_character_left_takes_room(raw: str) -> None:
    assert all(cell_len(one) > 0 for one in printable(raw))
