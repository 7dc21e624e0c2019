"""Hardware threads that share a core."""

from __future__ import annotations

from noisetop.checks import remedy
from noisetop.checks.audited import AuditedMachine
from noisetop.checks.result import Verdict, check, passed
from noisetop.checks.status import Goal, Status
from noisetop.machine.kernel_counters import KernelCounters
from noisetop.machine.machine import cpu_words
from noisetop.machine.reading import CannotTellError, Reading

_CPU = "/sys/devices/system/cpu"
_IDLE, _IOWAIT = 3, 4
_BUSY_SHARE = 0.05


def _busy_share(before: KernelCounters, after: KernelCounters, cpu: int) -> float:
    """Part of the window in which a CPU was not idle, 0 to 1."""
    old, new = before.cpu_ticks.get(cpu, ()), after.cpu_ticks.get(cpu, ())
    if len(old) <= _IOWAIT or len(old) != len(new):
        return 0.0
    spent = [b - a for a, b in zip(old, new, strict=True)]
    total = sum(spent)
    return 1 - (spent[_IDLE] + spent[_IOWAIT]) / total if total > 0 else 0.0


@check(
    "C37",
    "core-shared",
    question="Does no sibling hardware thread share a core with these CPUs?",
    reads=(f"{_CPU}/smt/active", f"{_CPU}/cpu*/topology/thread_siblings_list", "/proc/stat"),
    expected="no sibling hardware thread, or one that is isolated and idle",
    why="Two hardware threads share one core: if one is busy, the other runs at about half speed, "
    "and no trace shows it.",
    fix=f"echo 0 > {_CPU}/cpuN/online for the second thread, or nosmt at boot",
    caveat="Taking a CPU offline stops all CPUs briefly.",
    goals=frozenset({Goal.BENCHMARK, Goal.REALTIME}),
    rank=9,
    sources="Rigtorp's guide, cpu-isolation.rst, tuned",
)
def core_shared(machine: AuditedMachine) -> Verdict:
    """SMT siblings of N."""
    active = machine.read(f"{_CPU}/smt/active")
    if machine.virtual:
        raise CannotTellError("only the host can tell what shares a core with a virtual CPU")
    if active.text == "0":
        return passed("No core runs two hardware threads", active.reading)
    siblings: dict[int, int] = {}
    readings: list[Reading] = [active.reading]
    for cpu in machine.cpus:
        path = f"{_CPU}/cpu{cpu}/topology/thread_siblings_list"
        for other in machine.need_cpus(path) - {cpu}:
            siblings[other] = cpu
            readings.append(machine.read(path).reading)
    if not siblings:
        return passed("No other hardware thread shares a core with these CPUs", *readings)
    isolated = machine.isolated.union(machine.cpus)
    open_ones = [cpu for cpu in sorted(siblings) if cpu not in isolated]
    if open_ones:
        victims = sorted(siblings[cpu] for cpu in open_ones)
        return Verdict(
            Status.FAIL,
            f"{cpu_words(open_ones)}, not isolated, share a core with {cpu_words(victims)}",
            tuple(readings[:4]),
            remedy=remedy.write_each(_CPU, [f"cpu{c}" for c in open_ones], "online", "0", "1"),
            cpus=tuple(victims),
        )
    return _isolated_pairs(machine, siblings, readings)


def _isolated_pairs(
    machine: AuditedMachine, siblings: dict[int, int], readings: list[Reading]
) -> Verdict:
    before, after, seconds = machine.need_window()
    shares = {cpu: _busy_share(before, after, cpu) for cpu in siblings}
    busy = sorted(cpu for cpu, share in shares.items() if share > _BUSY_SHARE)
    if busy:
        percent = round(100 * shares[busy[0]])
        stat = Reading("/proc/stat", f"cpu{busy[0]} busy {percent} % of {seconds:.1f} s")
        return Verdict(
            Status.WARN,
            f"{cpu_words(busy)} are isolated but busy, and share cores with the watched CPUs",
            (*readings[:3], stat),
            remedy=remedy.write_each(_CPU, [f"cpu{cpu}" for cpu in busy], "online", "0", "1"),
            cpus=tuple(sorted(siblings[cpu] for cpu in busy)),
        )
    return passed("The hardware threads that share these cores are isolated and idle", *readings)
