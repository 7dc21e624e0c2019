"""A hypervisor below, and what it takes."""

from __future__ import annotations

from noisetop.checks.audited import AuditedMachine
from noisetop.checks.result import Verdict, check, passed
from noisetop.checks.status import Status
from noisetop.machine.machine import cpu_words
from noisetop.machine.reading import CannotTellError, Reading
from noisetop.machine.stolen_time import steal_ticks


@check(
    "C50",
    "stolen-time",
    question="Does the hypervisor take no time from these CPUs (steal)?",
    reads=("/proc/cpuinfo", "/proc/stat, twice"),
    expected="bare metal, or no growth of steal",
    why="The host can preempt a virtual CPU at any time, for milliseconds, unseen by the guest.",
    fix="on the host: pin each virtual CPU to a physical CPU of its own",
    caveat="Steal counts only what the hypervisor reports.",
    explains=(("hardware", "steal"), ("hardware",)),
    sources="Red Hat virtualisation guide, arch/x86/kernel/kvm.c",
)
def stolen_time(machine: AuditedMachine) -> Verdict:
    """The hypervisor flag, and steal."""
    if not machine.read("/proc/cpuinfo").ok:
        raise CannotTellError("/proc/cpuinfo cannot be read")
    before, after, seconds = machine.need_window()
    totals, earlier = steal_ticks(after.cpu_ticks), steal_ticks(before.cpu_ticks)
    if not totals.keys() >= set(machine.cpus):
        raise CannotTellError("/proc/stat shows no steal for these CPUs")
    grown = {cpu: more for cpu in machine.cpus if (more := totals[cpu] - earlier.get(cpu, 0)) > 0}
    reading = Reading(
        "/proc/stat", f"steal of CPU {machine.cpus[0]}: {totals[machine.cpus[0]]} ticks since boot"
    )
    if grown:
        growth = Reading(
            "/proc/stat", f"steal grew by {sum(grown.values())} ticks in {seconds:.1f} s"
        )
        return Verdict(
            Status.FAIL,
            f"The hypervisor took time from {cpu_words(grown)} during the check (steal)",
            (growth, reading),
            cpus=tuple(grown),
        )
    if machine.virtual:
        kind = Reading(*machine.virtual.split(" ", 1))
        cause = "This is a virtual machine: the host can preempt these CPUs at any time"
        return Verdict(Status.WARN, cause, (kind, reading))
    return passed("No hypervisor takes time from these CPUs", reading)
