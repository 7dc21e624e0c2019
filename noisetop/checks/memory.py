"""Background work of memory management, and where programs lie in memory."""

from __future__ import annotations

import re

from noisetop.checks import remedy
from noisetop.checks.audited import AuditedMachine
from noisetop.checks.result import Remedy, Verdict, check, passed
from noisetop.checks.status import LATENCY, Goal, Status
from noisetop.machine.reading import CannotTellError, Reading
from noisetop.machine.tasks import status_fields

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
    question="Are transparent huge pages off?",
    reads=(f"{_THP}/enabled", f"{_THP}/defrag"),
    expected="never",
    why="To build huge pages, the kernel stalls programs and interrupts all CPUs.",
    fix=f"echo never > {_THP}/enabled; at boot transparent_hugepage=never",
    caveat="Programs with much memory may run slower; reserve huge pages for those that need them.",
    explains=(
        ("thread", "khugepaged"),
        ("ipi", "*", "tlb_remove_table_smp_sync"),
        ("ipi", "*", "flush_tlb_func"),
        ("fault",),
    ),
    goals=LATENCY,
    sources="Rigtorp's guide, tuned",
)
def huge_pages(machine: AuditedMachine) -> Verdict:
    """transparent_hugepage."""
    enabled = machine.need(f"{_THP}/enabled")
    defrag = machine.read(f"{_THP}/defrag")
    mode = _chosen(enabled.text)
    if not mode:
        raise CannotTellError(f"{enabled.path} names no mode", enabled.reading)
    readings = (enabled.reading, defrag.reading)
    if mode == "never":
        return passed("Transparent huge pages are off", *readings)
    fix = remedy.write(enabled, "never", undo=mode)
    if mode == "always" and _chosen(defrag.text) == "always":
        cause = "Transparent huge pages are always on, with direct compaction on page faults"
        return Verdict(Status.FAIL, cause, readings, remedy=fix)
    who = "for every program" if mode == "always" else "for programs that ask for them (madvise)"
    cause = f"Transparent huge pages are on {who}"
    return Verdict(Status.WARN, cause, readings, remedy=fix)


@check(
    "C39",
    "same-page-merging",
    question="Is kernel same-page merging (KSM) off?",
    reads=(f"{_KSM}/run", f"{_KSM}/pages_sharing"),
    expected="0",
    why="ksmd scans memory continuously, and writes to merged pages fault.",
    fix=f"echo 0 > {_KSM}/run; 2 also undoes the merging done so far",
    caveat="Virtual machines with equal contents then need more memory.",
    explains=(("thread", "ksmd"), ("ipi", "*", "flush_tlb_func"), ("fault",)),
    sources="Rigtorp's guide, tuned",
)
def same_page_merging(machine: AuditedMachine) -> Verdict:
    """ksm/run."""
    if machine.exists("/sys/kernel/mm/transparent_hugepage") and not machine.exists(_KSM):
        return passed("This kernel has no same-page merging (KSM)")
    value = machine.need_number(f"{_KSM}/run")
    run, sharing = machine.read(f"{_KSM}/run"), machine.read(f"{_KSM}/pages_sharing")
    readings = (run.reading, sharing.reading)
    if value == 0:
        return passed("Kernel same-page merging (KSM) is off", *readings)
    busy = value == 2 or bool(sharing.number())
    cause = "Kernel same-page merging (KSM) is on" + (" and has merged pages" if busy else "")
    status = Status.FAIL if busy else Status.WARN
    return Verdict(status, cause, readings, remedy=remedy.write(run, "0"))


@check(
    "C40",
    "numa-balancing",
    question="Is automatic NUMA balancing off?",
    reads=(_NUMA,),
    expected="0",
    why="To find which node uses a page, the kernel unmaps it so that the next access faults.",
    fix="sysctl -w kernel.numa_balancing=0",
    caveat="Then bind programs and their memory to one node: numactl --cpunodebind --membind.",
    explains=(("fault",), ("ipi", "*", "flush_tlb_func"), ("thread", "migration/*")),
    goals=LATENCY,
    sources="Rigtorp's guide, tuned",
)
def numa_balancing(machine: AuditedMachine) -> Verdict:
    """kernel.numa_balancing."""
    file = machine.read(_NUMA)
    nodes = machine.glob("/sys/devices/system/node", "node[0-9]*")
    if file.missing and len(nodes) == 1:
        return passed("There is only one memory node", file.reading)
    if machine.need_number(_NUMA) == 0:
        return passed("Automatic NUMA balancing is off", file.reading)
    cause = "Automatic NUMA balancing is on: programs take extra page faults"
    return Verdict(Status.WARN, cause, (file.reading,), remedy=remedy.sysctl(file, "0"))


def _all_locked(machine: AuditedMachine) -> bool:
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
    why="An access to swapped-out memory waits for the disk.",
    fix="swapoff -a",
    caveat="Without swap, programs are killed when memory runs out.",
    explains=(("thread", "kswapd*"), ("fault",)),
    sources="Rigtorp's guide",
)
def swap(machine: AuditedMachine) -> Verdict:
    """Swap spaces, and whether pages move."""
    file = machine.need("/proc/swaps")
    lines = file.text.splitlines()
    if not lines or not lines[0].startswith("Filename"):
        raise CannotTellError("/proc/swaps cannot be parsed", file.reading)
    if not lines[1:]:
        return passed("There is no swap space", file.reading)
    moved = _pages_swapped(machine)
    reading = Reading("/proc/swaps", "; ".join(" ".join(line.split()) for line in lines[1:3]))
    fix = Remedy("swapoff -a", "swapon -a")
    if moved:
        return Verdict(
            Status.FAIL,
            f"{moved} pages were swapped in or out during the check",
            (reading, Reading("/proc/vmstat", f"pswpin + pswpout grew by {moved}")),
            remedy=fix,
        )
    if _all_locked(machine):
        return passed("There is swap, but the program has locked its memory", reading)
    used = any(line.split()[-2:-1] not in ([], ["0"]) for line in lines[1:])
    cause = "There is swap space" + (", and it is in use" if used else ", not in use now")
    return Verdict(Status.WARN, cause, (reading,), remedy=fix)


def _pages_swapped(machine: AuditedMachine) -> int:
    if machine.window is None:
        return 0
    before, after = machine.window.before.vm, machine.window.after.vm
    names = ("pswpin", "pswpout")
    return sum(max(after.get(name, 0) - before.get(name, 0), 0) for name in names)


@check(
    "C43",
    "compaction",
    question="Is proactive memory compaction off?",
    reads=(_PROACTIVE,),
    expected=f"0 to {_LITTLE}",
    why="Migrating pages in the background causes TLB shootdowns on the CPUs that map them.",
    fix="sysctl -w vm.compaction_proactiveness=0",
    caveat="Large allocations may stall instead; reserve huge pages early.",
    explains=(("thread", "kcompactd*"), ("ipi", "*", "flush_tlb_func")),
    goals=LATENCY,
    sources="mm/compaction.c",
)
def compaction(machine: AuditedMachine) -> Verdict:
    """vm.compaction_proactiveness."""
    value = machine.need_number(_PROACTIVE)
    file = machine.read(_PROACTIVE)
    if value <= _LITTLE:
        return passed("Proactive memory compaction is off or low", file.reading)
    cause = "Proactive memory compaction is on"
    return Verdict(Status.WARN, cause, (file.reading,), remedy=remedy.sysctl(file, "0"))


@check(
    "C60",
    "address-randomisation",
    question="Is address space layout randomisation (ASLR) on?",
    reads=(_ASLR,),
    expected="2",
    why="With fixed addresses, each run has the same memory layout: results agree with "
    "one another but not with the truth.",
    fix="sysctl -w kernel.randomize_va_space=2",
    caveat="Run a benchmark several times and compare distributions.",
    goals=frozenset({Goal.BENCHMARK}),
    sources="pyperf",
)
def address_randomisation(machine: AuditedMachine) -> Verdict:
    """kernel.randomize_va_space."""
    value = machine.need_number(_ASLR)
    file = machine.read(_ASLR)
    if value == 2:
        return passed("Address space layout randomisation (ASLR) is on", file.reading)
    cause = "Address space layout randomisation (ASLR) is off: effects of memory layout stay hidden"
    return Verdict(Status.WARN, cause, (file.reading,), remedy=remedy.sysctl(file, "2"))
