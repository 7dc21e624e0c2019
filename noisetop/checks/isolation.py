"""Whether the scheduler keeps other tasks away from the watched CPUs."""

from __future__ import annotations

import re

from noisetop.checks import remedy
from noisetop.checks.audited import AuditedMachine
from noisetop.checks.result import Remedy, Verdict, check, passed, skipped
from noisetop.checks.status import LATENCY, Status
from noisetop.machine.machine import cpu_words
from noisetop.machine.reading import CannotTellError, Reading
from noisetop.text.cpu_list import cpu_set, format_cpu_list

_CPU = "/sys/devices/system/cpu"
_ISOLATED = f"{_CPU}/isolated"
_NODES = "/sys/devices/system/node"
_MANY = 8
_CGROUPS_AT_MOST = 4000


def _isolate(machine: AuditedMachine) -> Remedy:
    """A cpuset partition where cgroup v2 can make one, else the boot parameter."""
    base = machine.cgroup2
    if "cpuset" not in machine.read(f"{base}/cgroup.controllers").text.split() or not base:
        return remedy.boot_argument(machine, f"isolcpus=domain,managed_irq,{machine.watched}")
    group = f"{base}/isolated"
    return Remedy(
        f"echo +cpuset > {base}/cgroup.subtree_control && mkdir {group} && "
        f"echo {machine.watched} > {group}/cpuset.cpus && "
        f"echo isolated > {group}/cpuset.cpus.partition",
        f"echo member > {group}/cpuset.cpus.partition && rmdir {group}",
    )


@check(
    "C03",
    "scheduler-isolation",
    question="Does the scheduler keep other tasks off these CPUs?",
    reads=(_ISOLATED, "cpuset.cpus.isolated of the root cgroup", f"{_CPU}/nohz_full"),
    expected="every watched CPU is isolated by isolcpus= or by a cpuset partition",
    why="Otherwise the scheduler may place any task there at any time, and balances load there.",
    fix="a cpuset partition of type isolated, or isolcpus=domain,managed_irq,LIST",
    caveat="Programs must then be bound to these CPUs explicitly: one thread for each.",
    explains=(("thread",), ("ipi", "*", "nohz_csd_func"), ("softirq", "SCHED")),
    goals=LATENCY,
    rank=2,
    sources="cpu-isolation.rst, tuned",
)
def scheduler_isolation(machine: AuditedMachine) -> Verdict:
    """Domain isolation by any means."""
    by_boot = machine.read(_ISOLATED)
    root_list = machine.read(f"{machine.cgroup2}/cpuset.cpus.isolated")
    readings = (by_boot.reading, *((root_list.reading,) if machine.cgroup2 else ()))
    shared = [cpu for cpu in machine.cpus if cpu not in machine.isolated]
    if not shared:
        return passed("The scheduler keeps other tasks off these CPUs", *readings)
    if by_boot.cpus() is None:
        raise CannotTellError(f"{_ISOLATED} {by_boot.why or 'holds no CPU list'}", *readings)
    if machine.container and root_list.missing:
        raise CannotTellError("a container does not see the partitions of its host", *readings)
    if machine.nohz_full.issuperset(shared):
        return Verdict(
            Status.WARN,
            f"Isolation is incomplete: nohz_full= contains {cpu_words(shared)}, "
            "but the scheduler still places tasks there",
            (*readings, machine.read(f"{_CPU}/nohz_full").reading),
            remedy=_isolate(machine),
            caveat="Use this, or isolcpus=domain,managed_irq,LIST beside nohz_full= at boot. "
            "On newer kernels nohz_full= alone no longer keeps unbound kernel work away.",
            cpus=tuple(shared),
        )
    return Verdict(
        machine.worse(),
        f"The scheduler may place any task on {cpu_words(shared)}",
        readings,
        remedy=_isolate(machine),
        cpus=tuple(shared),
    )


@check(
    "C05",
    "housekeeping",
    question="Are enough housekeeping CPUs left?",
    reads=(f"{_CPU}/online", _ISOLATED, f"{_CPU}/nohz_full", f"{_NODES}/node*/cpulist"),
    expected="at least one CPU on each NUMA node that is neither isolated nor watched",
    why="Interrupts, kernel work and daemons must run somewhere; with no CPU of their own they "
    "run on the watched ones.",
    fix="isolate fewer CPUs",
    explains=(("thread",), ("irq",)),
    rank=12,
    sources="cpu-isolation.rst, housekeeping.rst",
)
def housekeeping(machine: AuditedMachine) -> Verdict:
    """Online CPUs that are neither isolated nor watched."""
    for name in ("online", "isolated", "nohz_full"):
        # Kernels that cannot stop their tick have no such file.
        if not machine.read(f"{_CPU}/nohz_full").missing or name != "nohz_full":
            machine.need_cpus(f"{_CPU}/{name}")
    readings = [
        machine.read(f"{_CPU}/{name}").reading for name in ("online", "isolated", "nohz_full")
    ]
    excluded = machine.isolated | machine.nohz_full
    free = machine.housekeeping
    if excluded.issuperset(machine.online):
        return Verdict(
            Status.FAIL, "Every CPU is isolated: there is no housekeeping CPU", (*readings,)
        )
    if not free:
        return Verdict(
            Status.WARN,
            "Every CPU is watched: there is no housekeeping CPU",
            (*readings,),
            caveat="Name the CPUs to isolate, for example: noisetop check -c "
            f"{format_cpu_list(machine.online[1:] or machine.online)}",
        )
    bare = []
    for path in machine.glob(_NODES, "node[0-9]*/cpulist"):
        node = machine.read(path).cpus() or frozenset()
        if node.intersection(machine.online) and not node.intersection(free):
            bare.append(path.split("/")[-2])
            readings.append(machine.read(path).reading)
    if bare:
        cause = f"No CPU of memory node {', '.join(bare)} is left for housekeeping"
        return Verdict(Status.WARN, cause, (*readings,))
    if len(free) == 1 and len(machine.online) > _MANY:
        cause = f"One housekeeping CPU serves {len(machine.online) - 1} CPUs"
        return Verdict(Status.WARN, cause, (*readings,))
    return passed(f"Left for housekeeping: {cpu_words(free)}", *readings)


def _partitions(machine: AuditedMachine) -> list[tuple[str, str]]:
    """Cgroups that are partitions, with the text of cpuset.cpus.partition."""
    waiting, found = [machine.cgroup2], []
    for _ in range(_CGROUPS_AT_MOST):
        if not waiting:
            break
        group = waiting.pop()
        text = machine.read(f"{group}/cpuset.cpus.partition").text
        if text and text != "member":
            found.append((group, text))
        children = machine.glob(group, "*/cpuset.cpus")
        waiting += [path.rpartition("/")[0] for path in children]
    return found


@check(
    "C28",
    "partition-valid",
    question="Are cpuset partitions with these CPUs valid?",
    reads=("cpuset.cpus.partition and cpuset.cpus of every cgroup",),
    expected="isolated",
    why="A partition that the kernel marks invalid isolates nothing, without any other sign.",
    fix="fix the reason given in cpuset.cpus.partition, then write isolated again",
    explains=(("thread",),),
    goals=LATENCY,
    rank=12,
    sources="cgroup-v2.rst, cpu-isolation.rst",
)
def partition_valid(machine: AuditedMachine) -> Verdict:
    """State of the cpuset partitions that claim watched CPUs."""
    if not machine.cgroup2:
        raise CannotTellError("cgroup v2 is not mounted, so there are no partitions")
    good = None
    for group, text in _partitions(machine):
        wanted = cpu_set(machine.read(f"{group}/cpuset.cpus").text) or frozenset()
        hit = machine.hit(wanted)
        state = Reading(f"{group}/cpuset.cpus.partition", text)
        readings = (state, machine.read(f"{group}/cpuset.cpus").reading)
        if not hit:
            continue
        if "invalid" in text:
            cause = f"The kernel rejects the partition that should isolate {cpu_words(hit)}"
            detail = re.sub(r"^\w+ invalid\s*", "", text)
            return Verdict(
                Status.FAIL, cause, readings, caveat=f"The kernel's reason: {detail}", cpus=hit
            )
        if text == "root":
            return Verdict(
                Status.WARN,
                f"The partition with {cpu_words(hit)} still balances load over its CPUs",
                readings,
                remedy=remedy.write(machine.read(state.path), "isolated"),
                cpus=hit,
            )
        good = good or readings
    if good:
        return passed("The partition with these CPUs is valid", *good)
    return skipped("No cpuset partition contains these CPUs (see C03 for alternatives)")
