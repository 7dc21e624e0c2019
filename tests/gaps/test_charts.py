"""Charts are well-formed and hold no foreign markup."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from noisetop.errors import UsageError
from noisetop.gaps.charts import chart_of
from noisetop.gaps.result import ProbeResult
from noisetop.gaps.svg import Axis, Canvas, box_of, timeline_chart
from tests.gaps.results import EVIL, numa_result, spin_result, switch_result

_SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("result", "name"),
    [
        (spin_result(100, 50), "a.svg"),
        (spin_result(), "a.timeline.svg"),
        (switch_result(), "a.svg"),
        (numa_result(), "a.svg"),
        (numa_result(), "a.LATENCY.SVG"),
    ],
)
def test_a_chart_is_an_svg_of_its_own(result: ProbeResult, name: str) -> None:
    root = ElementTree.fromstring(chart_of(result, Path(name)))
    assert root.tag == f"{_SVG}svg"
    tags = {element.tag.removeprefix(_SVG) for element in root.iter()}
    assert tags <= {"svg", "text", "line", "rect", "polyline", "title"}
    assert tags & {"rect", "polyline"}
    for element in root.iter():
        assert not [key for key in element.attrib if key.startswith(("on", "href"))]


def test_names_are_text_and_nothing_else() -> None:
    drawn = timeline_chart(EVIL, [(EVIL, [(0, 10, EVIL)])], 100)
    root = ElementTree.fromstring(drawn)
    assert not root.findall(f".//{_SVG}script")
    assert b"\x1b" not in drawn
    assert "\u202e" not in drawn.decode()


def test_an_unknown_chart_is_one_line() -> None:
    with pytest.raises(UsageError, match="has no chart"):
        chart_of(switch_result(), Path("a.timeline.txt"))


def test_axes_map_their_ends_to_their_ends() -> None:
    straight = Axis(0, 10, 100, 200)
    assert [straight.place(value) for value in (0, 5, 10, 20)] == [100, 150, 200, 200]
    logarithmic = Axis(1, 100, 0, 200, logarithmic=True)
    assert [logarithmic.place(value) for value in (1, 10, 100, 0.5)] == [0, 100, 200, 0]
    assert logarithmic.marks() == [1, 10, 100]
    assert Axis(3, 3, 0, 10).place(3) == 0


def test_a_box_holds_the_quartiles() -> None:
    box = box_of("x", [5, 1, 3, 2, 4])
    assert (box.low, box.quarter, box.median, box.three_quarters, box.high) == (1, 2, 3, 4, 5)
    assert box_of("y", [7]).three_quarters == 7
    between = box_of("z", [1, 2, 3, 6])
    assert (between.quarter, between.median, between.three_quarters) == (1.75, 2.5, 3.75)


def test_an_empty_drawing_is_a_drawing() -> None:
    assert ElementTree.fromstring(Canvas(10, 10, "").document()).tag == f"{_SVG}svg"
