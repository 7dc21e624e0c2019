"""Work that the kernel queues for its worker threads."""

from __future__ import annotations

from noisetop.checks import remedy
from noisetop.checks.files import hex_mask
from noisetop.checks.machine import Machine, cpu_words, quoted
from noisetop.checks.result import CannotTellError, Status, Verdict, check, passed

_QUEUES = "/sys/devices/virtual/workqueue"
_UNBOUND = f"{_QUEUES}/cpumask"


@check(
    "C23",
    "unbound-work",
    question="Does the kernel's free-floating work stay on other CPUs?",
    reads=(_UNBOUND,),
    expected="the mask does not contain the watched CPUs",
    why="Threads named kworker/u* run such work wherever they may, and preempt programs.",
    fix=f"echo MASK > {_UNBOUND}",
    caveat="Lost at reboot.",
    explains=(("thread", "kworker/u*"),),
    rank=5,
    needs_spare_cpu=True,
    sources="tuned, Rigtorp's guide, kernel-parameters.txt",
)
def unbound_work(machine: Machine) -> Verdict:
    """The mask of all unbound workqueues."""
    mask = machine.need_mask(_UNBOUND)
    file = machine.read(_UNBOUND)
    hit = machine.hit(mask)
    if not hit:
        return passed("The kernel's free-floating work stays on other CPUs", file.reading)
    caveat = ""
    if machine.nohz_full.issuperset(hit):
        caveat = (
            "On this kernel nohz_full= alone does not cover it. Lost at reboot; "
            "isolcpus=domain,LIST or an isolated cpuset partition stays."
        )
    return Verdict(
        Status.FAIL,
        f"The kernel's free-floating work may run on {cpu_words(hit)}",
        (file.reading,),
        remedy=remedy.write(file, machine.keep_mask, undo=hex_mask(mask)),
        caveat=caveat,
        cpus=hit,
    )


@check(
    "C24",
    "queue-masks",
    question="Do single work queues with a mask of their own stay away too?",
    reads=(f"{_QUEUES}/*/cpumask", _UNBOUND),
    expected="no queue may use a watched CPU; what the general mask excludes is excluded for all",
    why="Writing dirty files to disk, for instance, runs in such a queue.",
    fix=f"echo MASK > {_QUEUES}/writeback/cpumask",
    caveat="Lost at reboot. The general mask (C23) does the same for all of them.",
    explains=(("thread", "kworker/u*", "wb_workfn"), ("thread", "kworker/u*")),
    needs_spare_cpu=True,
    sources="tuned",
)
def queue_masks(machine: Machine) -> Verdict:
    """Masks per queue, within the general one."""
    paths = machine.glob(_QUEUES, "*/cpumask")
    if not paths:
        raise CannotTellError(f"{_QUEUES} lists no queue with a mask of its own")
    general = machine.read(_UNBOUND).mask()
    open_queues, masks, unread = [], {}, []
    for path in paths:
        mask = machine.read(path).mask()
        if mask is None:
            unread.append(path)
        elif machine.hit(mask if general is None else mask & general):
            open_queues.append(path.split("/")[-2])
            masks[open_queues[-1]] = mask
    readings = tuple(machine.read(path).reading for path in (_UNBOUND, *paths[:3]))
    if not open_queues:
        if unread:
            raise CannotTellError(f"{unread[0]} cannot be read or understood", *readings)
        return passed("No work queue may use these CPUs", *readings)
    hit = machine.hit(frozenset().union(*masks.values()))
    undo = hex_mask(masks[open_queues[0]])
    return Verdict(
        Status.FAIL,
        f"Work queues may use {cpu_words(hit)}: {quoted(open_queues)}",
        readings,
        remedy=remedy.write_each(_QUEUES, open_queues, "cpumask", machine.keep_mask, undo),
        cpus=hit,
    )
