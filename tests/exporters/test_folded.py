from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from noisetop.counters.losses import LOSSES, Losses, describe_losses
from noisetop.events.interruption import Interruptions, Source
from noisetop.events.origin import Origin
from noisetop.exporters import folded
from noisetop.summary.recorded import summary_of
from tests.builders import side_figures
from tests.recordings import HOSTILE, interruption, nested_tables, recording, table


def lines_of(*rows: tuple[int, ...], sources: list[Source] | None = None) -> list[str]:
    return text_of(recording(table(*rows), **({"sources": sources} if sources else {})))  # type: ignore[arg-type]


def text_of(recorded: object) -> list[str]:
    out = io.BytesIO()
    folded.write(recorded, out)  # type: ignore[arg-type]
    return out.getvalue().decode().splitlines()


def test_a_line_for_each_source_of_each_cpu() -> None:
    assert lines_of(
        interruption(0, 30, source=1),
        interruption(50, 12_315, source=1),
        interruption(0, 7, source=3, cpu=3),
    ) == [
        "cpu 2;unattributed;softirq;RCU 12345",
        "cpu 3;unattributed;ipi;call_function_single;flush_tlb_func 7",
    ]


def test_whose_doing_it_was_is_a_level() -> None:
    assert lines_of(
        interruption(0, 30, source=1, origin=int(Origin.SELF)),
        interruption(50, 7, source=1, origin=int(Origin.DEVICE)),
    ) == ["cpu 2;device;softirq;RCU 7", "cpu 2;self;softirq;RCU 30"]


def test_weights_are_net_and_idle_is_left_out() -> None:
    assert lines_of(
        interruption(0, 30, net_ns=20),
        interruption(50, 10, victim=0),
        interruption(60, 1, source=1, victim=0),
    ) == ["cpu 2;unattributed;timer;local_timer 20"]


def test_the_last_frame_is_who_caused_it_where_that_is_known() -> None:
    assert lines_of(
        interruption(0, 30, source=1, trigger=1),
        interruption(50, 7, source=1),
        interruption(90, 5, source=1, trigger=2),
        interruption(99, 6, source=1, trigger=4),
    ) == [
        "cpu 2;unattributed;softirq;RCU 7",
        "cpu 2;unattributed;softirq;RCU;by stress-ng 4711 11",
        "cpu 2;unattributed;softirq;RCU;by tick 30",
    ]


@given(nested_tables())
def test_the_weights_add_up_to_the_noise(rows: Interruptions) -> None:
    recorded = recording(rows)
    assert (
        sum(int(line.rsplit(" ", 1)[1]) for line in text_of(recorded))
        == summary_of(recorded).noise_ns
    )


NAMES = st.text(max_size=12) | st.sampled_from(
    ["", " ", "a;b", "a\nb", "1 2", "\\x3b", ";", HOSTILE]
)


@given(st.lists(NAMES, min_size=2, max_size=2, unique=True))
def test_any_name_is_one_frame_and_different_names_stay_different(names: list[str]) -> None:
    sources = [Source(("thread", name, "work")) for name in names]
    lines = lines_of(interruption(0, 5, source=0), interruption(9, 6, source=1), sources=sources)
    assert len(lines) == 2
    frames = {tuple(line.rsplit(" ", 1)[0].split(";")) for line in lines}
    assert len(frames) == 2
    assert all(len(stack) == 5 and stack[::4] == ("cpu 2", "work") for stack in frames)
    assert all(
        frame == frame.strip() and frame.isprintable() for stack in frames for frame in stack
    )


def test_what_got_lost_is_a_stack_without_weight() -> None:
    losses = Losses({2: {"ring_full": 3, "switch": 4}})
    lines = text_of(
        recording(
            table(interruption(0, 30, source=1)),
            counters=side_figures(losses=losses),
            damage="cut short; 5 bytes left out",
        )
    )
    assert lines == [
        f"{describe_losses(losses)} 0",
        "cpu 2;unattributed;softirq;RCU 30",
        "cut short\\x3b 5 bytes left out 0",
    ]


def test_nothing_lost_is_no_line() -> None:
    assert recording().counters.of(LOSSES) == Losses()
    assert text_of(recording()) == []
