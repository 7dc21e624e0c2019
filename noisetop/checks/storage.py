"""Where block devices finish their requests."""

from __future__ import annotations

from noisetop.checks import remedy
from noisetop.checks.audited import AuditedMachine
from noisetop.checks.result import Verdict, check, passed
from noisetop.checks.status import Status
from noisetop.machine.machine import quoted
from noisetop.machine.reading import CannotTellError

_BLOCK = "/sys/block"


@check(
    "C57",
    "disk-completions",
    question="Do block I/O completions run where the interrupt arrives?",
    reads=(f"{_BLOCK}/*/queue/rq_affinity",),
    expected="0",
    why="Otherwise the CPU that takes the interrupt sends an IPI to the one that "
    "submitted the request.",
    fix=f"echo 0 > {_BLOCK}/DISK/queue/rq_affinity",
    caveat="Relevant only for programs that do I/O on the watched CPUs. Lost at reboot.",
    explains=(("ipi", "*", "__blk_mq_complete_request_remote"), ("softirq", "BLOCK")),
    needs_spare_cpu=True,
    sources="block/blk-mq.c, Documentation/ABI/stable/sysfs-block",
)
def disk_completions(machine: AuditedMachine) -> Verdict:
    """rq_affinity."""
    paths = machine.glob(_BLOCK, "*/queue/rq_affinity")
    values = {path: machine.read(path).number() for path in paths}
    if not values or None in values.values():
        raise CannotTellError(f"{_BLOCK}/*/queue/rq_affinity cannot be read")
    sent = [path for path, value in values.items() if value]
    readings = tuple(machine.read(path).reading for path in (sent or paths)[:3])
    if not sent:
        return passed("Block I/O completions run where the interrupt arrives", *readings)
    exactly = any(values[path] == 2 for path in sent)
    worst = max(values[path] or 0 for path in sent)
    same = [path.split("/")[3] for path in sent if values[path] == worst]
    return Verdict(
        Status.FAIL if exactly else Status.WARN,
        "Block I/O completions are sent to the submitting CPU"
        + ("" if exactly else ", or one near it")
        + f": {quoted(same)}",
        readings,
        remedy=remedy.write_each(_BLOCK, same, "queue/rq_affinity", "0", str(worst)),
    )
