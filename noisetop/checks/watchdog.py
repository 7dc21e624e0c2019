"""The kernel's watch for CPUs that hang."""

from __future__ import annotations

from noisetop.checks import remedy
from noisetop.checks.machine import Machine, cpu_words
from noisetop.checks.result import (
    LATENCY,
    CannotTellError,
    Status,
    Verdict,
    check,
    passed,
    skipped,
)

_MASK = "/proc/sys/kernel/watchdog_cpumask"
_SOFT = "/proc/sys/kernel/soft_watchdog"
_NMI = "/proc/sys/kernel/nmi_watchdog"


def _off(machine: Machine) -> bool:
    whole = machine.read("/proc/sys/kernel/watchdog").number()
    both = (machine.read(_SOFT).number(), machine.read(_NMI).number())
    return whole == 0 or both == (0, 0)


@check(
    "C08",
    "watchdog-mask",
    question="Is the watch for hung CPUs off on these CPUs?",
    reads=(_MASK, _SOFT, _NMI),
    expected="the mask does not contain the watched CPUs, or the watch is off",
    why="It wakes a thread of top priority on each watched CPU every four seconds.",
    fix=f"echo LIST > {_MASK}; nohz_full= does it at boot",
    caveat="A hang on these CPUs is then not reported. isolcpus= alone does not exclude them.",
    explains=(("timer", "*", "watchdog_timer_fn"), ("thread", "migration/*", "softlockup_fn")),
    goals=LATENCY,
    rank=7,
    needs_spare_cpu=True,
    sources="kernel-parameters.txt, kernel/watchdog.c",
)
def watchdog_mask(machine: Machine) -> Verdict:
    """kernel.watchdog_cpumask."""
    if _off(machine):
        return passed("The watch for hung CPUs is off", machine.read(_SOFT).reading)
    mask = machine.read(_MASK)
    if mask.missing and machine.exists("/proc/sys/kernel/osrelease") and not machine.container:
        return passed("This kernel does not watch for hung CPUs", mask.reading)
    hit = machine.hit(machine.need_cpus(_MASK))
    if not hit:
        return passed("The watch for hung CPUs leaves these alone", mask.reading)
    return Verdict(
        Status.FAIL,
        f"The watch for hung CPUs wakes up on {cpu_words(hit)} every few seconds",
        (mask.reading,),
        remedy=remedy.write(mask, machine.keep),
        cpus=hit,
    )


@check(
    "C09",
    "nmi-watchdog",
    question="Is the hardware watchdog off?",
    reads=(_NMI, _MASK),
    expected="0",
    why="It interrupts each CPU about every ten seconds, even where interrupts are disabled.",
    fix="sysctl -w kernel.nmi_watchdog=0",
    caveat="CPUs that hang with interrupts off are then not reported.",
    explains=(("nmi", "perf_event_nmi_handler"),),
    goals=LATENCY,
    sources="tuned, Intel ECI",
)
def nmi_watchdog(machine: Machine) -> Verdict:
    """kernel.nmi_watchdog."""
    value = machine.need_number(_NMI)
    file, mask = machine.read(_NMI), machine.read(_MASK)
    if value == 0:
        return passed("The hardware watchdog is off", file.reading)
    allowed = mask.cpus()
    hit = machine.hit(machine.online if allowed is None else allowed)
    where = f"interrupts {cpu_words(hit)}" if hit else "runs on the other CPUs"
    return Verdict(
        Status.FAIL if hit else Status.WARN,
        f"The hardware watchdog {where} about every ten seconds",
        (file.reading, mask.reading),
        remedy=remedy.sysctl(file, "0"),
        cpus=hit,
    )


@check(
    "C18",
    "watchdog-at-boot",
    question="Does the watch for hung CPUs stay off after a reboot?",
    reads=("/proc/cmdline", _MASK, "/sys/devices/system/cpu/nohz_full"),
    expected="nosoftlockup, nowatchdog or nohz_full= on the kernel command line",
    why="A mask written at run time is forgotten at the next boot.",
    fix="nosoftlockup on the kernel command line",
    caveat="Switches it off for all CPUs.",
    explains=(("timer", "*", "watchdog_timer_fn"), ("thread", "migration/*", "softlockup_fn")),
    goals=LATENCY,
    sources="tuned realtime",
)
def watchdog_at_boot(machine: Machine) -> Verdict:
    """nosoftlockup, nowatchdog, or nohz_full."""
    mask = machine.read(_MASK)
    if mask.missing and machine.read(_SOFT).missing:
        return skipped("No watch for hung CPUs can be seen here")
    file, given = machine.read("/proc/cmdline"), machine.parameter("nosoftlockup", "nowatchdog")
    if machine.nohz_full.issuperset(machine.cpus):
        return passed("nohz_full= keeps the watch for hung CPUs away at every boot", given)
    if not file.ok:
        raise CannotTellError(f"/proc/cmdline {file.why}", file.reading)
    if "nosoftlockup" in machine.cmdline or "nowatchdog" in machine.cmdline:
        return passed("The watch for hung CPUs is off from boot on", given)
    gone = _off(machine) or not machine.hit(mask.cpus() or machine.online)
    return Verdict(
        Status.WARN,
        "The watch for hung CPUs is off, but comes back at the next boot"
        if gone
        else "The watch for hung CPUs is on from boot on",
        (given, mask.reading),
        remedy=remedy.boot_argument(machine, "nosoftlockup"),
    )
