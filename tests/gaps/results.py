"""Made-up probe results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from noisetop.gaps import files
from noisetop.gaps.gaps import Bucket, SpinPeriod
from noisetop.gaps.periodic import Regular
from noisetop.gaps.result import (
    Blocks,
    ClockResult,
    CpuSpin,
    EntryCostResult,
    Explained,
    LongGap,
    LostPart,
    NumaCell,
    NumaResult,
    OutsideResult,
    ProbeResult,
    SpinResult,
    SwitchProcess,
    SwitchResult,
)

EVIL = "\x1b[31mred</text><script>&\u202e"


def cpu_spin(cpu: int = 1, *, explained: bool = True) -> CpuSpin:
    parts = [
        LostPart("event", ["thread", EVIL], 2, 5_000),
        LostPart("entry", ["timer › local_timer"], 2, 1_000),
        LostPart("admitted", ["steal"], 1, 500),
    ]
    gap = LongGap(2_000, 4_000, 1_000 if explained else None, parts[:1] if explained else [])
    told = Explained(
        explained_share_above_1us=0.7,
        with_outside_share_above_1us=0.9,
        lost_above_1us_ns=9_000,
        unreported_wait_ns=200,
        excess_ns=0,
        outside_count=1,
        outside_ns=10,
        entry_costs=[EntryCostResult("timer › local_timer", 500, 20, 400, 100)],
        worst_unexplained=[gap],
        outside=OutsideResult(
            regular_ns=1_000,
            regular_gaps=90,
            irregular_ns=500,
            irregular_gaps=2,
            before_ns=300,
            before_gaps=1,
            regular=Regular(10_000_000.0, 25_000, 90, 0.9),
            interrupts_counted=253,
            interrupts_traced=253,
        ),
        lost_events=0,
        unreported_switches=3,
    )
    return CpuSpin(
        cpu=cpu,
        start_ns=1_000,
        end_ns=1_001_000,
        active_ns=1_000_000,
        loops=50_000,
        loop_cost_ns=10.0,
        resolution_ns=10.0,
        threshold_ns=80.0,
        gaps=3,
        lost_ns=10_000,
        lost_share=0.01,
        unstored_gaps=0,
        unstored_ns=0,
        min_ns=1_000,
        percentiles_ns={"p50": 4_000, "p90": 5_000, "p99": 5_000, "p99.9": 5_000, "p99.99": 5_000},
        max_ns=5_000,
        buckets=[
            Bucket(0, 100, 0, 0.0),
            Bucket(1_000, 1_400, 1, 3.6e6),
            Bucket(4_000, 0, 2, 7.2e6),
        ],
        histogram={"100": 1, "150": 2},
        curve=[[0.0, 1_000.0], [0.5, 4_000.0], [0.9, 5_000.0]],
        longest=[gap],
        regular=Regular(4_000_000.0, 1_500, 250, 0.99),
        stretches=[SpinPeriod(True, 1_000, 1_000), SpinPeriod(False, 2_000, 4_000)],
        timeline=[[2_000, 6_000], [8_000, 9_000]],
        blocks=Blocks(
            10_000, [1] * 20, [500] * 20, {"timer › local_timer": [[1] * 20, [300] * 20]}
        ),
        voluntary_switches=0,
        involuntary_switches=3,
        page_faults=0,
        run_delay_ns=100,
        throttled_ns=0,
        steal_ns=0,
        interrupts={"LOC Local timer interrupts": 3},
        softirqs={"RCU": 1},
        explained_share=0.65 if explained else None,
        parts=parts if explained else [],
        unexplained_ns=3_500 if explained else None,
        explained=told if explained else None,
    )


def spin_result(*busy: int, explained: bool = True) -> ProbeResult:
    run = SpinResult(
        busy_percent=100,
        cpus=[cpu_spin(explained=explained)],
        clock=ClockResult(2.6, 35.0, 100, 0.0),
        smi=None,
        missing=[f"no tracepoint {EVIL}"],
        priority="",
        load=0,
        fenced=False,
    )
    runs = [replace(run, busy_percent=percent) for percent in busy or (100,)]
    return ProbeResult("spin", {"host": "h", "command": ["probe"]}, spin=runs)


def switch_result() -> ProbeResult:
    figures = {"min": 1_000, "p50": 4_000, "p90": 4_000, "p99": 5_000, "max": 6_000, "mean": 4_000}
    switch = SwitchResult(
        cpu=1,
        duration_ns=1_000_000,
        processes=[SwitchProcess(10, 5, 500_000, 5), SwitchProcess(11, 5, 480_000, 5)],
        slice_ns=figures,
        slice_histogram={"150": 9, "160": 1},
        switch_ns=figures,
        switches=9,
        traced_switches=9,
        unseen=0,
        unseen_ns=0,
        timeline=[[0, 0, 4_000], [1, 4_100, 8_000]],
        missing=[],
    )
    return ProbeResult("switch", {}, switch=switch)


def numa_result(nodes: int = 2) -> ProbeResult:
    cells = [
        NumaCell(
            cpu_node=a,
            cpu=a * 8,
            memory_node=b,
            bandwidth={"copy": [10.0, 11.0], "scale": [9.0, 9.5]},
            latency_ns=[80.0 + 60 * (a != b), 85.0],
        )
        for a in range(nodes)
        for b in range(nodes)
    ]
    return ProbeResult("numa", {}, numa=NumaResult(1 << 20, cells, []))


def write_result(result: ProbeResult, path: Path) -> None:
    """Writes a result as what the end of the name says."""
    files.write_result(result, files.check_result_output(path, result.kind, force=False))
