"""The kernel's watch for CPUs that hang."""

from __future__ import annotations

from noisetop.checks import remedy
from noisetop.checks.audited import AuditedMachine
from noisetop.checks.result import Verdict, check, passed, skipped
from noisetop.checks.status import LATENCY, Status
from noisetop.machine.machine import cpu_words
from noisetop.machine.reading import CannotTellError

_MASK = "/proc/sys/kernel/watchdog_cpumask"
_SOFT = "/proc/sys/kernel/soft_watchdog"
_NMI = "/proc/sys/kernel/nmi_watchdog"


def _off(machine: AuditedMachine) -> bool:
    whole = machine.read("/proc/sys/kernel/watchdog").number()
    both = (machine.read(_SOFT).number(), machine.read(_NMI).number())
    return whole == 0 or both == (0, 0)


@check(
    "C08",
    "watchdog-mask",
    question="Is the soft lockup watchdog off on these CPUs?",
    reads=(_MASK, _SOFT, _NMI),
    expected="the mask does not contain the watched CPUs, or the watchdog is off",
    why="It runs a timer and a stopper thread on each watched CPU every four seconds.",
    fix=f"echo LIST > {_MASK}; nohz_full= does it at boot",
    caveat="A lockup of these CPUs is then not reported. isolcpus= alone does not exclude them.",
    explains=(("timer", "*", "watchdog_timer_fn"), ("thread", "migration/*", "softlockup_fn")),
    goals=LATENCY,
    rank=7,
    needs_spare_cpu=True,
    sources="kernel-parameters.txt, kernel/watchdog.c",
)
def watchdog_mask(machine: AuditedMachine) -> Verdict:
    """kernel.watchdog_cpumask."""
    if _off(machine):
        return passed("The soft lockup watchdog is off", machine.read(_SOFT).reading)
    mask = machine.read(_MASK)
    if mask.missing and machine.exists("/proc/sys/kernel/osrelease") and not machine.container:
        return passed("This kernel has no soft lockup watchdog", mask.reading)
    hit = machine.hit(machine.need_cpus(_MASK))
    if not hit:
        return passed("The soft lockup watchdog is off on these CPUs", mask.reading)
    return Verdict(
        Status.FAIL,
        f"The soft lockup watchdog runs on {cpu_words(hit)} every few seconds",
        (mask.reading,),
        remedy=remedy.write(mask, machine.keep),
        cpus=hit,
    )


@check(
    "C09",
    "nmi-watchdog",
    question="Is the hard lockup (NMI) watchdog off?",
    reads=(_NMI, _MASK),
    expected="0",
    why="Its NMI interrupts each CPU about every ten seconds.",
    fix="sysctl -w kernel.nmi_watchdog=0",
    caveat="A lockup with interrupts disabled is then not reported.",
    explains=(("nmi", "perf_event_nmi_handler"),),
    goals=LATENCY,
    sources="tuned, Intel ECI",
)
def nmi_watchdog(machine: AuditedMachine) -> Verdict:
    """kernel.nmi_watchdog."""
    value = machine.need_number(_NMI)
    file, mask = machine.read(_NMI), machine.read(_MASK)
    if value == 0:
        return passed("The hard lockup (NMI) watchdog is off", file.reading)
    allowed = mask.cpus()
    hit = machine.hit(machine.online if allowed is None else allowed)
    where = f"interrupts {cpu_words(hit)}" if hit else "runs on the other CPUs"
    return Verdict(
        Status.FAIL if hit else Status.WARN,
        f"The hard lockup (NMI) watchdog {where} about every ten seconds",
        (file.reading, mask.reading),
        remedy=remedy.sysctl(file, "0"),
        cpus=hit,
    )


@check(
    "C18",
    "watchdog-at-boot",
    question="Does the soft lockup watchdog stay off after a reboot?",
    reads=("/proc/cmdline", _MASK, "/sys/devices/system/cpu/nohz_full"),
    expected="nosoftlockup, nowatchdog or nohz_full= on the kernel command line",
    why="A mask written at run time is lost at the next boot.",
    fix="nosoftlockup on the kernel command line",
    caveat="Switches it off for all CPUs.",
    explains=(("timer", "*", "watchdog_timer_fn"), ("thread", "migration/*", "softlockup_fn")),
    goals=LATENCY,
    sources="tuned realtime",
)
def watchdog_at_boot(machine: AuditedMachine) -> Verdict:
    """nosoftlockup, nowatchdog, or nohz_full."""
    mask = machine.read(_MASK)
    if mask.missing and machine.read(_SOFT).missing:
        return skipped("No soft lockup watchdog is visible")
    file, given = machine.read("/proc/cmdline"), machine.parameter("nosoftlockup", "nowatchdog")
    if machine.nohz_full.issuperset(machine.cpus):
        return passed("nohz_full= keeps the soft lockup watchdog off at every boot", given)
    if not file.ok:
        raise CannotTellError(f"/proc/cmdline {file.why}", file.reading)
    if "nosoftlockup" in machine.cmdline or "nowatchdog" in machine.cmdline:
        return passed("The soft lockup watchdog is off at boot", given)
    gone = _off(machine) or not machine.hit(mask.cpus() or machine.online)
    return Verdict(
        Status.WARN,
        "The soft lockup watchdog is off, but on again after a reboot"
        if gone
        else "The soft lockup watchdog is on at boot",
        (given, mask.reading),
        remedy=remedy.boot_argument(machine, "nosoftlockup"),
    )
