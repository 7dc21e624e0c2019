"""Where the parts of a moment lie on its time axis."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from noisetop.events.interruption import Interruptions
from noisetop.summary.worst import WorstInterruption, summarize_with_worst
from noisetop.tui.swim_lanes import (
    EARLIER,
    INTERRUPTED,
    NESTED,
    RUNS,
    SENT,
    WAITS,
    arrow,
    axis_of,
    level_lanes,
    sender_lanes,
    ticks,
    victim_lane,
)
from tests.recordings import START_NS, interruption, nested_tables, recording, table


def _moment(*rows: tuple[int, ...]) -> WorstInterruption:
    return summarize_with_worst(recording(table(*rows)), 1)[1][0]


@given(nested_tables(), st.integers(1, 150))
def test_lanes_fit_and_hold_every_part_in_order(rows: Interruptions, width: int) -> None:
    _, worst = summarize_with_worst(recording(rows), 3, most_parts=64)
    assume(worst)
    for one in worst:
        axis = axis_of(one, width)
        lanes = level_lanes(one.parts, axis)
        shown = [bar.part for lane in lanes for bar in lane.bars]
        assert sorted(shown) == list(range(len(one.parts)))
        for lane in lanes:
            assert len({one.parts[bar.part].level for bar in lane.bars}) == 1
            for bar in lane.bars:
                part = one.parts[bar.part]
                assert bar.text
                assert 0 <= bar.x <= axis.width - len(bar.text)
                assert bar.x == axis.x(part.start_ns)
        levels = [one.parts[lane.bars[0].part].level for lane in lanes]
        assert levels == sorted(levels, reverse=True)
        assert len(victim_lane(one, axis).text) == axis.width
        assert len(ticks(axis, one.interval.start_ns)) <= axis.width


def test_what_interrupts_in_turn_lies_above_and_leaves_its_place_dotted() -> None:
    one = _moment(
        interruption(4_000, 2_000, source=1, outermost=False),
        interruption(0, 10_000, source=4, net_ns=8_000, tid=9, victim=101),
    )
    axis = axis_of(one, 110)
    softirq, thread = level_lanes(one.parts, axis)
    assert (softirq.label, thread.label) == ("softirq", "thread")
    (above,), (below,) = softirq.bars, thread.bars
    assert (below.x, len(below.text)) == (5, 100)
    assert (above.x, len(above.text)) == (45, 20)
    assert above.text.strip() == "RCU"
    assert below.text.startswith("vmstat_update")
    assert below.text[40:60] == NESTED * 20
    assert below.text.count(NESTED) == 20


def test_what_the_victim_does() -> None:
    one = _moment(
        interruption(0, 5_000, source=0, victim=101),
        interruption(5_100, 4_900, source=4, tid=9, victim=101),
    )
    text = victim_lane(one, axis_of(one, 110)).text
    assert text == RUNS * 5 + INTERRUPTED * 51 + WAITS * 49 + RUNS * 5


def test_an_arrow_from_who_sent_it() -> None:
    near = interruption(10_000, 8_000, source=3, trigger=2, trigger_ns=8_000)
    one = _moment(near)
    axis = axis_of(one, 100)
    (lane,) = sender_lanes(one.parts, axis)
    assert lane.label == "from CPU 0"
    sent, began = axis.x(START_NS + 8_000), axis.x(START_NS + 10_000)
    assert 0 < sent < began
    assert [at for at, cell in enumerate(lane.text) if cell == SENT] == [sent]
    drawn = arrow(one.parts[0], axis)
    assert drawn == " " * sent + "╰" + "─" * (began - sent - 1) + "▼"


def test_what_was_sent_long_before_comes_from_the_left() -> None:
    one = _moment(interruption(500_000, 800, source=3, trigger=2, trigger_ns=1_000))
    axis = axis_of(one, 100)
    (lane,) = sender_lanes(one.parts, axis)
    assert lane.text == EARLIER + " " * 99
    assert arrow(one.parts[0], axis) == "─" * axis.x(one.parts[0].start_ns) + "▼"


def test_no_arrow_where_nobody_is_known() -> None:
    one = _moment(interruption(500_000, 800, source=3))
    axis = axis_of(one, 100)
    assert sender_lanes(one.parts, axis) == []
    assert arrow(one.parts[0], axis) == ""


def test_zoom_to_one_part() -> None:
    one = _moment(
        interruption(4_000, 20, source=1, outermost=False),
        interruption(0, 10_000_000, source=4, net_ns=9_999_980, tid=9, victim=101),
    )
    part = min(one.parts, key=lambda part: part.net_ns)
    axis = axis_of(one, 44, part)
    assert axis.span(part.start_ns, part.start_ns + part.gross_ns) == (2, 42)


def test_ticks_are_whole() -> None:
    one = _moment(interruption(0, 10_000_000, source=4, tid=9))
    for width in range(1, 120):
        text = ticks(axis_of(one, width), one.interval.start_ns)
        labels = [label.strip() for label in text.split("╷")[1:]]
        assert all(label == "0" or label.endswith(("ms", "µs")) for label in labels)
