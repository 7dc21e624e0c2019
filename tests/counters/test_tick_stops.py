from noisetop.counters.section import CpuFigure
from noisetop.counters.tick_stops import TICK_STOPS, added, kept_by, since, tick_lines

BUSY = {"stopped": 2, "perf_events": 3, "scheduler": 40, "rcu": 0}


def test_what_keeps_the_tick_most_often_comes_first() -> None:
    assert kept_by(BUSY) == [("scheduler", 40), ("perf_events", 3)]
    assert kept_by({"stopped": 7}) == []


def test_cpus_and_periods_add_up() -> None:
    assert added([BUSY, {"stopped": 1, "other": 5}]) == {**BUSY, "stopped": 3, "other": 5}
    before = {2: {"stopped": 1, "perf_events": 3}}
    assert since(before, {2: BUSY, 3: {"rcu": 1}}) == {
        2: {"stopped": 1, "perf_events": 0, "scheduler": 40, "rcu": 0},
        3: {"rcu": 1},
    }


def test_a_line_for_each_cpu_with_an_attempt() -> None:
    stops = {2: BUSY, 3: {"stopped": 1}, 4: {"stopped": 0, "rcu": 0}, 5: {}}
    assert list(tick_lines(stops)) == [
        "CPU 2: the tick was stopped 2 times; "
        "kept on by the scheduler 40 times, perf events 3 times",
        "CPU 3: the tick was stopped once",
    ]


def test_columns_tell_of_one_cpu_and_of_all() -> None:
    stopped, kept = TICK_STOPS.cpu_columns
    stops = {2: BUSY, 3: {"stopped": 1}}
    for cpu, texts in (
        (2, ["2", "the scheduler 40"]),
        (3, ["1", "-"]),
        (None, ["3", "the scheduler 40"]),
    ):
        figure = CpuFigure(stops, cpu, 1)
        assert [stopped.text(figure), kept.text(figure)] == texts
