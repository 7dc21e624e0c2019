"""What a soak reads of the programs that it watches."""

from __future__ import annotations

import pytest

from bench.soak import busy_line, lost_on
from noisetop.errors import NoisetopError

HEADLINE = " # ≈26.9% lost, 26.2% net   worst 10.8 ms: CPU 1 thread › cc1   {}, unattributed 0.61%"


@pytest.mark.parametrize(
    ("told", "lost"), [("lost 0", 0), ("? LOST 518", 518), ("? LOST 1.23k", 1230)]
)
def test_the_dashboard_tells_its_losses_in_its_headline(told: str, lost: int) -> None:
    assert lost_on(HEADLINE.format(told)) == lost


def test_a_screen_without_losses_is_shown() -> None:
    with pytest.raises(NoisetopError, match="cc1"):
        lost_on(HEADLINE.format(""))


def test_how_busy_the_cpus_were() -> None:
    before = {0: (10, 0, 0, 100, 5, 0, 0, 0, 10, 0), 1: (0,) * 10}
    after = {0: (40, 0, 0, 150, 15, 5, 0, 5, 40, 0), 1: (0,) * 10}
    assert busy_line(before, after) == "busy: CPU 0 40%, CPU 1 0%"
