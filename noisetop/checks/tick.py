"""The scheduler tick and the kernel's other periodic work on a CPU."""

from __future__ import annotations

from noisetop.checks import remedy
from noisetop.checks.audited import AuditedMachine
from noisetop.checks.result import Remedy, Verdict, check, passed, skipped
from noisetop.checks.status import LATENCY, Goal, Status
from noisetop.machine.machine import cpu_words
from noisetop.machine.reading import CannotTellError

_NOHZ_FULL = "/sys/devices/system/cpu/nohz_full"
_FAIR_SERVER = "/sys/kernel/debug/sched/fair_server"
_TIMER_MIGRATION = "/proc/sys/kernel/timer_migration"
_STAT_INTERVAL = "/proc/sys/vm/stat_interval"
_PATIENT_S = 10
_OTHER_KERNEL = Remedy(
    "boot a kernel that was built with CONFIG_NO_HZ_FULL=y (see C01), with nohz_full=LIST",
    "boot this kernel again",
    reboot=True,
    shell=False,
)
_MANY_CPUS = 8


@check(
    "C02",
    "tick-stops",
    question="Does the scheduler tick stop while one program runs?",
    reads=(_NOHZ_FULL,),
    expected="the list contains every watched CPU",
    why="The tick interrupts a program 100 to 1000 times a second, with nothing to do.",
    fix="nohz_full=LIST on the kernel command line",
    caveat="Makes each system call on these CPUs a little slower; the boot CPU cannot be in it.",
    explains=(("timer", "*", "tick_nohz_handler"), ("timer", "*", "tick_sched_timer")),
    goals=LATENCY,
    rank=1,
    sources="kernel-parameters.txt, no_hz.rst, cpu-isolation.rst",
)
def tick_stops(machine: AuditedMachine) -> Verdict:
    """N in nohz_full."""
    file = machine.read(_NOHZ_FULL)
    if file.missing and not machine.read("/sys/devices/system/cpu/isolated").ok:
        raise CannotTellError(f"{_NOHZ_FULL} {file.why}", file.reading)
    listed = frozenset() if file.missing else machine.need_cpus(_NOHZ_FULL)
    ticking = [cpu for cpu in machine.cpus if cpu not in listed]
    if not ticking:
        return passed("The scheduler tick stops while one program runs", file.reading)
    if file.missing:
        return Verdict(
            machine.worse(),
            "The scheduler tick runs 100 to 1000 times a second: this kernel cannot stop its tick",
            (file.reading,),
            remedy=_OTHER_KERNEL,
            cpus=tuple(ticking),
        )
    return Verdict(
        machine.worse(),
        f"The scheduler tick runs on {cpu_words(ticking)} 100 to 1000 times a second",
        (file.reading,),
        remedy=remedy.boot_argument(machine, f"nohz_full={machine.watched}"),
        cpus=tuple(ticking),
    )


@check(
    "C10",
    "fair-server",
    question="Is the scheduler's fair server off?",
    reads=(f"{_FAIR_SERVER}/cpu*/runtime",),
    expected="0, or no such file on older kernels",
    why="It arms a timer about once a second and can keep the tick running.",
    fix=f"echo 0 > {_FAIR_SERVER}/cpuN/runtime",
    caveat="At 0 a real-time task that never sleeps starves all others on its CPU. Lost at reboot.",
    explains=(("timer", "*", "dl_task_timer"),),
    goals=LATENCY,
    rank=8,
    sources="kernel/sched/deadline.c; NVIDIA and NI kernel trees",
)
def fair_server(machine: AuditedMachine) -> Verdict:
    """Runtime of the deadline server of fair tasks."""
    if not machine.exists("/sys/kernel/debug/sched"):
        listing = machine.read("/sys/kernel/debug/sched")
        raise CannotTellError(
            "debugfs is not mounted or needs root: /sys/kernel/debug/sched", listing.reading
        )
    if not machine.exists(_FAIR_SERVER):
        return passed("This kernel has no fair server")
    paths = {cpu: f"{_FAIR_SERVER}/cpu{cpu}/runtime" for cpu in machine.cpus}
    runtimes = {cpu: machine.need_number(path) for cpu, path in paths.items()}
    active = [cpu for cpu, runtime_ns in runtimes.items() if runtime_ns > 0]
    readings = tuple(machine.read(paths[cpu]).reading for cpu in (active or machine.cpus)[:4])
    matters = machine.goal is Goal.REALTIME or machine.nohz_full.intersection(active)
    if not active:
        return passed("The fair server is off on these CPUs", *readings)
    if not matters:
        return passed("The fair server is on, which is not relevant for this goal", *readings)
    names = [f"cpu{cpu}" for cpu in active]
    return Verdict(
        Status.WARN,
        f"The fair server's timer runs on {cpu_words(active)} about once a second",
        readings,
        remedy=remedy.write_each(_FAIR_SERVER, names, "runtime", "0", str(runtimes[active[0]])),
        cpus=tuple(active),
    )


@check(
    "C11",
    "timer-migration",
    question="Is timer migration on?",
    reads=(_TIMER_MIGRATION,),
    expected="1",
    why="At 0, timers stay on the CPU that armed them and interrupt it later.",
    fix="sysctl -w kernel.timer_migration=1",
    caveat="tuned's network-latency profile sets 0; the kernel hands timers of nohz_full CPUs "
    "to others only at 1.",
    explains=(("timer", "*", "hrtimer_wakeup"), ("softirq", "TIMER"), ("softirq", "HRTIMER")),
    goals=LATENCY,
    sources="kernel/time/hrtimer.c: get_target_base; contradicts tuned",
)
def timer_migration(machine: AuditedMachine) -> Verdict:
    """kernel.timer_migration."""
    value = machine.need_number(_TIMER_MIGRATION)
    file = machine.read(_TIMER_MIGRATION)
    quiet = machine.hit(machine.nohz_full)
    if value == 0 and quiet:
        return Verdict(
            Status.WARN,
            f"Timer migration is off: timers stay on {cpu_words(quiet)}",
            (file.reading,),
            remedy=remedy.sysctl(file, "1"),
            cpus=quiet,
        )
    if value == 0:
        return passed("Timer migration is off; relevant only for CPUs in nohz_full=", file.reading)
    return passed("Timer migration is on", file.reading)


@check(
    "C12",
    "statistics-interval",
    question="Is the interval of memory statistics (vmstat) long?",
    reads=(_STAT_INTERVAL,),
    expected=f"{_PATIENT_S} s or more",
    why="At each interval, vmstat_update may run on every CPU.",
    fix="sysctl -w vm.stat_interval=120",
    caveat="/proc/vmstat is then less current.",
    explains=(
        ("thread", "kworker/*", "vmstat_update"),
        ("softirq", "TIMER", "delayed_work_timer_fn"),
    ),
    sources="tuned (10), Rigtorp's guide (120)",
)
def statistics_interval(machine: AuditedMachine) -> Verdict:
    """vm.stat_interval."""
    interval_s = machine.need_number(_STAT_INTERVAL)
    file = machine.read(_STAT_INTERVAL)
    if interval_s >= _PATIENT_S:
        return passed(f"Memory statistics are updated every {interval_s} s", file.reading)
    return Verdict(
        Status.WARN,
        f"Memory statistics are updated on every CPU each {interval_s} s",
        (file.reading,),
        remedy=remedy.sysctl(file, "120"),
    )


@check(
    "C17",
    "tick-skew",
    question="Are the ticks of many CPUs spread over time?",
    reads=("/proc/cmdline", "/sys/devices/system/cpu/online"),
    expected=f"skew_tick=1 on more than {_MANY_CPUS} CPUs",
    why="Without it all CPUs tick at the same time and contend for the same locks.",
    fix="skew_tick=1 on the kernel command line",
    caveat="Costs some power; no gain on CPUs whose tick is stopped.",
    explains=(("timer", "*", "tick_nohz_handler"), ("timer", "*", "tick_sched_timer")),
    goals=LATENCY,
    sources="kernel-parameters.txt, tuned",
)
def tick_skew(machine: AuditedMachine) -> Verdict:
    """skew_tick= on big machines."""
    machine.need_cpus("/sys/devices/system/cpu/online")
    if len(machine.online) <= _MANY_CPUS:
        return passed(f"With {len(machine.online)} CPUs, ticks need not be spread")
    machine.need("/proc/cmdline")
    given = machine.parameter("skew_tick")
    value = machine.cmdline.get("skew_tick", ["not given"])[-1]
    if value == "1":
        return passed("The ticks of the CPUs are spread over time", given)
    if set(machine.cpus) <= machine.nohz_full:
        return skipped("The tick stops on the watched CPUs, so its phase does not matter")
    return Verdict(
        Status.WARN,
        f"All {len(machine.online)} CPUs tick at the same time and contend for locks",
        (given,),
        remedy=remedy.boot_argument(machine, "skew_tick=1"),
    )
