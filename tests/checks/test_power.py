"""Frequency, sleep and power supply."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.trees import BENCHMARK, CPU, FAIL, PASS, SKIP, THROUGHPUT, WARN, Case, Link, task

CASES = [
    Case("C33", PASS, "The frequency governor of these CPUs favours performance"),
    Case(
        "C33",
        FAIL,
        "CPU 3 may run below their full frequency to save power",
        {f"{CPU}/cpu3/cpufreq/scaling_governor": "powersave"},
        command=f"echo performance > {CPU}/cpu3/cpufreq/scaling_governor",
        undo="echo powersave >",
    ),
    Case(
        "C33",
        WARN,
        "CPU 3 may run below their full frequency to save power",
        {f"{CPU}/cpu3/cpufreq/scaling_governor": "schedutil"},
    ),
    Case(
        "C33",
        PASS,
        "The frequency governor of these CPUs favours performance",
        {f"{CPU}/cpu3/cpufreq/scaling_governor": "schedutil"},
        goal=THROUGHPUT,
    ),
    Case(
        "C33",
        PASS,
        "The frequency governor of these CPUs favours performance",
        {
            f"{CPU}/cpu3/cpufreq/scaling_governor": "powersave",
            f"{CPU}/cpu3/cpufreq/scaling_driver": "intel_pstate",
            f"{CPU}/cpu3/cpufreq/energy_performance_preference": "performance",
        },
    ),
    Case(
        "C33",
        WARN,
        "CPU 3 may run below their full frequency to save power",
        {
            f"{CPU}/cpu3/cpufreq/scaling_governor": "powersave",
            f"{CPU}/cpu3/cpufreq/scaling_driver": "intel_pstate",
            f"{CPU}/cpu3/cpufreq/energy_performance_preference": "balance_power",
        },
    ),
    Case("C33", SKIP, "does not exist", {f"{CPU}/cpu2/cpufreq/scaling_governor": None}),
    Case(
        "C33",
        SKIP,
        "the hypervisor sets",
        {f"{CPU}/cpu2/cpufreq/scaling_governor": None, "/proc/cpuinfo": "flags : tsc hypervisor"},
    ),
    Case("C34", PASS, "The frequency of these CPUs is constant"),
    Case(
        "C34",
        WARN,
        "The frequency of CPU 3 may vary",
        {f"{CPU}/cpu3/cpufreq/scaling_governor": "schedutil"},
        command=f"echo 3000000 > {CPU}/cpu3/cpufreq/scaling_min_freq",
        undo="echo 1000000 >",
    ),
    Case(
        "C34",
        PASS,
        "The frequency of these CPUs is constant",
        {
            f"{CPU}/cpu3/cpufreq/scaling_governor": "schedutil",
            f"{CPU}/cpu3/cpufreq/scaling_min_freq": "3000000",
        },
    ),
    Case(
        "C34",
        FAIL,
        "CPU 3 were throttled because of heat",
        later={f"{CPU}/cpu3/thermal_throttle/core_throttle_count": "9"},
    ),
    Case("C34", SKIP, "does not exist", {f"{CPU}/cpu2/cpufreq/": None}),
    Case("C35", PASS, "is off", goal=BENCHMARK),
    Case(
        "C35",
        WARN,
        "depends on temperature",
        {f"{CPU}/intel_pstate/no_turbo": "0"},
        goal=BENCHMARK,
        command=f"echo 1 > {CPU}/intel_pstate/no_turbo",
        undo="echo 0 >",
    ),
    Case(
        "C35",
        WARN,
        "depends on temperature",
        {f"{CPU}/intel_pstate/no_turbo": None, f"{CPU}/cpufreq/boost": "1"},
        goal=BENCHMARK,
        command="echo 0 >",
    ),
    Case(
        "C35",
        SKIP,
        "no control for turbo boost is visible",
        {f"{CPU}/intel_pstate/no_turbo": None},
        goal=BENCHMARK,
    ),
    Case("C36", PASS, "These CPUs enter no deep idle state"),
    Case(
        "C36",
        PASS,
        "CPUs never enter an idle state (idle=poll)",
        {"/proc/cmdline": "idle=poll", f"{CPU}/cpu2/cpuidle/": None},
    ),
    Case(
        "C36",
        WARN,
        "CPU 3 may take 100 µs",
        {f"{CPU}/cpu3/cpuidle/state1/disable": "0"},
        command=f"echo n/a > {CPU}/cpu3/power/pm_qos_resume_latency_us",
        undo="echo 0 >",
    ),
    Case(
        "C36",
        PASS,
        "These CPUs enter no deep idle state",
        {
            f"{CPU}/cpu3/cpuidle/state1/disable": "0",
            f"{CPU}/cpu3/power/pm_qos_resume_latency_us": "n/a",
        },
    ),
    Case(
        "C36",
        PASS,
        "These CPUs enter no deep idle state",
        {
            f"{CPU}/cpu3/cpuidle/state1/disable": "0",
            f"{CPU}/cpu3/power/pm_qos_resume_latency_us": "50",
        },
    ),
    Case(
        "C36",
        SKIP,
        "tuned (80) limits idle states through /dev/cpu_dma_latency,",
        {
            f"{CPU}/cpu3/cpuidle/state1/disable": "0",
            **task(80, "tuned", "0-1"),
            "/proc/80/fd/3": Link("/dev/cpu_dma_latency"),
        },
    ),
    Case("C36", SKIP, "no idle states are visible in", {f"{CPU}/cpu2/cpuidle/": None}),
    Case(
        "C36",
        SKIP,
        "the hypervisor controls the idle states of a virtual CPU",
        {"/proc/cpuinfo": "flags : tsc hypervisor"},
    ),
    Case("C59", PASS, "mains"),
    Case("C59", WARN, "battery", {"/sys/class/power_supply/AC/online": "0"}),
    Case("C59", SKIP, "the machine lists no power supply", {"/sys/class/power_supply/AC/": None}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.check}-{case.status}-{case.says}")
def test_case(case: Case, tmp_path: Path) -> None:
    case.verify(tmp_path)
