"""Where the network stack does its work."""

from __future__ import annotations

from noisetop.checks import remedy
from noisetop.checks.audited import AuditedMachine
from noisetop.checks.irq import lines as interrupt_lines
from noisetop.checks.irq import move
from noisetop.checks.result import Remedy, Verdict, check, passed
from noisetop.checks.status import Status
from noisetop.machine.files import hex_mask
from noisetop.machine.machine import cpu_words, quoted
from noisetop.machine.reading import CannotTellError

_NET = "/sys/class/net"
_DEFAULT = "/proc/sys/net/core/rps_default_mask"
_FLOWS = "/proc/sys/net/core/rps_sock_flow_entries"


@check(
    "C55",
    "packet-steering",
    question="Is receive packet steering (RPS) kept off these CPUs?",
    reads=(
        f"{_NET}/*/queues/rx-*/rps_cpus",
        f"{_NET}/*/queues/rx-*/rps_flow_cnt",
        _DEFAULT,
        _FLOWS,
    ),
    expected="no mask contains a watched CPU",
    why="A CPU in such a mask receives IPIs to process packets of other CPUs.",
    fix="echo MASK > rps_cpus of each queue; 0 turns RPS off",
    caveat="Lost when the interface is reconfigured.",
    explains=(("ipi", "*", "rps_trigger_softirq"), ("softirq", "NET_RX")),
    needs_spare_cpu=True,
    sources="Documentation/networking/scaling.rst, net/core/net-sysfs.c",
)
def packet_steering(machine: AuditedMachine) -> Verdict:
    """RPS and RFS."""
    queues = machine.glob(_NET, "*/queues/rx-*/rps_cpus")
    if not queues:
        raise CannotTellError(f"{_NET} shows no receive queues")
    masks = {path: machine.read(path).mask() for path in queues}
    hit = [path for path, mask in masks.items() if mask and machine.hit(mask)]
    if hit:
        return _steered(machine, hit)
    default = machine.read(_DEFAULT)
    if later := machine.hit(default.mask() or ()):
        return Verdict(
            Status.WARN,
            f"Packets of new interfaces will be processed on {cpu_words(later)}",
            (default.reading,),
            remedy=remedy.write(default, machine.keep_mask),
        )
    flows = [path.replace("rps_cpus", "rps_flow_cnt") for path in queues]
    following = [path for path in flows if machine.read(path).number()]
    entries = machine.read(_FLOWS)
    if following and entries.number():
        return Verdict(
            Status.WARN,
            "Packets are processed on the CPU that the reading program runs on (RFS)",
            (entries.reading, machine.read(following[0]).reading),
            remedy=remedy.sysctl(entries, "0"),
        )
    if machine.container or any(mask is None for mask in masks.values()):
        raise CannotTellError("not all interfaces can be seen from here")
    return passed(
        f"None of {len(queues)} receive queues steers packets here", machine.read(queues[0]).reading
    )


def _steered(machine: AuditedMachine, paths: list[str]) -> Verdict:
    files = [machine.read(path) for path in paths]
    cpus = machine.hit(frozenset().union(*(file.mask() or frozenset() for file in files)))
    fixes = [
        remedy.write(file, "0", undo=hex_mask(file.mask() or frozenset())) for file in files[:8]
    ]
    return Verdict(
        Status.FAIL,
        f"Receive packet steering sends packets to {cpu_words(cpus)}: "
        + quoted(dict.fromkeys(path.split("/")[4] for path in paths)),
        tuple(file.reading for file in files[:3]),
        remedy=Remedy("; ".join(f.command for f in fixes), "; ".join(f.undo for f in fixes)),
        cpus=cpus,
    )


def _interrupts_of(machine: AuditedMachine, interface: str) -> set[str]:
    """Numbers of the interrupts of an interface's device; a virtio device lies one level deeper."""
    found: set[str] = set()
    for base in (f"{_NET}/{interface}/device", f"{_NET}/{interface}/device/.."):
        found |= {n for n in machine.names(f"{base}/msi_irqs") if n.isdigit()}
    return found


@check(
    "C56",
    "network-queues",
    question="Do network cards send their interrupts to other CPUs?",
    reads=(f"{_NET}/*/device/msi_irqs", "/proc/irq/*/effective_affinity_list"),
    expected="no queue of a card interrupts a watched CPU",
    why="Each packet that arrives raises an interrupt and a softirq on the CPU of its queue.",
    fix="ethtool -L INTERFACE combined N with fewer queues, then move the interrupts",
    caveat="The card assigns packets to queues: see ethtool -x INTERFACE.",
    explains=(("softirq", "NET_RX"), ("softirq", "NET_TX"), ("irq",)),
    needs_spare_cpu=True,
    sources="tuned",
)
def network_queues(machine: AuditedMachine) -> Verdict:
    """Interrupts of network devices."""
    owners = {
        number: name for name in machine.names(_NET) for number in _interrupts_of(machine, name)
    }
    if not owners:
        raise CannotTellError(f"no network card with its own queues is listed in {_NET}")
    own = [line for line in interrupt_lines(machine) if line.number in owners]
    stray = [line for line in own if machine.hit(line.cpus)]
    if not own:
        raise CannotTellError("the interrupts of the network cards are hidden")
    if not stray:
        return passed("Network cards send their interrupts to other CPUs", own[0].reading)
    cpus = machine.hit(frozenset().union(*(line.cpus for line in stray)))
    names = quoted(dict.fromkeys(f"{owners[line.number]} ({line.name})" for line in stray))
    movable = [line for line in stray if not line.managed]
    return Verdict(
        Status.FAIL,
        f"Network cards interrupt {cpu_words(cpus)}: {names}",
        tuple(line.reading for line in stray[:3]),
        remedy=move(machine, movable) if movable else None,
        cpus=cpus,
        explains=(
            ("softirq", "NET_RX"),
            ("softirq", "NET_TX"),
            *(("irq", f"{line.number} *") for line in stray),
        ),
    )
