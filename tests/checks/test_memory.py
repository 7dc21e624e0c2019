"""Memory management."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.trees import BENCHMARK, FAIL, PASS, SKIP, THROUGHPUT, WARN, Case

CASES = [
    Case("C38", PASS, "Transparent huge pages are off"),
    Case(
        "C38",
        WARN,
        "for programs that ask",
        {"/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never"},
        command="echo never >",
        undo="echo madvise >",
    ),
    Case(
        "C38",
        WARN,
        "for every program",
        {"/sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never"},
    ),
    Case(
        "C38",
        FAIL,
        "Transparent huge pages are always on, with direct",
        {
            "/sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
            "/sys/kernel/mm/transparent_hugepage/defrag": "[always] defer never",
        },
    ),
    Case(
        "C38", SKIP, "names no mode", {"/sys/kernel/mm/transparent_hugepage/enabled": "[\x1b[31m"}
    ),
    Case("C38", SKIP, "goal throughput", goal=THROUGHPUT),
    Case("C39", PASS, "is off"),
    Case("C39", PASS, "This kernel has no same-page merging (KSM)", {"/sys/kernel/mm/ksm/": None}),
    Case(
        "C39",
        WARN,
        "Kernel same-page merging (KSM) is on",
        {"/sys/kernel/mm/ksm/run": "1"},
        command="echo 0 > /sys/kernel/mm/ksm/run",
        undo="echo 1 >",
    ),
    Case(
        "C39",
        FAIL,
        "Kernel same-page merging (KSM) is on and has merged pages",
        {"/sys/kernel/mm/ksm/run": "1", "/sys/kernel/mm/ksm/pages_sharing": "8"},
    ),
    Case(
        "C39",
        FAIL,
        "Kernel same-page merging (KSM) is on and has merged pages",
        {"/sys/kernel/mm/ksm/run": "2"},
    ),
    Case("C39", SKIP, "does not exist", {"/sys/kernel/mm/": None}),
    Case("C40", PASS, "Automatic NUMA balancing is off"),
    Case("C40", PASS, "only one memory node", {"/proc/sys/kernel/numa_balancing": None}),
    Case(
        "C40",
        WARN,
        "Automatic NUMA balancing is on: programs take extra page",
        {"/proc/sys/kernel/numa_balancing": "1"},
        command="kernel.numa_balancing=0",
        undo="kernel.numa_balancing=1",
    ),
    Case(
        "C40",
        SKIP,
        "does not exist",
        {"/proc/sys/kernel/numa_balancing": None, "/sys/devices/system/node/node1/cpulist": "3"},
    ),
    Case("C41", PASS, "no swap space"),
    Case(
        "C41",
        PASS,
        "has locked",
        {"/proc/swaps": "Filename Type Size Used Priority\n/swap file 100 0 -2\n"},
    ),
    Case(
        "C41",
        WARN,
        "not in use now",
        {
            "/proc/swaps": "Filename Type Size Used Priority\n/swap file 100 0 -2\n",
            "/proc/500/": None,
        },
        command="swapoff -a",
        undo="swapon -a",
    ),
    Case(
        "C41",
        WARN,
        "it is in use",
        {
            "/proc/swaps": "Filename Type Size Used Priority\n/swap file 100 7 -2\n",
            "/proc/500/": None,
        },
    ),
    Case(
        "C41",
        FAIL,
        "4 pages",
        {"/proc/swaps": "Filename Type Size Used Priority\n/swap file 100 7 -2\n"},
        {"/proc/vmstat": "pswpin 4\npswpout 0\n"},
    ),
    Case("C41", SKIP, "does not exist", {"/proc/swaps": None}),
    Case("C41", SKIP, "/proc/swaps cannot be parsed", {"/proc/swaps": ""}),
    Case("C43", PASS, "Proactive memory compaction is off or low"),
    Case(
        "C43",
        WARN,
        "Proactive memory compaction is on",
        {"/proc/sys/vm/compaction_proactiveness": "20"},
        command="vm.compaction_proactiveness=0",
        undo="=20",
    ),
    Case("C43", SKIP, "does not exist", {"/proc/sys/vm/compaction_proactiveness": None}),
    Case("C60", PASS, "Address space layout randomisation (ASLR) is on", goal=BENCHMARK),
    Case(
        "C60",
        WARN,
        "Address space layout randomisation (ASLR) is off: effects",
        {"/proc/sys/kernel/randomize_va_space": "0"},
        goal=BENCHMARK,
        command="kernel.randomize_va_space=2",
        undo="=0",
    ),
    Case(
        "C60",
        SKIP,
        "holds no number",
        {"/proc/sys/kernel/randomize_va_space": "9" * 5000},
        goal=BENCHMARK,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.check}-{case.status}-{case.says}")
def test_case(case: Case, tmp_path: Path) -> None:
    case.verify(tmp_path)
