from __future__ import annotations

from dataclasses import replace

import pytest

from noisetop.counters.calibration import MEASURED, Calibration, EntryCost
from noisetop.counters.losses import Losses
from noisetop.errors import NoisetopError
from noisetop.events.interruption import Flag
from noisetop.events.origin import Origin
from noisetop.events.task_names import TaskInfo
from noisetop.limits.grammar import parse_limits
from noisetop.limits.noise_figures import outcomes_of
from noisetop.limits.outcome import Outcome
from noisetop.recording.recording import Recording
from noisetop.summary.worst import WORST_KEPT, summarize_with_worst, with_external
from noisetop.text.column import percent
from tests.builders import side_figures
from tests.recordings import SOURCES, START_NS, interruption, recording, table


def outcomes(recorded: Recording, text: str) -> tuple[Outcome, ...]:
    return outcomes_of(parse_limits(text), *summarize_with_worst(recorded, WORST_KEPT))


def busy(**more: object) -> Recording:
    """CPU 2: 3 µs and a flush of 9 µs by stress-ng, of its own 40 µs; CPU 3: 12.345 µs."""
    own = int(Origin.SELF)
    return recording(
        table(
            interruption(1_000, 3_000, source=0, flags=Flag.ENTRY),
            interruption(9_000, 7_000, source=3, trigger=1, flags=Flag.ENTRY),
            interruption(50_000, 2_000, source=3, trigger=3, flags=Flag.ENTRY),
            interruption(70_000, 40_000, source=1, origin=own, flags=Flag.ENTRY),
            interruption(90_000, 11_345, source=2, cpu=3, flags=Flag.ENTRY),
        ),
        **more,  # type: ignore[arg-type]
    )


def test_the_worst_cpu_decides_and_is_named() -> None:
    (one,) = outcomes(busy(), "noise>0.001%")
    assert one.cpu == 2
    assert one.value == percent(12_000, 1_000_000_000)
    assert one.exceeded
    assert one.culprit is not None
    assert one.culprit.path == ("ipi", "call_function_single", "flush_tlb_func")
    assert one.culprit.start_ns == START_NS + 9_000


def test_the_one_who_had_most_is_named() -> None:
    (one,) = outcomes(busy(), 'source:"irq/*">0')
    assert one.culprit is not None
    assert one.culprit.who is None
    made = recording(
        table(
            interruption(1_000, 5_000, source=3, trigger=1),
            interruption(9_000, 900, source=3, trigger=3),
            interruption(19_000, 900, source=3, trigger=3),
        )
    )
    by_count, by_time = outcomes(made, 'source:"ipi › *">0,source:"ipi/*">1us')
    assert by_count.value == 3
    assert by_time.value == 5_000
    assert by_time.culprit is not None
    assert by_time.culprit.who == "tick"


def test_self_inflicted_noise_does_not_count() -> None:
    found = outcomes(busy(), 'single>20us,source:"softirq/*">0,source:"*">11344ns')
    assert [one.exceeded for one in found] == [False, False, True]
    single = found[0]
    assert (single.value, single.cpu) == (11_345, 3)
    assert single.culprit is not None
    assert single.culprit.path == ("irq", "36 virtio1-req.0")


def test_sources_are_chosen_by_either_form_of_their_path() -> None:
    texts = ('source:"ipi › *"', 'source:"ipi/*"', 'source:"*flush_tlb_func"', 'source:"i[p]i/*"')
    found = outcomes(busy(), ",".join(f"{text}>0" for text in texts))
    assert [one.value for one in found] == [2] * 4
    (none,) = outcomes(busy(), 'source:"IPI/*">0')
    assert (none.value, none.culprit) == (0, None)


def test_a_share_of_sources_is_of_one_cpu() -> None:
    (one,) = outcomes(busy(), 'source:"i*">0%')
    assert one.value == percent(11_345, 1_000_000_000)
    assert one.cpu == 3


def test_cost_takes_a_calibration() -> None:
    with pytest.raises(NoisetopError, match=r"there is no calibration .*: type noisetop probe cal"):
        outcomes(busy(), "cost>0.1%")
    entry = EntryCost(1_000, 900, 1_100, MEASURED)
    kinds = dict.fromkeys(("timer", "irq", "call_function", "softirq"), entry)
    recorded = busy(counters=side_figures(calibration=Calibration(kinds)))
    noise, cost = outcomes(recorded, "noise>0%,cost>0%")
    assert cost.value == percent(15_000, 1_000_000_000)
    assert noise.value == percent(12_000, 1_000_000_000)


def test_lost_records_are_counted_and_described() -> None:
    counters = side_figures(losses=Losses({2: {"ring_full": 3}}, lost_spool=1))
    (one,) = outcomes(busy(counters=counters), "lost>3")
    assert one.exceeded
    assert one.line == (
        "limit lost>3 exceeded: 4, LOST 4 events: ring full 3 (CPU 2), lost spool 1"
    )


def test_without_noise_all_limits_are_kept() -> None:
    text = 'noise>0%,single>0us,source:"*">0,source:"*">0%,source:"*">0us,lost>0'
    found = outcomes(recording(), text)
    assert not any(one.exceeded for one in found)
    assert [one.value for one in found] == [0] * 6


def contended() -> Recording:
    """CPU 2: a turn of 500 µs by a program, and an interrupt of 2 µs."""
    return recording(
        table(
            interruption(1_000, 500_000, source=4, tid=200),
            interruption(900_000, 2_000, source=2),
        ),
        infos={200: TaskInfo(200, 1, kernel=False, cgroup=0)},
    )


def test_contention_on_a_cpu_that_nobody_claims_is_not_the_longest_one() -> None:
    (limit,) = parse_limits("single>1us")
    summary, worst = summarize_with_worst(contended(), WORST_KEPT)
    nobodys = replace(summary, cpu_victims={2: None, 3: None})
    assert [one.value for one in outcomes_of([limit], summary, worst)] == [500_000]
    (one,) = outcomes_of([limit], nobodys, worst)
    assert (one.value, one.cpu) == (2_000, 2)
    cpus = tuple(
        replace(cpu, sources=tuple(s for s in cpu.sources if s.source != SOURCES[4]))
        for cpu in nobodys.cpus
    )
    # The kept intervals are all contention: the longest single interruption stands for it.
    (other,) = outcomes_of([limit], replace(nobodys, cpus=cpus), worst[:1])
    assert (other.value, other.cpu) == (2_000, 2)
    assert other.culprit is not None
    assert other.culprit.start_ns == START_NS + 900_000
    assert "all of the longest intervals are turns of a victim or contention" in other.line


def test_the_longest_external_one_is_found_behind_contention() -> None:
    recorded = recording(
        table(
            interruption(1_000, 500_000, source=4, tid=200),
            interruption(2_000, 9_000, source=3, outermost=False),
            interruption(900_000, 6_000, source=2),
            interruption(906_500, 5_000, source=1, cpu=2),
        ),
        infos={200: TaskInfo(200, 1, kernel=False, cgroup=0)},
    )
    summary, worst = summarize_with_worst(recorded, 1)
    nobodys = replace(summary, cpu_victims={2: None, 3: None})
    assert with_external(recorded, summary, worst) == worst
    found = with_external(recorded, nobodys, worst)
    (one,) = outcomes_of(parse_limits("single>1us"), nobodys, found)
    assert (one.value, one.cpu) == (11_000, 2)
    assert one.culprit is not None
    assert one.culprit.path == ("irq", "36 virtio1-req.0")
    assert one.culprit.start_ns == START_NS + 900_000


def test_a_thread_of_the_kernel_is_woken_by_somebody() -> None:
    made = recording(
        table(interruption(1_000, 5_000, source=4, tid=77, trigger=1)),
        infos={77: TaskInfo(77, 2, kernel=True, cgroup=0)},
    )
    for one in outcomes(made, 'noise>0%,single>0us,source:"thread/*">0'):
        assert "mostly thread › kworker/2:1 › vmstat_update woken by tick" in one.line


def test_a_program_that_ran_is_named_itself() -> None:
    made = recording(
        table(interruption(1_000, 5_000, source=4, tid=200, trigger=1)),
        tasks={100: "victim", 200: "app"},
        infos={200: TaskInfo(200, 1, kernel=False, cgroup=0)},
    )
    for one in outcomes(made, 'noise>0%,single>0us,source:"thread/*">0'):
        assert one.culprit is not None
        assert one.culprit.who == "app 200"
