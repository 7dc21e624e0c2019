from __future__ import annotations

import json
import os
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from noisetop.counters.hardware import HARDWARE, HardwareCounters
from noisetop.counters.hardware_figures import (
    INSTANTS,
    STEAL,
    HardwareFigure,
    brief_line,
    figures_as_dict,
    figures_from,
    hardware_lines,
    instant_figures,
    steal_ns,
)
from noisetop.counters.hardware_totals import ROWS, HardwareWatch, difference, figures_of
from noisetop.errors import NoisetopError
from noisetop.events.interruption import Source
from tests.counters.hardware_period import HardwarePeriod

TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
Rows = Mapping[str, tuple[int, ...]]


class Tree:
    """A machine of two or more CPUs whose counters a test moves."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def stat(self, *steal: int, guest: int = 0) -> None:
        lines = [
            f"cpu{cpu} {50 + guest} 0 20 900 3 0 1 {ticks} {guest} 0"
            for cpu, ticks in enumerate(steal)
        ]
        self.write("proc/stat", "\n".join(["cpu  9 9 9 9 9 9 9 777 9 9", *lines, "ctxt 1"]))

    def interrupts(self, rows: Rows, cpus: tuple[int, ...] = (0, 1)) -> None:
        lines = [f"{row}: {' '.join(map(str, counts))}  Words" for row, counts in rows.items()]
        head = " ".join(f"CPU{cpu}" for cpu in cpus)
        self.write("proc/interrupts", "\n".join([head, *lines, "ERR: 0"]))

    def throttle(self, cpu: int, **counts: int) -> None:
        for name, count in counts.items():
            self.write(f"sys/devices/system/cpu/cpu{cpu}/thermal_throttle/{name}", f"{count}\n")

    def watch(self, *cpus: int, housekeeping: tuple[int, ...] = (0,)) -> HardwarePeriod:
        return HardwarePeriod(cpus, housekeeping, self.root)


@pytest.fixture(autouse=True)
def architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    made = Tree(tmp_path)
    made.stat(5, 7)
    made.interrupts({"NMI": (1, 2), "HYP": (90, 27)})
    return made


def figure(watch: HardwarePeriod, *path: str, cpu: int | None = 1) -> HardwareFigure:
    (found,) = [one for one in watch.figures() if one.path[1:] == path and one.cpu == cpu]
    return found


def test_steal_is_the_difference_in_ns_of_the_watched_cpu_only(tree: Tree) -> None:
    with tree.watch(1) as watch:
        tree.stat(500, 19)
        steal = figure(watch, "steal")
        assert {one.cpu for one in watch.figures()} == {1}
    assert (steal.ns, steal.count) == (12 * TICK_NS, None)
    assert steal.path == ("hardware", "steal")
    assert steal.resolution.startswith(f"steps of {TICK_NS / 1e6:.1f} ms")


def test_guest_time_is_no_steal(tree: Tree) -> None:
    with tree.watch(1) as watch:
        tree.stat(5, 7, guest=1000)
        assert figure(watch, "steal").ns == 0


def test_figures_count_from_where_their_period_began(tree: Tree) -> None:
    with tree.watch(1) as watch:
        tree.interrupts({"NMI": (1, 10)})
        assert figure(watch, "nmi").count == 8
        watch.begin()
        assert figure(watch, "nmi").count == 0
        tree.interrupts({"NMI": (1, 13)})
        assert figure(watch, "nmi").count == 3
        assert figure(watch, "nmi").count == 3


@pytest.mark.parametrize("row", ROWS)
def test_each_row_is_counted_on_its_cpu(tree: Tree, row: str) -> None:
    tree.interrupts({row: (100, 40)})
    with tree.watch(0, 1, housekeeping=()) as watch:
        tree.interrupts({row: (101, 44)})
        counted = {one.cpu: one.count for one in watch.figures() if one.path[1:] == ROWS[row][0]}
    assert counted == {0: 1, 1: 4}


def test_a_counter_of_32_bits_wraps(tree: Tree) -> None:
    tree.interrupts({"NMI": (0, 2**32 - 3)})
    with tree.watch(1) as watch:
        tree.interrupts({"NMI": (0, 2)})
        assert figure(watch, "nmi").count == 5


def test_a_total_that_shrinks_gives_no_figure(tree: Tree) -> None:
    tree.throttle(1, core_throttle_count=9)
    with tree.watch(1) as watch:
        tree.stat(5, 6)
        tree.interrupts({"NMI": (1, 1), "HYP": (90, 27)})
        tree.throttle(1, core_throttle_count=8)
        assert [one.path[1:] for one in watch.figures()] == [("hypervisor", "HYP")]
        for name in ("steal", "nmi", "throttle › core"):
            assert f"hardware › {name} on CPU 1: the kernel's total went backwards" in (
                watch.missing()
            )


def test_throttling_has_its_count_and_time_where_the_kernel_tells(tree: Tree) -> None:
    tree.throttle(0, core_throttle_count=1, package_throttle_count=4)
    tree.throttle(1, core_throttle_count=1, core_throttle_total_time_ms=10)
    with tree.watch(0, 1, housekeeping=()) as watch:
        tree.throttle(0, core_throttle_count=2, package_throttle_count=9)
        tree.throttle(1, core_throttle_count=4, core_throttle_total_time_ms=17)
        first, second = (figure(watch, "throttle", "core", cpu=cpu) for cpu in (0, 1))
        assert figure(watch, "throttle", "package", cpu=0).count == 5
        missing = watch.missing()
    assert (first.count, first.ns) == (1, None)
    assert (second.count, second.ns) == (3, 7_000_000)
    assert "jiffies" in second.resolution
    assert "jiffies" not in first.resolution
    why = "thermal_throttle/package_throttle_count is absent"
    assert f"hardware › throttle › package on CPU 1: {why}" in missing


def test_what_is_absent_is_named_once_for_all_cpus_and_never_zero(tmp_path: Path) -> None:
    with Tree(tmp_path).watch(0, 1, 2, housekeeping=()) as watch:
        assert watch.figures() == ()
        missing = watch.missing()
    hypervisors = {"HYP", "HVS", "HRE"}  # shown wherever they can come
    assert len(missing) == len(set(missing)) == len(ROWS) - len(hypervisors) + 4
    assert "hardware › steal on CPU 0-2: /proc/stat does not show it" in missing
    assert "hardware › machine_check › MCE on CPU 0-2: /proc/interrupts has no MCE there" in missing


@pytest.mark.parametrize(
    ("architecture", "vendor", "listed"),
    [
        (
            "x86_64",
            "GenuineIntel",
            "smi throttle TRM PIN PMN MCE NMI",
        ),
        ("x86_64", "AuthenticAMD", "DFR MCE NMI"),
        ("x86_64", "", "smi throttle TRM PIN PMN DFR MCE NMI"),
        ("aarch64", "", ""),
    ],
)
def test_only_what_such_a_cpu_can_have_is_missing(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, architecture: str, vendor: str, listed: str
) -> None:
    monkeypatch.setattr("platform.machine", lambda: architecture)
    tree.write("proc/cpuinfo", f"vendor_id : {vendor}\n" if vendor else "")
    tree.interrupts({"LOC": (1, 2)})
    with tree.watch(1) as watch:
        missing = "\n".join(watch.missing()).replace("› nmi", "› NMI")
    names = ["smi", "throttle", "TRM", "PIN", "PMN", "DFR", "MCE", "NMI", "HYP"]
    assert [name for name in names if f"› {name}" in missing] == [
        name for name in names if name in listed.split()
    ]


def test_a_row_that_another_vendor_has_counts_where_the_kernel_shows_it(tree: Tree) -> None:
    tree.write("proc/cpuinfo", "vendor_id : AuthenticAMD\n")
    tree.interrupts({"TRM": (0, 3)})
    with tree.watch(1) as watch:
        tree.interrupts({"TRM": (0, 4)})
        assert figure(watch, "thermal", "TRM").count == 1


def test_a_row_or_cpu_that_comes_or_goes_gives_no_figure(tree: Tree) -> None:
    with tree.watch(1) as watch:
        tree.interrupts({"NMI": (1,), "HYP": (95,)}, cpus=(0,))
        assert [one.path[1:] for one in watch.figures()] == [("steal",)]
        assert "hardware › nmi on CPU 1: /proc/interrupts has no NMI there" in watch.missing()
        watch.begin()
        tree.interrupts({"NMI": (1, 2)})
        assert [one.path[1:] for one in watch.figures()] == [("steal",)]
        assert "hardware › nmi on CPU 1: was not there when counting began" in watch.missing()


class Counter:
    """In the place of the counter: a list of what it reads."""

    def __init__(self, *reads: int | None) -> None:
        self.reads = list(reads)
        self.opened_on: list[int] = []
        self.closed = 0

    def open(self, cpu: int, root: Path) -> Counter:
        self.opened_on.append(cpu)
        return self

    def read(self) -> int | None:
        return self.reads.pop(0)

    def close(self) -> None:
        self.closed += 1


def test_smis_are_counted_off_the_watched_cpus(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    counter = Counter(2, 5)
    monkeypatch.setattr("noisetop.counters.hardware_totals.SmiCounter", counter.open)
    with tree.watch(0, 1, housekeeping=(1, 3)) as watch:
        smi = figure(watch, "smi", cpu=None)
    assert (smi.cpu, smi.ns, smi.count) == (None, None, 3)
    assert counter.opened_on == [3]
    assert counter.closed == 1


def test_smis_are_missing_once_the_counter_ends(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noisetop.counters.hardware_totals.SmiCounter", Counter(2, None, None).open)
    with tree.watch(1) as watch:
        assert ("hardware", "smi") not in [one.path for one in watch.figures()]
        assert "hardware › smi: the kernel gave up counting" in watch.missing()


def test_without_a_spare_cpu_smis_are_not_counted(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = Counter()
    monkeypatch.setattr("noisetop.counters.hardware_totals.SmiCounter", counter.open)
    with tree.watch(0, 1, housekeeping=(0,)) as watch:
        why = "no housekeeping CPU is left to count them on"
        assert f"hardware › smi: {why}" in watch.missing()
    assert counter.opened_on == []


def test_why_smis_cannot_be_counted_is_told(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(cpu: int, root: Path) -> Counter:
        raise NoisetopError("run as root")

    monkeypatch.setattr("noisetop.counters.hardware_totals.SmiCounter", refuse)
    with tree.watch(1) as watch:
        assert "hardware › smi: run as root" in watch.missing()


FIGURES = (
    HardwareFigure(2, ("hardware", "steal"), 120_000_000, None, "steps of 10.0 ms"),
    HardwareFigure(3, ("hardware", "steal"), 0, None, "steps of 10.0 ms"),
    HardwareFigure(2, ("hardware", "throttle", "core"), 7_000_000, 1, "exact count"),
    HardwareFigure(3, ("hardware", "nmi"), None, 0, "exact"),
    HardwareFigure(None, ("hardware", "smi"), None, 12345, "exact; stops all"),
)


def test_lines_show_what_happened_and_then_what_did_not() -> None:
    assert hardware_lines(FIGURES) == [
        "hardware › steal            CPU 2              120 ms  steps of 10.0 ms",
        "hardware › throttle › core  CPU 2     7.00 ms, 1 time  exact count",
        "hardware › smi              all CPUs      12345 times  exact; stops all",
        "none on CPU 3: steal, nmi",
    ]


def test_no_figures_no_lines() -> None:
    assert hardware_lines(()) == []
    assert hardware_lines([HardwareFigure(None, ("hardware", "smi"), None, 0, "")]) == [
        "none on all CPUs: smi"
    ]


def test_the_dict_holds_every_figure_and_goes_through_json() -> None:
    told = figures_as_dict(FIGURES)
    assert json.loads(json.dumps(told)) == told
    cpus, machine = told["cpus"], told["machine"]
    assert isinstance(cpus, dict)
    assert isinstance(machine, list)
    assert {cpu: len(rows) for cpu, rows in cpus.items()} == {"2": 2, "3": 2}
    assert machine == [
        {
            "path": ["hardware", "smi"],
            "ns": None,
            "count": 12345,
            "resolution": "exact; stops all",
            "step_ns": 0,
        }
    ]


def test_figures_come_back_from_a_recording_and_anything_else_is_passed_over() -> None:
    row = {"cpu": 1, "path": ["hardware", "steal"], "ns": 5, "count": None, "resolution": "10 ms"}
    (figure,) = figures_from([row, None, {"cpu": "x", "path": ["a"]}, {"path": []}, 7])
    assert (figure.cpu, figure.label, figure.ns) == (1, "hardware › steal", 5)
    assert figures_from("nonsense") == ()


def steal(cpu: int, ns: int) -> HardwareFigure:
    return HardwareFigure(cpu, STEAL, ns, None, "steps of 10.0 ms", 10_000_000)


def counted(cpu: int | None, count: int, *path: str) -> HardwareFigure:
    return HardwareFigure(cpu, ("hardware", *path), None, count, "exact count")


def test_one_line_tells_rates_with_their_resolution_then_counts_then_what_was_none() -> None:
    figures = [
        steal(1, 20_000_000),
        steal(2, 4_000_000),
        counted(1, 3, "nmi"),
        counted(1, 5, "machine_check", "MCP"),
        counted(1, 0, "machine_check", "MCE"),
        counted(1, 0, "throttle", "core"),
        counted(1, 0, "throttle", "package"),
    ]
    assert brief_line(figures, 2_000_000_000) == (
        "steal 12.0 ms/s (±10.0 ms per CPU)  nmi 3  machine_check MCP 5"
        "  none: machine_check MCE, throttle"
    )
    assert brief_line([steal(1, 0)], 1_000_000_000) == "steal 0 ns/s (±10.0 ms)"
    assert brief_line([counted(None, 0, "smi")], 0) == "none: smi"
    assert brief_line([], 1) == ""


def test_a_throttle_has_its_count_beside_its_time() -> None:
    figure = HardwareFigure(1, ("hardware", "throttle", "core"), 7_000_000, 2, "")
    assert brief_line([figure], 1_000_000_000) == "throttle core 2, 7.00 ms/s"


def test_steal_of_a_cpu_and_of_all() -> None:
    figures = [steal(1, 20), steal(2, 5), counted(1, 3, "nmi")]
    assert [steal_ns(figures, cpu) for cpu in (1, 2, 3, None)] == [20, 5, None, 25]
    assert steal_ns([counted(1, 3, "nmi")], None) is None


def test_what_stayed_at_zero_in_steps_says_so() -> None:
    assert hardware_lines([steal(1, 0), counted(1, 0, "nmi")]) == [
        "none on CPU 1: steal (±10.0 ms), nmi"
    ]


def test_moments_become_counts_of_their_cpu_or_of_the_machine() -> None:
    frequency = [Source(("hardware", "frequency", f"{mhz} MHz")) for mhz in (800, 2400)]
    trip = Source(("hardware", "thermal_trip"))
    made = list(instant_figures([(1, frequency[0], 2), (1, frequency[1], 3), (2, frequency[0], 1),
                                 (7, trip, 1), (8, trip, 1)]))  # fmt: skip
    assert [(one.cpu, one.path[1], one.count, one.ns) for one in made] == [
        (1, "frequency", 5, None),
        (2, "frequency", 1, None),
        (None, "thermal_trip", 2, None),
    ]
    assert {one.resolution for one in made} == {INSTANTS["frequency"], INSTANTS["thermal_trip"]}


def test_readings_in_between_add_up(tmp_path: Path) -> None:
    """What intervals tell is what their whole tells."""
    tree = Tree(tmp_path)
    readings = []
    watch = HardwareWatch((2,), (), tmp_path)
    for ticks in (5, 9, 9, 40):
        tree.write("proc/stat", f"cpu2 0 0 0 0 0 0 0 {ticks} 0 0\n")
        readings.append(watch.read())
    parts = [figures_of(difference(a, b)) for a, b in pairwise(readings)]
    (whole,) = figures_of(difference(readings[0], readings[-1]))
    assert sum(part.ns or 0 for (part,) in parts) == whole.ns == 35 * TICK_NS


def test_what_is_not_available_is_one_line_and_its_reasons_are_in_json() -> None:
    lines = (
        "hardware › machine_check › MCE on CPU 1-2: /proc/interrupts has no MCE there",
        "hardware › throttle › core on CPU 2: thermal_throttle/core_throttle_count is absent",
        "hardware › smi: run as root",
    )
    value = HardwareCounters((steal(1, 0), steal(2, 0), counted(None, 3, "nmi")), lines)
    (shown,) = [line for line in HARDWARE.lines(value, 0) if "available" in line]
    assert shown == "not available: machine_check › MCE, throttle › core on CPU 2, smi"
    assert HARDWARE.as_dict(value)["unavailable_hardware"] == list(lines)
