"""The scheduler's tick: why it runs, and what it does."""

from __future__ import annotations

from noisetop.counters.tick_stops import kept_by
from noisetop.diagnosis.evidence import Evidence, Share
from noisetop.diagnosis.finding import Confidence, Finding
from noisetop.diagnosis.program_advice import move_neighbours
from noisetop.diagnosis.rule import (
    NOTHING_TO_UNDO,
    Texts,
    cause,
    grouped,
    hrtimers,
    rule,
    softirqs,
)
from noisetop.events.trigger_join import TICK_FUNCTIONS

_SLOWEST_TICK_NS = 20_000_000  # CONFIG_HZ is 100 or more; with a margin for late ones


def _ticks(evidence: Evidence, *, quiet: bool) -> list[Share]:
    """The tick on CPUs that may stop it, or on the others."""
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
    """CPUs on which another program ran, unless the kernel gave another reason for the tick."""
    programs = {share.cpu for share in evidence.shares if share.is_program}
    return {cpu for cpu in programs if _reason(evidence, cpu) in ("", "scheduler")}


def _reason(evidence: Evidence, cpu: int) -> str:
    """What kept the tick running most often, as the kernel names it; empty: not known."""
    kept = kept_by(evidence.tick_stops.get(cpu, {}))
    return kept[0][0] if kept else ""


def _kept_by(evidence: Evidence, *reasons: str) -> list[Share]:
    """A running tick on CPUs on which the kernel gave one of these reasons."""
    return [
        share
        for share in _ticks(evidence, quiet=True)
        if _runs(share) and _reason(evidence, share.cpu) in reasons
    ]


def _for_the_wheel(evidence: Evidence) -> list[Share]:
    """The tick's timer while the tick is stopped."""
    return [share for share in evidence.shares if share.cause[-1:] == ("timer_wheel",)]


@rule(
    "tick-everywhere",
    "The periodic scheduler tick runs on CPU {where}",
    seen_as="timer › … › tick_nohz_handler on a CPU that nohz_full= does not contain",
    remedy="add nohz_full={cpus} to the kernel command line",
    undo="remove nohz_full= from the kernel command line",
    reboot=True,
    effect="no tick while a single program runs on the CPU",
    confirm="cat /sys/devices/system/cpu/nohz_full does not list the CPU",
    source="D01; cpu-isolation.rst, no_hz.rst",
    confidence=Confidence.CERTAIN,
)
def tick_everywhere(evidence: Evidence, texts: Texts) -> list[Finding]:
    """CPUs outside nohz_full."""
    return grouped("tick-everywhere", _ticks(evidence, quiet=False), evidence, None, texts)


@rule(
    "tick-for-two-programs",
    "A second task on the CPU keeps the tick running",
    seen_as="a periodic tick on a nohz_full CPU on which a second program ran, where the kernel "
    "names the scheduler (tick_stop) or no reason",
    remedy="taskset -pc {keep} {pid} of the other program, or give the CPU its own cpuset",
    undo="taskset -pc with the former CPUs",
    act=move_neighbours,
    effect="the tick stops as soon as a single program runs",
    confirm="the finding about other programs on this CPU names them",
    source="D02; sched_can_stop_tick()",
)
def tick_for_two_programs(evidence: Evidence, texts: Texts) -> list[Finding]:
    """A running tick where another program was seen."""
    shared = _shared(evidence)
    found = [one for one in _ticks(evidence, quiet=True) if _runs(one) and one.cpu in shared]
    return grouped("tick-for-two-programs", found, evidence, None, texts)


@rule(
    "tick-for-the-scheduler",
    "The scheduler keeps the tick running: a CPU quota, or a second thread",
    seen_as="a periodic tick on a nohz_full CPU that the scheduler kept running (tick_stop), and "
    "on which no second program ran",
    remedy="echo max > /sys/fs/cgroup/GROUP/cpu.max for a group with a quota; bind the threads of "
    "the program to a CPU each",
    undo="echo the former two numbers into the same cpu.max",
    effect="the tick stops as soon as a single thread without a quota runs",
    confirm="grep -v max /sys/fs/cgroup/*/cpu.max; ps -eLo psr,tid,comm shows threads on the CPU",
    source="D02 to D04; sched_can_stop_tick()",
)
def tick_for_the_scheduler(evidence: Evidence, texts: Texts) -> list[Finding]:
    """The kernel says so, and no other program is there to blame."""
    shared = _shared(evidence)
    found = [one for one in _kept_by(evidence, "scheduler") if one.cpu not in shared]
    return grouped("tick-for-the-scheduler", found, evidence, None, texts)


@rule(
    "tick-for-cpu-timers",
    "A CPU-time timer of a program keeps the tick running",
    seen_as="a periodic tick on a nohz_full CPU that POSIX timers kept running (tick_stop)",
    remedy="stop CPU-time timers of programs on the CPU: setitimer(ITIMER_PROF or ITIMER_VIRTUAL), "
    "timer_create() on a CPU-time clock, RLIMIT_CPU",
    undo="start them again",
    effect="the tick stops when the last of these timers is gone",
    confirm="grep -l 'ClockID: -' /proc/[0-9]*/timers; prlimit --cpu --pid {victim}",
    source="D05; TICK_DEP_BIT_POSIX_TIMER",
    confidence=Confidence.CERTAIN,
)
def tick_for_cpu_timers(evidence: Evidence, texts: Texts) -> list[Finding]:
    """The kernel says so."""
    found = _kept_by(evidence, "posix_timer")
    return grouped("tick-for-cpu-timers", found, evidence, None, texts)


@rule(
    "tick-for-a-profiler",
    "A profiler that samples by frequency keeps the tick running on all CPUs",
    seen_as="a periodic tick on a nohz_full CPU that perf events kept running (tick_stop)",
    remedy="stop perf record -F, perf top and other profilers that sample by frequency; "
    "perf record -c COUNT does not need the tick",
    undo=NOTHING_TO_UNDO,
    effect="the tick stops on all nohz_full CPUs when the last of them is gone",
    confirm="ls -l /proc/[0-9]*/fd | grep -e '^/proc' -e perf_event shows who holds perf events",
    source="D06; account_freq_event_nohz()",
    confidence=Confidence.CERTAIN,
)
def tick_for_a_profiler(evidence: Evidence, texts: Texts) -> list[Finding]:
    """The kernel says so."""
    found = _kept_by(evidence, "perf_events")
    return grouped("tick-for-a-profiler", found, evidence, None, texts)


@rule(
    "tick-for-an-unstable-clock",
    "The clock source is unstable, which keeps the tick running",
    seen_as="a periodic tick on a nohz_full CPU that an unstable clock kept running (tick_stop)",
    remedy="tsc=reliable on the kernel command line, where the clock is known to be good",
    undo="remove tsc=reliable from the kernel command line",
    reboot=True,
    effect="a broken clock is then no longer detected",
    confirm="dmesg | grep -iE 'tsc|clocksource'",
    source="D07; TICK_DEP_BIT_CLOCK_UNSTABLE",
    confidence=Confidence.CERTAIN,
)
def tick_for_an_unstable_clock(evidence: Evidence, texts: Texts) -> list[Finding]:
    """The kernel says so."""
    found = _kept_by(evidence, "clock_unstable")
    return grouped("tick-for-an-unstable-clock", found, evidence, None, texts)


@rule(
    "tick-for-rcu",
    "RCU waits for this CPU and keeps the tick running",
    seen_as="a periodic tick on a nohz_full CPU that RCU kept running (tick_stop)",
    remedy="keep long system calls and page faults off this CPU: taskset -pc {keep} {pid} of what "
    "makes them, or have the program prepare its memory and files before it measures",
    undo="taskset -pc with the former CPUs",
    effect="the tick runs only during long system calls and page faults",
    confirm="trace timer:tick_stop on the CPU while the program runs",
    source="D08; TICK_DEP_BIT_RCU, TICK_DEP_BIT_RCU_EXP",
)
def tick_for_rcu(evidence: Evidence, texts: Texts) -> list[Finding]:
    """The kernel says so."""
    found = _kept_by(evidence, "rcu", "rcu_expedited")
    return grouped("tick-for-rcu", found, evidence, None, texts)


@rule(
    "tick-kept-alive",
    "The tick is kept on for an unknown reason although it may stop here",
    seen_as="a periodic tick on a nohz_full CPU on which no second program ran, where the kernel "
    "gives no reason that is known",
    remedy="stop profilers, CPU-time timers (setitimer, RLIMIT_CPU) and CPU quotas of the program",
    undo="start them again",
    effect="the tick stops when its reason is gone",
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
    "The timer interrupt serves kernel timers (timer wheel)",
    seen_as="timer › … › timer_wheel, or a tick function far apart on a nohz_full CPU",
    remedy="find the timer functions in the other findings; keep system calls off this CPU",
    undo="nothing was changed",
    confirm="a TIMER softirq with the function follows each of them",
    source="A3, D18; tick_nohz_next_event()",
    rank=(-7,),
)
def tick_for_a_timer(evidence: Evidence, texts: Texts) -> list[Finding]:
    """What is left of the tick on CPUs that may stop it."""
    found = [*_for_the_wheel(evidence), *_ticks(evidence, quiet=True)]
    return grouped("tick-for-a-timer", found, evidence, None, texts)


RULES = (
    cause(
        "timer-interrupt-alone",
        "A timer interrupt ran no timer of its own",
        ("timer", "local_timer"),
        ("timer", "arch_timer"),
        whole=True,
        remedy="see the findings about timers on this CPU; they arm the interrupt",
        undo="nothing was changed",
        effect="falls with the timers that it is armed for",
        confirm="echo 1 > /sys/kernel/tracing/events/timer/hrtimer_start/enable shows who arms it",
        source="A3; its timers were cancelled or moved, or run in a softirq after it",
    ),
    cause(
        "fair-server",
        "The timer of the scheduler's fair server runs on this CPU",
        *hrtimers("dl_task_timer", "inactive_task_timer"),
        remedy="echo 0 > /sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime",
        undo="echo 50000000 > /sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime",
        effect="a real-time program that never sleeps can then starve normal ones",
        confirm="cat /sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime is not 0",
        source="D04; kernel/sched/deadline.c",
    ),
    cause(
        "quota-timer",
        "CPU quota (bandwidth) timers run on this CPU",
        *hrtimers("sched_cfs_period_timer", "sched_cfs_slack_timer"),
        remedy="echo max > /sys/fs/cgroup/GROUP/cpu.max for the group with the quota",
        undo="echo the former two numbers into the same cpu.max",
        confirm="grep -v max /sys/fs/cgroup/*/cpu.max",
        source="D03; kernel/sched/fair.c",
    ),
    cause(
        "realtime-throttling",
        "The real-time throttling timer runs on this CPU",
        *hrtimers("sched_rt_period_timer"),
        remedy="sysctl -w kernel.sched_rt_runtime_us=-1",
        undo="sysctl -w kernel.sched_rt_runtime_us=950000",
        effect="a real-time program that never sleeps can then block its CPU forever",
        confirm="sysctl kernel.sched_rt_runtime_us is not -1",
        source="D95; sched-rt-group.rst",
    ),
    cause(
        "scheduler-high-resolution-tick",
        "The scheduler's high-resolution tick (HRTICK) runs on this CPU",
        *hrtimers("hrtick", "__hrtick_start"),
        ("ipi", "*", "__hrtick_start"),
        remedy="echo NO_HRTICK > /sys/kernel/debug/sched/features",
        undo="echo HRTICK > /sys/kernel/debug/sched/features",
        confirm="grep -w HRTICK /sys/kernel/debug/sched/features",
        source="symbol index; kernel/sched/features.h",
    ),
    cause(
        "tick-kick",
        "An IPI asks this CPU to turn its tick on",
        ("ipi", "*", "nohz_full_kick_func"),
        remedy="remove what needs the tick, see the findings about it",
        undo="nothing was changed",
        confirm="trace timer:tick_stop on the CPU",
        source="D104; kernel/time/tick-sched.c",
    ),
    cause(
        "load-balancing",
        "Load balancing runs on this CPU",
        *softirqs("SCHED"),
        remedy="isolcpus=domain,{cpus} on the kernel command line, or a cpuset partition isolated",
        undo="remove isolcpus=, or echo member > cpuset.cpus.partition",
        reboot=True,
        confirm="cat /sys/devices/system/cpu/isolated does not list the CPU",
        source="D52, D96; kernel/sched/fair.c",
    ),
    cause(
        "idle-balancing-call",
        "Another CPU asks this one to balance load for idle CPUs (nohz balancing)",
        ("ipi", "*", "nohz_csd_func"),
        remedy="isolcpus=domain,{cpus} on the kernel command line, or a cpuset partition isolated",
        undo="remove isolcpus=, or echo member > cpuset.cpus.partition",
        reboot=True,
        confirm="the CPU is idle at times and not in /sys/devices/system/cpu/isolated",
        source="D52; kernel/sched/fair.c",
    ),
)
