"""The scheduler's tick: why it runs, and what it does."""

from __future__ import annotations

from noisetop.diagnosis.evidence import Evidence, Share, is_program
from noisetop.diagnosis.finding import Confidence, Finding
from noisetop.diagnosis.rule import Texts, cause, grouped, hrtimers, rule, softirqs
from noisetop.trigger import TICK_FUNCTIONS

_SLOWEST_TICK_NS = 20_000_000  # CONFIG_HZ is 100 or more; with a margin for late ones


def _ticks(evidence: Evidence, *, quiet: bool) -> list[Share]:
    """The tick on CPUs that are told to stop it, or on the others."""
    return [
        share
        for share in evidence.shares
        if set(share.cause[-1:]) & set(TICK_FUNCTIONS)
        and (share.cpu in evidence.nohz_full) == quiet
    ]


def _runs(share: Share) -> bool:
    """Whether it comes as often as a tick that has not stopped."""
    return 0 < share.period_ns <= _SLOWEST_TICK_NS


def _shared(evidence: Evidence) -> set[int]:
    """CPUs on which another program ran."""
    return {share.cpu for share in evidence.shares if is_program(share.path)}


@rule(
    "tick-everywhere",
    "The kernel's regular clock interrupt runs on CPU {where}",
    seen_as="timer › … › tick_nohz_handler on a CPU that nohz_full= does not name",
    remedy="add nohz_full={cpus} to the kernel command line",
    undo="take nohz_full= off the kernel command line",
    reboot=True,
    effect="no clock interrupt while one program alone runs on the CPU",
    confirm="cat /sys/devices/system/cpu/nohz_full does not list the CPU",
    source="D01; cpu-isolation.rst, no_hz.rst",
    confidence=Confidence.CERTAIN,
)
def tick_everywhere(evidence: Evidence, texts: Texts) -> list[Finding]:
    """CPUs outside nohz_full."""
    return grouped("tick-everywhere", _ticks(evidence, quiet=False), evidence, None, texts)


@rule(
    "tick-for-two-programs",
    "A second program on the CPU keeps the regular clock interrupt alive",
    seen_as="a regular tick on a nohz_full CPU on which a second program ran",
    remedy="taskset -pc {keep} PID of the other program, or give the CPU its own cpuset",
    undo="taskset -pc with the CPUs that it had before",
    effect="the clock interrupt stops as soon as one program runs alone",
    confirm="the programs named by the finding for other programs on this CPU",
    source="D02; sched_can_stop_tick()",
)
def tick_for_two_programs(evidence: Evidence, texts: Texts) -> list[Finding]:
    """A running tick where another program was seen."""
    shared = _shared(evidence)
    found = [one for one in _ticks(evidence, quiet=True) if _runs(one) and one.cpu in shared]
    return grouped("tick-for-two-programs", found, evidence, None, texts)


@rule(
    "tick-kept-alive",
    "Something keeps the regular clock interrupt alive although it may stop here",
    seen_as="a regular tick on a nohz_full CPU on which no second program ran",
    remedy="stop profilers, CPU-time timers (setitimer, RLIMIT_CPU) and CPU quotas of the program",
    undo="start them again",
    effect="the clock interrupt stops when its reason has gone",
    confirm="trace timer:tick_stop on the CPU: its dependency names the reason",
    source="D03, D05 to D08; tick-sched.c",
    rank=(-8,),
)
def tick_kept_alive(evidence: Evidence, texts: Texts) -> list[Finding]:
    """A running tick without a second program."""
    found = [one for one in _ticks(evidence, quiet=True) if _runs(one)]
    return grouped("tick-kept-alive", found, evidence, None, texts)


@rule(
    "tick-for-a-timer",
    "The CPU was woken now and then for timers of the kernel",
    seen_as="a tick function far apart on a nohz_full CPU",
    remedy="find the timer functions in the other findings; keep system calls off this CPU",
    undo="nothing was changed",
    confirm="a TIMER softirq with the function follows each of them",
    source="A3, D18; tick_nohz_next_event()",
    rank=(-7,),
)
def tick_for_a_timer(evidence: Evidence, texts: Texts) -> list[Finding]:
    """What is left of the tick on CPUs that may stop it."""
    return grouped("tick-for-a-timer", _ticks(evidence, quiet=True), evidence, None, texts)


RULES = (
    cause(
        "timer-interrupt-alone",
        "The clock interrupt came, but ran none of its timers itself",
        ("timer", "local_timer"),
        ("timer", "arch_timer"),
        whole=True,
        remedy="follow the findings about timers on this CPU; they arm the interrupt",
        undo="nothing was changed",
        effect="goes down with the timers that it is armed for",
        confirm="echo 1 > /sys/kernel/tracing/events/timer/hrtimer_start/enable shows who arms it",
        source="A3; its timers were cancelled or moved, or run in a softirq after it",
    ),
    cause(
        "fair-server",
        "The scheduler's guard for starving programs runs a timer on this CPU",
        *hrtimers("dl_task_timer", "inactive_task_timer"),
        remedy="echo 0 > /sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime",
        undo="echo 50000000 > /sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime",
        effect="a real-time program that never sleeps can then starve normal ones",
        confirm="cat /sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime is not 0",
        source="D04; kernel/sched/deadline.c",
    ),
    cause(
        "quota-timer",
        "A CPU quota is being counted: its timers run on this CPU",
        *hrtimers("sched_cfs_period_timer", "sched_cfs_slack_timer"),
        remedy="echo max > /sys/fs/cgroup/GROUP/cpu.max for the group with the quota",
        undo="echo the former two numbers into the same cpu.max",
        confirm="grep -v max /sys/fs/cgroup/*/cpu.max",
        source="D03; kernel/sched/fair.c",
    ),
    cause(
        "realtime-throttling",
        "The limit on real-time programs is being counted on this CPU",
        *hrtimers("sched_rt_period_timer"),
        remedy="sysctl -w kernel.sched_rt_runtime_us=-1",
        undo="sysctl -w kernel.sched_rt_runtime_us=950000",
        effect="a real-time program that never sleeps can then block its CPU for good",
        confirm="sysctl kernel.sched_rt_runtime_us is not -1",
        source="D95; sched-rt-group.rst",
    ),
    cause(
        "scheduler-high-resolution-tick",
        "The scheduler switches programs with an extra precise timer",
        *hrtimers("hrtick", "__hrtick_start"),
        ("ipi", "*", "__hrtick_start"),
        remedy="echo NO_HRTICK > /sys/kernel/debug/sched/features",
        undo="echo HRTICK > /sys/kernel/debug/sched/features",
        confirm="grep -w HRTICK /sys/kernel/debug/sched/features",
        source="symbol index; kernel/sched/features.h",
    ),
    cause(
        "tick-kick",
        "The CPU was told to turn its clock interrupt on again",
        ("ipi", "*", "nohz_full_kick_func"),
        remedy="remove what needs the clock interrupt, see the findings about it",
        undo="nothing was changed",
        confirm="trace timer:tick_stop on the CPU",
        source="D104; kernel/time/tick-sched.c",
    ),
    cause(
        "load-balancing",
        "The scheduler looks for programs to move from or to this CPU",
        *softirqs("SCHED"),
        remedy="isolcpus=domain,{cpus} on the kernel command line, or a cpuset partition isolated",
        undo="take isolcpus= off, or echo member > cpuset.cpus.partition",
        reboot=True,
        confirm="cat /sys/devices/system/cpu/isolated does not list the CPU",
        source="D52, D96; kernel/sched/fair.c",
    ),
    cause(
        "idle-balancing-call",
        "Another CPU asked this one to balance programs on behalf of idle ones",
        ("ipi", "*", "nohz_csd_func"),
        remedy="isolcpus=domain,{cpus} on the kernel command line, or a cpuset partition isolated",
        undo="take isolcpus= off, or echo member > cpuset.cpus.partition",
        reboot=True,
        confirm="the CPU is idle at times and not in /sys/devices/system/cpu/isolated",
        source="D52; kernel/sched/fair.c",
    ),
)
