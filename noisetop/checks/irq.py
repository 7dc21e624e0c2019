"""Interrupts of devices."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from noisetop.checks import remedy
from noisetop.checks.audited import AuditedMachine
from noisetop.checks.result import Remedy, SourcePattern, Verdict, check, passed
from noisetop.checks.status import LATENCY, Status
from noisetop.machine.files import hex_mask
from noisetop.machine.machine import cpu_words, quoted
from noisetop.machine.proc_interrupts import parse_interrupts
from noisetop.machine.reading import CannotTellError, Reading
from noisetop.machine.tasks import status_fields
from noisetop.text.cpu_list import cpu_set, format_cpu_list

_IRQ = "/proc/irq"
_DEFAULT = f"{_IRQ}/default_smp_affinity"
# Rows that belong to the scheduler, the tick and cross-CPU calls: other checks ask for those.
_NO_DEVICE = re.compile(r"LOC|RES|CAL|IWI|TLB|ERR|MIS|Err|IPI\d*")
# Drivers known to let the kernel spread their queues; debugfs tells exactly, where it is there.
_MANAGED = re.compile(r"nvme\d+q[1-9]\d*|virtio\d+-req.*|(mpt3sas|megasas|lpfc|qla2xxx|hisi_sas).*")
_AFFINITY_FILES = ("effective_affinity_list", "smp_affinity_list")


@dataclass(frozen=True, slots=True)
class Line:
    """An interrupt line that has a driver."""

    number: str
    name: str
    cpus: frozenset[int]
    """Where it goes now."""
    reading: Reading
    asked: str
    """What smp_affinity_list holds."""
    managed: bool
    """The kernel placed it, and user space cannot move it."""
    counts: dict[int, int]


_DEBUG = "/sys/kernel/debug/irq/irqs"


def is_managed(machine: AuditedMachine, number: str, name: str) -> bool:
    """Whether the kernel placed a line and user space cannot move it; by its name where the kernel
    does not tell."""
    state = machine.read(f"{_DEBUG}/{number}")
    if state.ok:
        return "IRQD_AFFINITY_MANAGED" in state.text
    return bool(_MANAGED.fullmatch(name))


def _line(
    machine: AuditedMachine, directory: str, counts: dict[str, dict[int, int]]
) -> Line | None:
    number = directory.rpartition("/")[2]
    actions = machine.read(f"/sys/kernel/irq/{number}/actions")
    folders = [n for n in machine.names(directory) if machine.names(f"{directory}/{n}")]
    name = actions.text or ",".join(folders)
    if not name and not actions.ok and not actions.missing:
        raise CannotTellError(f"{actions.path} {actions.why}", actions.reading)
    files = [machine.read(f"{directory}/{file}") for file in _AFFINITY_FILES]
    used = next((file for file in files if file.text), files[1])
    cpus = used.cpus()
    if not name:
        return None
    if cpus is None:
        raise CannotTellError(f"{used.path} {used.why or 'holds no CPU list'}", used.reading)
    managed = is_managed(machine, number, name)
    return Line(number, name, cpus, used.reading, files[1].text, managed, counts.get(number, {}))


def lines(machine: AuditedMachine) -> list[Line]:
    """Interrupt lines with a driver. Raises CannotTellError when they are hidden."""
    directories = machine.glob(_IRQ, "[0-9]*")
    if not directories:
        raise CannotTellError(f"{_IRQ} lists no interrupts")
    counts = parse_interrupts(machine.read("/proc/interrupts").text)
    found = [line for name in directories if (line := _line(machine, name, counts))]
    if not found:
        raise CannotTellError(f"no driver's name can be read for the interrupts below {_IRQ}")
    return found


def here(machine: AuditedMachine, found: Iterable[Line]) -> list[Line]:
    """Those that go to watched CPUs, most frequent first."""
    hit = [line for line in found if machine.hit(line.cpus)]
    return sorted(hit, key=lambda line: -sum(line.counts.get(cpu, 0) for cpu in machine.cpus))


def _titles(found: Iterable[Line]) -> str:
    return quoted((f"{line.number} {line.name}" for line in found), most=5)


def _sources(found: Iterable[Line]) -> tuple[SourcePattern, ...]:
    return tuple(("irq", f"{line.number} *") for line in found)


def move(machine: AuditedMachine, found: list[Line]) -> Remedy:
    """Sends lines to the housekeeping CPUs; the undo puts each where it was asked to be."""
    numbers = [line.number for line in found]
    there = remedy.write_each(_IRQ, numbers, "smp_affinity_list", machine.keep, "")
    by_old: dict[str, list[str]] = {}
    for line in found:
        # Untrusted text must not become a part of a command.
        old = format_cpu_list(cpu_set(line.asked) or line.cpus)
        by_old.setdefault(old, []).append(line.number)
    back = [
        remedy.write_each(_IRQ, members, "smp_affinity_list", old, "").command
        for old, members in by_old.items()
    ]
    return Remedy(there.command, "; ".join(back))


def _managed_flag(machine: AuditedMachine) -> frozenset[int]:
    """CPUs of isolcpus=managed_irq,..."""
    values = machine.cmdline.get("isolcpus", [])
    flagged: set[int] = set()
    for value in values:
        words = value.split(",")
        listed = ",".join(word for word in words if word[:1].isdigit())
        if "managed_irq" in words:
            flagged |= cpu_set(listed) or set()
    return frozenset(flagged)


@check(
    "C04",
    "managed-interrupts",
    question="Are kernel-managed interrupts kept off these CPUs?",
    reads=("/proc/cmdline", f"{_IRQ}/*/effective_affinity_list", "/proc/interrupts"),
    expected="isolcpus=managed_irq,... covers the watched CPUs, or no such interrupts",
    why="Storage and some network drivers give every CPU a queue of its own, with an interrupt "
    "that cannot be moved afterwards.",
    fix="isolcpus=managed_irq,domain,LIST on the kernel command line",
    caveat="Works only for queues shared with a housekeeping CPU; submit I/O from other CPUs.",
    explains=(("irq",),),
    goals=LATENCY,
    sources="kernel-parameters.txt, kernel/irq/manage.c",
)
def managed_interrupts(machine: AuditedMachine) -> Verdict:
    """The managed_irq flag of isolcpus=."""
    managed = [line for line in lines(machine) if line.managed]
    machine.need("/proc/cmdline")
    given = machine.parameter("isolcpus")
    if not managed:
        exact = bool(machine.names(_DEBUG))
        doubt = "" if exact else "Judged by driver names, as debugfs cannot be read."
        return passed("Every interrupt can be moved by hand", given, caveat=doubt)
    if _managed_flag(machine).issuperset(machine.cpus):
        return passed("Kernel-managed interrupts are kept off these CPUs", given)
    stray = here(machine, managed)
    used = [line for line in stray if any(line.counts.get(cpu) for cpu in machine.cpus)]
    fix = remedy.boot_argument(machine, f"isolcpus=managed_irq,domain,{machine.watched}")
    if used and machine.has_spare:
        return Verdict(
            Status.FAIL,
            "Kernel-managed interrupts arrive here: " + _titles(used),
            (given, *(line.reading for line in used[:3])),
            remedy=fix,
            cpus=machine.hit(frozenset().union(*(line.cpus for line in used))),
            explains=_sources(used),
        )
    return Verdict(
        Status.WARN,
        f"{len(managed)} kernel-managed interrupts may be placed on these CPUs",
        (given, managed[0].reading),
        remedy=fix,
        explains=_sources(stray),
    )


@check(
    "C19",
    "interrupt-affinity",
    question="Do device interrupts go to other CPUs?",
    reads=(f"{_IRQ}/*/effective_affinity_list", f"{_IRQ}/*/smp_affinity_list"),
    expected="no list contains a watched CPU",
    why="An interrupt stops the running task for microseconds and often raises a softirq.",
    fix=f"echo LIST > {_IRQ}/N/smp_affinity_list; at boot irqaffinity=LIST",
    caveat="Lost at reboot; irqbalance may move them back (see C22).",
    explains=(("irq",), ("softirq", "NET_RX"), ("softirq", "BLOCK")),
    rank=3,
    needs_spare_cpu=True,
    sources="Rigtorp's guide, tuned",
)
def interrupt_affinity(machine: AuditedMachine) -> Verdict:
    """Where each line goes in fact."""
    found = lines(machine)
    stray = here(machine, found)
    if not stray:
        return passed(
            f"All {len(found)} device interrupts go to other CPUs",
            *(line.reading for line in found[:1]),
        )
    movable = [line for line in stray if not line.managed]
    shown = movable or stray
    cpus = machine.hit(frozenset().union(*(line.cpus for line in shown)))
    if not movable:
        return Verdict(
            Status.WARN,
            f"Interrupts that cannot be moved go to {cpu_words(cpus)}: {_titles(stray)}",
            tuple(line.reading for line in stray[:3]),
            caveat="The kernel placed them; see C04.",
            cpus=cpus,
            explains=_sources(stray),
        )
    return Verdict(
        Status.FAIL,
        f"Device interrupts go to {cpu_words(cpus)}: {_titles(movable)}",
        tuple(line.reading for line in movable[:3]),
        remedy=move(machine, movable),
        cpus=cpus,
        explains=_sources(movable),
    )


@check(
    "C20",
    "interrupt-rate",
    question="Do no device interrupts arrive?",
    reads=("/proc/interrupts, twice",),
    expected="no count of a watched CPU grows",
    why="What arrives is what costs, regardless of the masks.",
    fix="move the interrupt (C19), or stop what uses the device",
    caveat="Tick, reschedule and function call interrupts are left out: other checks cover them.",
    explains=(("irq",), ("nmi",)),
    rank=20,
    needs_spare_cpu=True,
    sources="Rigtorp's guide",
)
def interrupt_rate(machine: AuditedMachine) -> Verdict:
    """Growth of /proc/interrupts on the watched CPUs."""
    before, after, seconds = machine.need_window()
    if not after.interrupts:
        raise CannotTellError("/proc/interrupts cannot be read or parsed")
    grown: dict[str, int] = {}
    for label, counts in after.interrupts.items():
        old = before.interrupts.get(label, {})
        more = sum(max(counts.get(cpu, 0) - old.get(cpu, 0), 0) for cpu in machine.cpus)
        if more and not _NO_DEVICE.fullmatch(label) and not _is_timer(machine, label):
            grown[label] = more
    total = sum(grown.values())
    reading = Reading("/proc/interrupts", f"{total} more within {seconds:.1f} s")
    if not total:
        return passed(f"No device interrupt arrived within {seconds:.1f} s", reading)
    names = {label: machine.read(f"/sys/kernel/irq/{label}/actions").text for label in grown}
    worst = sorted(grown, key=lambda label: -grown[label])
    listed = quoted((f"{grown[i]} of {i} {names[i]}".strip() for i in worst), most=4)
    return Verdict(
        Status.FAIL if total / seconds >= 1 else Status.WARN,
        f"Interrupts arrived within {seconds:.1f} s: {listed}",
        (reading,),
        explains=tuple(("irq", f"{label} *") for label in worst if label.isdigit())
        + ((("nmi",),) if "NMI" in grown else ()),
    )


def _is_timer(machine: AuditedMachine, label: str) -> bool:
    return "timer" in machine.read(f"/sys/kernel/irq/{label}/actions").text


@check(
    "C21",
    "interrupt-default",
    question="Will interrupts of new devices go to other CPUs?",
    reads=(_DEFAULT,),
    expected="the mask does not contain the watched CPUs",
    why="A device that is added later may send its interrupts here.",
    fix="irqaffinity=LIST on the kernel command line",
    explains=(("irq",),),
    needs_spare_cpu=True,
    sources="pyperf, kernel-parameters.txt",
)
def interrupt_default(machine: AuditedMachine) -> Verdict:
    """default_smp_affinity."""
    mask = machine.need_mask(_DEFAULT)
    file = machine.read(_DEFAULT)
    hit = machine.hit(mask)
    if not hit:
        return passed("Interrupts of new devices will go to other CPUs", file.reading)
    return Verdict(
        Status.WARN,
        f"Interrupts of new devices may go to {cpu_words(hit)}",
        (file.reading,),
        remedy=remedy.write(file, machine.keep_mask, undo=hex_mask(mask)),
        caveat=f"Lost at reboot, unlike irqaffinity={machine.keep} on the kernel command line.",
        cpus=hit,
    )


def _banned(machine: AuditedMachine, pid: int) -> tuple[frozenset[int], Reading] | None:
    """CPUs that irqbalance is configured to leave alone; None: not configured."""
    for path in (f"/proc/{pid}/environ", "/etc/default/irqbalance", "/etc/sysconfig/irqbalance"):
        text = machine.read(path).text.replace("\0", "\n")
        for key in ("IRQBALANCE_BANNED_CPULIST", "IRQBALANCE_BANNED_CPUS"):
            match = re.search(rf'(?m)^{key}=["\']?([0-9a-fA-F,-]+)', text)
            if match is None:
                continue
            digits = match[1].replace(",", "")
            if key.endswith("LIST"):
                cpus = cpu_set(match[1])
            else:
                bits = int(digits[:1024], 16) if re.fullmatch("[0-9a-fA-F]+", digits) else 0
                cpus = frozenset(cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1)
            return cpus or frozenset(), Reading(path, match[0])
    return None


@check(
    "C22",
    "irqbalance",
    question="Does irqbalance leave these CPUs alone?",
    reads=("/proc/*/status", "/etc/default/irqbalance", "/etc/sysconfig/irqbalance"),
    expected="irqbalance is not running, or the watched CPUs are banned",
    why="It moves interrupts between CPUs every ten seconds, including back to where they were.",
    fix="systemctl stop irqbalance, or IRQBALANCE_BANNED_CPULIST",
    caveat="Without it, spread busy interrupts over the other CPUs by hand.",
    explains=(("irq",),),
    needs_spare_cpu=True,
    sources="tuned, pyperf, irqbalance issue 336",
)
def irqbalance(machine: AuditedMachine) -> Verdict:
    """irqbalance and its ban list."""
    running = [task for task in machine.tasks if task.comm == "irqbalance"]
    if not running:
        if machine.tasks_hidden:
            raise CannotTellError(machine.tasks_hidden)
        return passed("irqbalance is not running")
    task = running[0]
    name = status_fields(machine.read(f"/proc/{task.pid}/status").text).get("Name", task.comm)
    process = Reading(f"/proc/{task.pid}/status", f"Name: {name}")
    found = _banned(machine, task.pid)
    # Without a list of its own it leaves alone what the kernel calls isolated.
    banned = found[0] if found else machine.isolated | machine.nohz_full
    readings = (process, *((found[1],) if found else ()))
    open_cpus = tuple(cpu for cpu in machine.cpus if cpu not in banned)
    if not open_cpus:
        return passed("irqbalance leaves these CPUs alone", *readings)
    stray = [line for line in here(machine, lines(machine)) if not line.managed]
    return Verdict(
        Status.FAIL if stray else Status.WARN,
        f"irqbalance may move interrupts to {cpu_words(open_cpus)}",
        readings,
        remedy=Remedy("systemctl stop irqbalance", "systemctl start irqbalance"),
        cpus=open_cpus,
        explains=_sources(stray),
    )
