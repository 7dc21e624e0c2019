"""What the kernel tells time by."""

from __future__ import annotations

from noisetop.checks import remedy
from noisetop.checks.audited import AuditedMachine
from noisetop.checks.result import Verdict, check, passed
from noisetop.checks.status import LATENCY, Status
from noisetop.machine.reading import CannotTellError, Reading
from noisetop.machine.stolen_time import steal_ticks

_CURRENT = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
_GOOD = ("tsc", "arch_sys_counter", "riscv_clocksource", "timebase", "tod", "stick")
_GUEST = ("kvm-clock", "xen", "hyperv_clocksource_tsc_page", "hyperv_clocksource_msr")
_TSC_RULE = {"constant_tsc", "nonstop_tsc", "tsc_adjust"}
_FEW_PACKAGES = 4


def _steals(machine: AuditedMachine) -> bool:
    """Whether the hypervisor ran something else on a watched CPU within the window."""
    if machine.window is None:
        return False
    before = steal_ticks(machine.window.before.cpu_ticks)
    after = steal_ticks(machine.window.after.cpu_ticks)
    return any(after.get(cpu, 0) > before.get(cpu, after.get(cpu, 0)) for cpu in machine.cpus)


@check(
    "C15",
    "clock-source",
    question="Is the clock source the CPU's own counter?",
    reads=(_CURRENT,),
    expected=f"one of {', '.join(_GOOD[:3])}",
    why="Other clocks are slow to read, and without a stable one the tick cannot stop.",
    fix="update the firmware; tsc=reliable only where the counter is known to be good",
    caveat="When the kernel has marked the TSC unstable, dmesg says why ('Marking TSC unstable').",
    explains=(("timer", "*", "tick_nohz_handler"), ("timer", "*", "tick_sched_timer")),
    sources="SUSE Labs CPU isolation, part 6",
)
def clock_source(machine: AuditedMachine) -> Verdict:
    """current_clocksource."""
    file = machine.need(_CURRENT)
    if file.text in _GOOD:
        return passed(f"The clock source is the CPU's own counter ({file.text})", file.reading)
    if not file.text:
        raise CannotTellError(f"{_CURRENT} is empty", file.reading)
    offered = machine.read(_CURRENT.replace("current_", "available_"))
    usable = [name for name in offered.text.split() if name in _GOOD]
    fix = remedy.write(file, usable[0]) if usable else None
    bad = "jiffies" in file.text or (file.text in _GUEST and _steals(machine))
    cause = (
        "The clock source is the hypervisor's"
        if file.text in _GUEST
        else "The clock source is slow to read"
    )
    status = Status.FAIL if bad else Status.WARN
    return Verdict(status, f"{cause} ({file.text})", (file.reading, offered.reading), remedy=fix)


@check(
    "C16",
    "clock-watchdog",
    question="Does the kernel trust the CPU's time-stamp counter?",
    reads=("/proc/cmdline", "/proc/cpuinfo", _CURRENT),
    expected="tsc=reliable, or features that make the kernel trust it",
    why="Otherwise the clocksource watchdog runs twice a second, on each CPU in turn.",
    fix="tsc=reliable on the kernel command line",
    caveat="On machines whose counters drift, time then goes wrong without any warning.",
    explains=(
        ("timer", "*", "clocksource_watchdog"),
        ("softirq", "TIMER", "clocksource_watchdog"),
        ("softirq", "TIMER", "tsc_sync_check_timer_fn"),
        ("ipi", "*", "watchdog_check_skew_remote"),
    ),
    goals=LATENCY,
    sources="arch/x86/kernel/tsc.c, tuned, OpenShift tuning operator 756",
)
def clock_watchdog(machine: AuditedMachine) -> Verdict:
    """tsc= and the kernel's own rule for trusting it."""
    machine.need("/proc/cmdline")
    info, given = machine.need("/proc/cpuinfo"), machine.parameter("tsc")
    if "tsc" not in machine.cpu_flags:
        raise CannotTellError("/proc/cpuinfo lists no time-stamp counter (not x86)")
    value = machine.cmdline.get("tsc", ["not given"])[-1]
    known = machine.cpu_flags & {*_TSC_RULE, "tsc_reliable", "tsc_known_freq"}
    features = Reading(info.path, "flags: " + " ".join(sorted(known)))
    packages = _packages(machine)
    if value == "reliable" or "tsc_reliable" in machine.cpu_flags:
        return passed("The kernel trusts the time-stamp counter", given, features)
    fix = remedy.boot_argument(machine, "tsc=reliable")
    if value == "nowatchdog":
        cause = "The kernel still checks the time-stamp counter of each CPU every ten minutes"
        return Verdict(Status.WARN, cause, (given, features), remedy=fix)
    if known >= _TSC_RULE and packages <= _FEW_PACKAGES:
        return passed(
            "The kernel trusts the time-stamp counter on this kind of CPU",
            given,
            features,
            caveat="A check of each CPU every ten minutes remains; tsc=reliable ends it.",
        )
    cause = "The clocksource watchdog runs twice a second, on each CPU in turn"
    return Verdict(Status.FAIL, cause, (given, features), remedy=fix)


def _packages(machine: AuditedMachine) -> int:
    paths = [
        f"/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id" for cpu in machine.online
    ]
    return len({machine.need(path).text for path in paths})
