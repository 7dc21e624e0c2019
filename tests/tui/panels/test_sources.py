import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from noisetop.tui.panels.sources import shorten


@pytest.mark.parametrize(
    ("label", "width", "short"),
    [
        ("irq › 36 disk", 13, "irq › 36 disk"),
        ("timer › local_timer › tick_nohz_handler", 24, "timer › …ck_nohz_handler"),
        ("softirq", 4, "…irq"),
        ("softirq › RCU and more", 9, "…and more"),
    ],
)
def test_class_and_end_stay(label: str, width: int, short: str) -> None:
    assert shorten(label, width) == short


@given(st.text("ab日 ›"), st.integers(1, 40))
def test_it_always_fits(label: str, width: int) -> None:
    assert cell_len(shorten(label, width)) <= width
