"""Programs and threads that take turns with the one that is measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from noisetop.diagnosis.advice import lift_quota, lift_throttling
from noisetop.diagnosis.evidence import THROTTLED, Evidence, Share
from noisetop.diagnosis.finding import CannotTell, Confidence, Finding, Outcome
from noisetop.diagnosis.program_advice import move_programs, move_service, move_threads
from noisetop.diagnosis.rule import (
    ISOLATE,
    LAST,
    MOVE,
    MOVE_BACK,
    Texts,
    by_step,
    cause,
    finding_of,
    grouped,
    rule,
    waiting,
)
from noisetop.events.interruption import UNATTRIBUTED
from noisetop.events.source_names import OWN

_NAMED = 16
_SLICE_NS = 1_000_000
"""Shorter is what a normal task needs to notice that a real-time one was woken."""
_FEW = 0.001
"""Share of the period below which a wait is not worth a finding."""


def _threads(evidence: Evidence) -> list[Share]:
    return [
        share
        for share in evidence.shares
        if share.path[:1] == ("thread",) and share.path[1:] and share.path != UNATTRIBUTED.path
    ]


@rule(
    "realtime-program",
    "{about} has real-time priority and preempts other tasks on this CPU",
    seen_as="thread › … of a program with SCHED_FIFO, SCHED_RR or SCHED_DEADLINE",
    remedy=MOVE,
    undo=MOVE_BACK,
    otherwise=ISOLATE,
    act=move_threads,
    confirm="chrt -ap $(pgrep -xo {q})",
    source="D02, D99; sched(7)",
    rank=(*LAST, 0),
)
def realtime_program(evidence: Evidence, texts: Texts) -> Outcome:
    """Threads whose name belongs to a real-time program now."""
    mine = [share for share in evidence.shares if share.is_program]
    if evidence.realtime is None:
        reason = "needs the priorities of programs: run it live, on the machine itself"
        return CannotTell(reason) if mine else None
    found = [share for share in mine if evidence.realtime.has(share)]
    return grouped("realtime-program", found, evidence, by_step(1), texts)


@rule(
    "other-program",
    "Other programs compete with your program for this CPU: {about}",
    seen_as="thread › … that no other rule matches",
    remedy=MOVE,
    undo=MOVE_BACK,
    otherwise=ISOLATE,
    act=move_programs,
    effect="the tick stops as well where nohz_full= contains the CPU",
    confirm="ps -eLo tid,psr,cls,comm | grep -Fw {e}",
    source="D02, D97, D99, D100",
    rank=(*LAST, 1),
    confidence=Confidence.CERTAIN,
)
def other_program(evidence: Evidence, texts: Texts) -> Finding | None:
    """All other threads, in one finding that lists them."""
    mine = _threads(evidence)
    if not mine:
        return None
    return finding_of("other-program", "", mine, evidence, texts, _names(mine))


@rule(
    "realtime-throttled",
    "The kernel takes the CPU from your real-time program for normal tasks: {about}",
    seen_as="thread › … of a normal task, 1 ms or longer, while a real-time victim is runnable",
    remedy="echo 0 > /sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime",
    undo="echo 50000000 > /sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime",
    otherwise="sysctl -w kernel.sched_rt_runtime_us=-1, on kernels without that file",
    act=lift_throttling,
    effect="a real-time program that never sleeps then starves normal tasks on its CPU",
    confirm="chrt -ap {victim}; sysctl kernel.sched_rt_runtime_us is not -1",
    source="D04, D95; sched(7), sched-rt-group.rst",
)
def realtime_throttled(evidence: Evidence, texts: Texts) -> Finding | None:
    """The deadline server of normal tasks, or on older kernels a limit of real-time ones: normal
    tasks go before a real-time victim in no other way, and for short in none."""
    normal = [
        share
        for share in _threads(evidence)
        if share.urgent
        and (share.max_ns >= _SLICE_NS or share.path[1] == THROTTLED)
        and not (evidence.realtime and evidence.realtime.has(share))
    ]
    if not normal:
        return None
    if not any(share.is_program for share in normal):
        texts = replace(texts, cause="The kernel throttles your real-time program")
    return finding_of("realtime-throttled", "", normal, evidence, texts, _names(normal))


def _names(shares: Sequence[Share]) -> tuple[str, ...]:
    """Those of threads, most expensive first."""
    totals: dict[str, int] = {}
    for share in shares:
        totals[share.path[1]] = totals.get(share.path[1], 0) + share.rank_ns
    return tuple(sorted(totals, key=lambda name: (-totals[name], name))[:_NAMED])


@rule(
    "quota",
    "The program was throttled: CPU quota exhausted",
    seen_as="thread › throttled, and waits of the kind throttled",
    remedy="echo max > /sys/fs/cgroup/GROUP/cpu.max for the group with the quota",
    undo="echo the former two numbers into the same cpu.max",
    act=lift_quota,
    effect="the group may then use all of its CPUs all the time",
    confirm="grep nr_throttled /sys/fs/cgroup/*/cpu.stat before and after",
    source="D03, D95; kernel/sched/fair.c",
)
def quota(evidence: Evidence, texts: Texts) -> Finding | None:
    """The idle task in place of a program that wants to run, and what its threads waited."""
    mine = [
        share
        for share in _threads(evidence)
        if not (share.urgent or share.poses)
        and (share.path[1] == THROTTLED or share.path[1].startswith("swapper/"))
    ]
    return _with_waits("quota", "throttled", mine, evidence, texts)


@rule(
    "woken-late",
    "The program waited on the run queue after it was woken (scheduling latency)",
    seen_as="waits of the kind woken that take more than 0.1 % of the period",
    remedy="run fewer programs on its CPUs, or raise its priority: chrt -f -p 50 {victim}",
    undo="chrt -o -p 0 {victim}",
    effect="do not give a program that never sleeps a real-time priority without a spare CPU",
    confirm="the second number of /proc/{victim}/schedstat before and after",
    source="D51, D99; sched-stats.rst",
)
def woken_late(evidence: Evidence, texts: Texts) -> Finding | None:
    """Time between being woken and running, where it is not known who took it."""
    if evidence.accounted:
        return None
    finding = _with_waits("woken-late", "woken", [], evidence, texts)
    enough = _FEW * evidence.duration_ns
    return finding if finding and finding.wait_ns > enough else None


def _with_waits(
    name: str, reason: str, shares: list[Share], evidence: Evidence, texts: Texts
) -> Finding | None:
    waited_ns = sum(wait.total_ns.get(reason, 0) for wait in evidence.waits.values())
    count = sum(wait.count.get(reason, 0) for wait in evidence.waits.values())
    found = grouped(name, shares, evidence, None, texts)
    if not found and waited_ns:
        found = [finding_of(name, "", (), evidence, texts)]
    return waiting(found[0], waited_ns, count) if found else None


RULES = (
    cause(
        "own-threads",
        "Threads of your own program compete for this CPU ({about})",
        ("thread", "self"),
        subject=by_step(-1),
        remedy="give each thread its own CPU: taskset -pc CPU TID, or fewer threads",
        undo="taskset -pc with the list that the remedy printed",
        confirm="ps -Lo tid,psr,comm -p {victim}",
        source="D02, D100; sched(7)",
    ),
    cause(
        "noisetop-itself",
        "noisetop's own threads run on a watched CPU",
        ("thread", OWN),
        remedy="noisetop -H {keep}",
        undo="without -H",
        confirm="the overhead in noisetop report",
        source="D98",
    ),
    cause(
        "monitoring-program",
        "A monitoring program ({about}) runs on this CPU",
        ("thread", "turbostat"),
        ("thread", "node_exporter"),
        ("thread", "telegraf"),
        ("thread", "collectd"),
        ("thread", "perf"),
        ("thread", "bpftrace"),
        ("thread", "trace-cmd"),
        ("thread", "top"),
        ("thread", "htop"),
        ("thread", "pcm*"),
        subject=by_step(1),
        remedy=MOVE,
        undo=MOVE_BACK,
        otherwise=ISOLATE,
        act=move_threads,
        confirm="ps -eLo tid,psr,comm | grep -Fw {e}",
        source="D46, D98",
    ),
    cause(
        "system-service",
        "A service of the system ({about}) runs on this CPU",
        ("thread", "systemd*"),
        ("thread", "dbus-*"),
        ("thread", "cron"),
        ("thread", "crond"),
        ("thread", "rsyslog*"),
        ("thread", "NetworkManager"),
        ("thread", "snapd"),
        ("thread", "packagekitd"),
        ("thread", "fwupd*"),
        ("thread", "irqbalance"),
        ("thread", "chronyd"),
        subject=by_step(1),
        remedy=MOVE,
        undo=MOVE_BACK,
        otherwise="CPUAffinity={keep} in /etc/systemd/system.conf, then systemctl daemon-reexec",
        effect="it comes back when the service is started again",
        act=move_service,
        confirm="ps -eLo tid,psr,comm | grep -Fw {e}",
        source="D40, D97; systemd-system.conf(5)",
    ),
    cause(
        "container-service",
        "A container runtime ({about}) runs on this CPU",
        ("thread", "containerd*"),
        ("thread", "dockerd"),
        ("thread", "kubelet"),
        ("thread", "runc*"),
        ("thread", "crio"),
        subject=by_step(1),
        remedy=MOVE,
        undo=MOVE_BACK,
        otherwise="reservedSystemCPUs of the kubelet, or cpuset-cpus of the runtime",
        act=move_threads,
        confirm="ps -eLo tid,psr,comm | grep -Fw {e}",
        source="D97, D100",
    ),
    cause(
        "softirq-thread",
        "Softirq load is high: ksoftirqd runs on this CPU",
        ("thread", "ksoftirqd/*"),
        ("thread", "ktimers/*"),
        whole=True,
        remedy="move the interrupts that raise the softirqs off this CPU, see the other findings",
        undo="move them back",
        confirm="cat /proc/softirqs before and after",
        source="symbol index; kernel/softirq.c",
    ),
    cause(
        "migration-thread",
        "The stopper thread migrates a task or stops all CPUs",
        ("thread", "migration/*"),
        remedy="bind programs once before the run; no CPU hotplug, no cpuset changes during it",
        undo="nothing was changed",
        confirm="trace sched:sched_migrate_task on the CPU",
        source="D53, D54, D105; kernel/stop_machine.c",
        confidence=Confidence.LIKELY,
    ),
    cause(
        "hotplug-thread",
        "CPUs are taken online or offline (hotplug)",
        ("thread", "cpuhp/*"),
        remedy="take no CPU online or offline during the run",
        undo="nothing was changed",
        confirm="dmesg | grep -i cpu",
        source="D54, D59; kernel/cpu.c",
    ),
    cause(
        "interrupt-work-thread",
        "An irq_work thread runs on this CPU",
        ("thread", "irq_work/*"),
        remedy="stop profilers, tracers and kernel messages on this CPU",
        confirm="trace irq_vectors:irq_work_entry",
        source="symbol index; kernel/irq_work.c",
    ),
    cause(
        "console-thread",
        "The kernel prints console messages from this CPU",
        ("thread", "pr/*"),
        remedy="sysctl -w kernel.printk='1 4 1 7'",
        otherwise="no console=ttyS on the kernel command line",
        undo="sysctl -w kernel.printk='7 4 1 7'",
        confirm="dmesg -w while it runs; cat /sys/class/tty/console/active",
        source="D73; kernel/printk",
    ),
    cause(
        "audit-thread",
        "The audit thread (kauditd) runs on this CPU",
        ("thread", "kauditd"),
        ("thread", "auditd"),
        remedy="audit=0 on the kernel command line",
        undo="remove audit=0 from the kernel command line",
        reboot=True,
        confirm="auditctl -s",
        source="D75",
    ),
    cause(
        "management-controller",
        "The IPMI driver polls the management controller",
        ("thread", "kipmi*"),
        remedy="echo 100 > /sys/module/ipmi_si/parameters/kipmid_max_busy_us",
        undo="echo 0 > /sys/module/ipmi_si/parameters/kipmid_max_busy_us",
        confirm="pgrep -a kipmi",
        source="D70",
    ),
    cause(
        "hang-detector",
        "The hung task detector (khungtaskd) runs on this CPU",
        ("thread", "khungtaskd"),
        ("thread", "watchdogd"),
        remedy="taskset -pc {keep} $(pgrep khungtaskd)",
        undo="taskset -pc with the list that the remedy printed",
        act=move_threads,
        confirm="sysctl kernel.hung_task_check_interval_secs",
        source="kernel/hung_task.c",
    ),
    cause(
        "graphics-driver",
        "Threads of a graphics or network driver ({about}) run on this CPU",
        ("thread", "nvidia*"),
        ("thread", "nv_queue"),
        ("thread", "mlx[45]*"),
        ("thread", "i915*"),
        ("thread", "amdgpu*"),
        subject=by_step(1),
        remedy=MOVE,
        undo=MOVE_BACK,
        otherwise=ISOLATE,
        act=move_threads,
        confirm="ps -eLo tid,psr,comm | grep -Fw {e}",
        source="D71",
    ),
)
