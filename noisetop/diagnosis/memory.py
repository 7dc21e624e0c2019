"""Memory: threads that manage it, and faults."""

from __future__ import annotations

from dataclasses import replace

from noisetop.diagnosis.evidence import Evidence
from noisetop.diagnosis.finding import Confidence, Finding
from noisetop.diagnosis.program_advice import move_threads
from noisetop.diagnosis.rule import (
    MOVE_BACK,
    Texts,
    cause,
    finding_of,
    rule,
    waiting,
    works,
)

RULES = (
    cause(
        "compaction-thread",
        "Memory compaction (kcompactd) runs on this CPU",
        ("thread", "kcompactd*"),
        remedy="sysctl -w vm.compaction_proactiveness=0",
        undo="sysctl -w vm.compaction_proactiveness=20",
        otherwise="for t in $(pgrep kcompactd); do taskset -pc {keep} $t; done",
        confirm="grep compact_daemon_wake /proc/vmstat before and after",
        source="D38; mm/compaction.c",
    ),
    cause(
        "reclaim-thread",
        "Memory is low: reclaim (kswapd) runs on this CPU",
        ("thread", "kswapd*"),
        remedy="for t in $(pgrep kswapd); do taskset -pc {keep} $t; done",
        undo=MOVE_BACK,
        otherwise="use less memory",
        act=move_threads,
        confirm="grep pgscan_kswapd /proc/vmstat before and after; free -m",
        source="D38, D93; mm/vmscan.c",
    ),
    cause(
        "same-page-thread",
        "Same-page merging (ksmd) runs on this CPU",
        ("thread", "ksmd"),
        remedy="echo 0 > /sys/kernel/mm/ksm/run",
        undo="echo 1 > /sys/kernel/mm/ksm/run",
        confirm="cat /sys/kernel/mm/ksm/run is 1",
        source="D35; mm/ksm.c",
    ),
    cause(
        "access-monitor-thread",
        "Memory access monitoring (DAMON) runs on this CPU",
        ("thread", "kdamond*"),
        remedy="echo N > /sys/module/damon_reclaim/parameters/enabled",
        otherwise="echo off > /sys/kernel/mm/damon/admin/kdamonds/0/state",
        undo="echo Y > /sys/module/damon_reclaim/parameters/enabled",
        confirm="pgrep -a kdamond",
        source="admin-guide/mm/damon",
    ),
    cause(
        "memory-killer-thread",
        "The kernel reclaims the memory of a killed program (oom_reaper)",
        ("thread", "oom_reaper"),
        remedy="give the programs more memory or lower their use",
        undo="the former size",
        confirm="dmesg | grep -i oom",
        source="mm/oom_kill.c",
    ),
    cause(
        "balloon",
        "The memory balloon of the hypervisor runs on this CPU",
        *works("update_balloon_*", "page_reporting_process", "report_free_page_func"),
        remedy="turn the memory balloon and free page reporting off for this virtual machine",
        undo="turn them on again in the configuration of the virtual machine",
        reboot=True,
        confirm="ls /sys/bus/virtio/drivers/virtio_balloon",
        source="D32; drivers/virtio/virtio_balloon.c",
    ),
)


@rule(
    "page-fault",
    "The program takes page faults",
    seen_as="page faults of the program itself, with --faults; they are not counted as noise",
    remedy="mlockall(MCL_CURRENT|MCL_FUTURE) in the program, and touch all memory before the run",
    undo="without mlockall",
    confirm="grep -E 'pgfault|pgmajfault' /proc/vmstat, minflt in /proc/{victim}/stat",
    source="D91; mm/memory.c",
    confidence=Confidence.CERTAIN,
)
def page_fault(evidence: Evidence, texts: Texts) -> Finding | None:
    """Time that victims spent in page faults, beside the noise."""
    if not evidence.fault_count:
        return None
    finding = finding_of("page-fault", "", (), evidence, texts)
    beside = waiting(finding, evidence.fault_ns, evidence.fault_count)
    return replace(beside, own_wait=True)
