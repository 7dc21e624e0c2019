"""Background work of memory management, and where programs lie in memory."""

from __future__ import annotations

import re

from noisetop.checks import remedy
from noisetop.checks.machine import Machine
from noisetop.checks.result import (
    LATENCY,
    CannotTellError,
    Goal,
    Reading,
    Remedy,
    Status,
    Verdict,
    check,
    passed,
)
from noisetop.checks.tasks import status_fields

_THP = "/sys/kernel/mm/transparent_hugepage"
_KSM = "/sys/kernel/mm/ksm"
_NUMA = "/proc/sys/kernel/numa_balancing"
_PROACTIVE = "/proc/sys/vm/compaction_proactiveness"
_ASLR = "/proc/sys/kernel/randomize_va_space"
_LITTLE = 5


def _chosen(text: str) -> str:
    """The word in brackets: ``always [madvise] never``."""
    match = re.search(r"\[([a-z+]+)\]", text)
    return match[1] if match else ""


@check(
    "C38",
    "huge-pages",
    question="Does the kernel leave pages as they are?",
    reads=(f"{_THP}/enabled", f"{_THP}/defrag"),
    expected="never",
    why="To join small pages into huge ones, the kernel stops programs and interrupts every CPU.",
    fix=f"echo never > {_THP}/enabled; at boot transparent_hugepage=never",
    caveat="Programs with much memory may run slower; reserve huge pages for those that ask.",
    explains=(
        ("thread", "khugepaged"),
        ("ipi", "*", "tlb_remove_table_smp_sync"),
        ("ipi", "*", "flush_tlb_func"),
        ("fault",),
    ),
    goals=LATENCY,
    sources="Rigtorp's guide, tuned",
)
def huge_pages(machine: Machine) -> Verdict:
    """transparent_hugepage."""
    enabled = machine.need(f"{_THP}/enabled")
    defrag = machine.read(f"{_THP}/defrag")
    mode = _chosen(enabled.text)
    if not mode:
        raise CannotTellError(f"{enabled.path} names no mode", enabled.reading)
    readings = (enabled.reading, defrag.reading)
    if mode == "never":
        return passed("The kernel leaves pages as they are", *readings)
    fix = remedy.write(enabled, "never", undo=mode)
    if mode == "always" and _chosen(defrag.text) == "always":
        cause = "The kernel joins small pages into huge ones at any time, and programs wait for it"
        return Verdict(Status.FAIL, cause, readings, remedy=fix)
    who = "for every program" if mode == "always" else "for programs that ask for it"
    cause = f"The kernel joins small pages into huge ones {who}"
    return Verdict(Status.WARN, cause, readings, remedy=fix)


@check(
    "C39",
    "same-page-merging",
    question="Is the search for equal pages off?",
    reads=(f"{_KSM}/run", f"{_KSM}/pages_sharing"),
    expected="0",
    why="A thread of the kernel compares memory all the time, and writes to merged pages fault.",
    fix=f"echo 0 > {_KSM}/run; 2 also undoes the merging done so far",
    caveat="Virtual machines with equal contents then need more memory.",
    explains=(("thread", "ksmd"), ("ipi", "*", "flush_tlb_func"), ("fault",)),
    sources="Rigtorp's guide, tuned",
)
def same_page_merging(machine: Machine) -> Verdict:
    """ksm/run."""
    if machine.exists("/sys/kernel/mm/transparent_hugepage") and not machine.exists(_KSM):
        return passed("This kernel does not search for equal pages")
    value = machine.need_number(f"{_KSM}/run")
    run, sharing = machine.read(f"{_KSM}/run"), machine.read(f"{_KSM}/pages_sharing")
    readings = (run.reading, sharing.reading)
    if value == 0:
        return passed("The search for equal pages is off", *readings)
    busy = value == 2 or bool(sharing.number())
    cause = "The kernel searches memory for equal pages" + (" and merges them" if busy else "")
    status = Status.FAIL if busy else Status.WARN
    return Verdict(status, cause, readings, remedy=remedy.write(run, "0"))


@check(
    "C40",
    "numa-balancing",
    question="Does the kernel leave memory on its node?",
    reads=(_NUMA,),
    expected="0",
    why="To learn who uses which memory, the kernel takes pages away so that touching them faults.",
    fix="sysctl -w kernel.numa_balancing=0",
    caveat="Then bind programs and their memory to one node: numactl --cpunodebind --membind.",
    explains=(("fault",), ("ipi", "*", "flush_tlb_func"), ("thread", "migration/*")),
    goals=LATENCY,
    sources="Rigtorp's guide, tuned",
)
def numa_balancing(machine: Machine) -> Verdict:
    """kernel.numa_balancing."""
    file = machine.read(_NUMA)
    nodes = machine.glob("/sys/devices/system/node", "node[0-9]*")
    if file.missing and len(nodes) == 1:
        return passed("There is only one memory node", file.reading)
    if machine.need_number(_NUMA) == 0:
        return passed("The kernel leaves memory on its node", file.reading)
    cause = "The kernel moves memory between nodes, and programs fault to show what they use"
    return Verdict(Status.WARN, cause, (file.reading,), remedy=remedy.sysctl(file, "0"))


def _all_locked(machine: Machine) -> bool:
    """Whether all memory of the workload is locked."""
    pids = {task.pid for task in machine.workload}
    for pid in pids:
        fields = status_fields(machine.read(f"/proc/{pid}/status").text)
        sizes = [re.fullmatch(r"([0-9]{1,18}) kB", fields.get(k, "")) for k in ("VmLck", "VmRSS")]
        if not all(sizes) or int(sizes[0][1]) < int(sizes[1][1]):  # type: ignore[index]
            return False
    return bool(pids)


@check(
    "C41",
    "swap",
    question="Does memory stay out of swap?",
    reads=("/proc/swaps", "/proc/vmstat, twice"),
    expected="no swap space, or a program that has locked its memory",
    why="Memory that was swapped out costs a wait for the disk when it is touched.",
    fix="swapoff -a",
    caveat="With too little memory, programs are then killed instead.",
    explains=(("thread", "kswapd*"), ("fault",)),
    sources="Rigtorp's guide",
)
def swap(machine: Machine) -> Verdict:
    """Swap spaces, and whether pages move."""
    file = machine.need("/proc/swaps")
    lines = file.text.splitlines()
    if not lines or not lines[0].startswith("Filename"):
        raise CannotTellError("/proc/swaps cannot be understood", file.reading)
    if not lines[1:]:
        return passed("There is no swap space", file.reading)
    moved = _pages_swapped(machine)
    reading = Reading("/proc/swaps", "; ".join(" ".join(line.split()) for line in lines[1:3]))
    fix = Remedy("swapoff -a", "swapon -a")
    if moved:
        return Verdict(
            Status.FAIL,
            f"{moved} pages went to or came from swap while this was watched",
            (reading, Reading("/proc/vmstat", f"pswpin + pswpout grew by {moved}")),
            remedy=fix,
        )
    if _all_locked(machine):
        return passed("There is swap, but the program has locked its memory", reading)
    used = any(line.split()[-2:-1] not in ([], ["0"]) for line in lines[1:])
    cause = "There is swap space" + (", and it is in use" if used else ", not in use now")
    return Verdict(Status.WARN, cause, (reading,), remedy=fix)


def _pages_swapped(machine: Machine) -> int:
    if machine.window is None:
        return 0
    before, after = machine.window.before.vm, machine.window.after.vm
    names = ("pswpin", "pswpout")
    return sum(max(after.get(name, 0) - before.get(name, 0), 0) for name in names)


@check(
    "C43",
    "compaction",
    question="Does the kernel tidy up memory only when it must?",
    reads=(_PROACTIVE,),
    expected=f"0 to {_LITTLE}",
    why="Moving pages together in the background interrupts every CPU that may know them.",
    fix="sysctl -w vm.compaction_proactiveness=0",
    caveat="Large allocations may have to wait instead; reserve huge pages early.",
    explains=(("thread", "kcompactd*"), ("ipi", "*", "flush_tlb_func")),
    goals=LATENCY,
    sources="mm/compaction.c",
)
def compaction(machine: Machine) -> Verdict:
    """vm.compaction_proactiveness."""
    value = machine.need_number(_PROACTIVE)
    file = machine.read(_PROACTIVE)
    if value <= _LITTLE:
        return passed("The kernel tidies up memory only when it must", file.reading)
    cause = "The kernel moves memory around in the background"
    return Verdict(Status.WARN, cause, (file.reading,), remedy=remedy.sysctl(file, "0"))


@check(
    "C60",
    "address-randomisation",
    question="Are addresses chosen at random in each run?",
    reads=(_ASLR,),
    expected="2",
    why="With fixed addresses, each run has the same lucky or unlucky layout: results agree with "
    "one another but not with the truth.",
    fix="sysctl -w kernel.randomize_va_space=2",
    caveat="Run a benchmark several times and compare distributions.",
    goals=frozenset({Goal.BENCHMARK}),
    sources="pyperf",
)
def address_randomisation(machine: Machine) -> Verdict:
    """kernel.randomize_va_space."""
    value = machine.need_number(_ASLR)
    file = machine.read(_ASLR)
    if value == 2:
        return passed("Addresses are chosen at random in each run", file.reading)
    cause = "Addresses are the same in each run, which hides how much they matter"
    return Verdict(Status.WARN, cause, (file.reading,), remedy=remedy.sysctl(file, "2"))
