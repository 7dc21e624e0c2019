"""Work that the kernel queues for its worker threads."""

from __future__ import annotations

from noisetop.checks import remedy
from noisetop.checks.audited import AuditedMachine
from noisetop.checks.result import Verdict, check, passed
from noisetop.checks.status import Status
from noisetop.machine.files import hex_mask
from noisetop.machine.machine import cpu_words, quoted
from noisetop.machine.reading import CannotTellError

_QUEUES = "/sys/devices/virtual/workqueue"
_UNBOUND = f"{_QUEUES}/cpumask"


@check(
    "C23",
    "unbound-work",
    question="Are unbound workqueues kept off these CPUs?",
    reads=(_UNBOUND,),
    expected="the mask does not contain the watched CPUs",
    why="Unbound workers (kworker/u*) run on any allowed CPU and preempt programs.",
    fix=f"echo MASK > {_UNBOUND}",
    caveat="Lost at reboot.",
    explains=(("thread", "kworker/u*"),),
    rank=5,
    needs_spare_cpu=True,
    sources="tuned, Rigtorp's guide, kernel-parameters.txt",
)
def unbound_work(machine: AuditedMachine) -> Verdict:
    """The mask of all unbound workqueues."""
    mask = machine.need_mask(_UNBOUND)
    file = machine.read(_UNBOUND)
    hit = machine.hit(mask)
    if not hit:
        return passed("Unbound workqueues are kept off these CPUs", file.reading)
    caveat = ""
    if machine.nohz_full.issuperset(hit):
        caveat = (
            "On this kernel nohz_full= alone does not cover it. Lost at reboot; "
            "isolcpus=domain,LIST or an isolated cpuset partition is permanent."
        )
    return Verdict(
        Status.FAIL,
        f"Unbound workqueues may run on {cpu_words(hit)}",
        (file.reading,),
        remedy=remedy.write(file, machine.keep_mask, undo=hex_mask(mask)),
        caveat=caveat,
        cpus=hit,
    )


@check(
    "C24",
    "queue-masks",
    question="Are workqueues with their own mask kept off these CPUs too?",
    reads=(f"{_QUEUES}/*/cpumask", _UNBOUND),
    expected="no workqueue may use a watched CPU; the global mask applies to all",
    why="Writeback, for example, uses such a workqueue.",
    fix=f"echo MASK > {_QUEUES}/writeback/cpumask",
    caveat="Lost at reboot. The global mask (C23) covers all of them.",
    explains=(("thread", "kworker/u*", "wb_workfn"), ("thread", "kworker/u*")),
    needs_spare_cpu=True,
    sources="tuned",
)
def queue_masks(machine: AuditedMachine) -> Verdict:
    """Masks per queue, within the general one."""
    paths = machine.glob(_QUEUES, "*/cpumask")
    if not paths:
        raise CannotTellError(f"{_QUEUES} lists no workqueue with its own mask")
    general = machine.read(_UNBOUND).mask()
    open_queues, masks, unreadable = [], {}, []
    for path in paths:
        mask = machine.read(path).mask()
        if mask is None:
            unreadable.append(path)
        elif machine.hit(mask if general is None else mask & general):
            open_queues.append(path.split("/")[-2])
            masks[open_queues[-1]] = mask
    readings = tuple(machine.read(path).reading for path in (_UNBOUND, *paths[:3]))
    if not open_queues:
        if unreadable:
            raise CannotTellError(f"{unreadable[0]} cannot be read or parsed", *readings)
        return passed("No workqueue may use these CPUs", *readings)
    hit = machine.hit(frozenset().union(*masks.values()))
    undo = hex_mask(masks[open_queues[0]])
    return Verdict(
        Status.FAIL,
        f"Workqueues may use {cpu_words(hit)}: {quoted(open_queues)}",
        readings,
        remedy=remedy.write_each(_QUEUES, open_queues, "cpumask", machine.keep_mask, undo),
        cpus=hit,
    )
