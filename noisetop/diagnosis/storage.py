"""Disks: requests that end on this CPU."""

from __future__ import annotations

from noisetop.diagnosis.rule import calls, cause, softirqs

_ELSEWHERE = "keep disk access off this CPU: taskset -pc {keep} {pid}"
_BACK = "taskset -pc with the former CPUs"

RULES = (
    cause(
        "disk-completion-call",
        "{about} on another CPU sends block I/O completions to this one",
        *calls("__blk_mq_complete_request_remote"),
        subject=lambda share: share.trigger.task,
        remedy="echo 0 > /sys/block/DISK/queue/rq_affinity",
        undo="echo 1 > /sys/block/DISK/queue/rq_affinity",
        confirm="grep . /sys/block/*/queue/rq_affinity; which program does I/O on this CPU",
        source="D48; block/blk-mq.c",
        fallback="Another CPU sends block I/O completions to this one",
    ),
    cause(
        "disk-completion",
        "Block I/O completions run on this CPU",
        *softirqs("BLOCK"),
        remedy="echo 0 > /sys/block/DISK/queue/rq_affinity",
        undo="echo 1 > /sys/block/DISK/queue/rq_affinity",
        otherwise=_ELSEWHERE,
        confirm="grep BLOCK /proc/softirqs before and after",
        source="D48; block/blk-mq.c",
    ),
    cause(
        "disk-polling",
        "Block I/O completions are polled for on this CPU",
        *softirqs("IRQ_POLL"),
        remedy=_ELSEWHERE,
        undo=_BACK,
        confirm="grep IRQ_POLL /proc/softirqs before and after",
        source="symbol index; lib/irq_poll.c",
    ),
    cause(
        "filesystem-thread",
        "A thread of a file system runs on this CPU",
        ("thread", "jbd2/*"),
        ("thread", "xfsaild/*"),
        ("thread", "btrfs-*"),
        ("thread", "flush-*"),
        ("thread", "loop[0-9]*"),
        ("thread", "dm*crypt*"),
        ("thread", "md[0-9]*_raid*"),
        remedy="taskset -pc {keep} with the number of the thread",
        undo=_BACK,
        confirm="ps -eLo tid,psr,comm | grep -E 'jbd2|xfs|btrfs'",
        source="D25; symbol index",
    ),
    cause(
        "io-ring-threads",
        "io_uring worker threads run on this CPU",
        ("thread", "iou-*"),
        remedy="IORING_REGISTER_IOWQ_AFF or IORING_SETUP_SQ_AFF with CPUs {keep}",
        undo="the former settings of the program",
        confirm="ps -eLo tid,psr,comm | grep iou-",
        source="io_uring_register(2)",
    ),
)
