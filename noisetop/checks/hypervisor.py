"""A hypervisor below, and what it takes."""

from __future__ import annotations

from noisetop.checks.machine import Machine, cpu_words
from noisetop.checks.result import CannotTellError, Reading, Status, Verdict, check, passed

_STEAL = 7


@check(
    "C50",
    "stolen-time",
    question="Does no hypervisor take time from these CPUs?",
    reads=("/proc/cpuinfo", "/proc/stat, twice"),
    expected="bare metal, or no growth of steal",
    why="The host can stop a virtual CPU at any moment, for milliseconds, unseen.",
    fix="on the host: a physical CPU for each virtual CPU, bound to it",
    caveat="steal counts only what the hypervisor admits.",
    explains=(("hardware", "steal"), ("hardware",)),
    sources="Red Hat virtualisation guide, arch/x86/kernel/kvm.c",
)
def stolen_time(machine: Machine) -> Verdict:
    """The hypervisor flag, and steal."""
    if not machine.read("/proc/cpuinfo").ok:
        raise CannotTellError("/proc/cpuinfo cannot be read")
    before, after, seconds = machine.need_window()
    totals = {cpu: _steal(after.cpu_ticks.get(cpu, ())) for cpu in machine.cpus}
    if any(total is None for total in totals.values()):
        raise CannotTellError("/proc/stat shows no steal for these CPUs")
    grown = {
        cpu: more
        for cpu, total in totals.items()
        if (more := (total or 0) - (_steal(before.cpu_ticks.get(cpu, ())) or 0)) > 0
    }
    reading = Reading(
        "/proc/stat", f"steal of CPU {machine.cpus[0]}: {totals[machine.cpus[0]]} ticks since boot"
    )
    if grown:
        growth = Reading(
            "/proc/stat", f"steal grew by {sum(grown.values())} ticks in {seconds:.1f} s"
        )
        return Verdict(
            Status.FAIL,
            f"The hypervisor took time from {cpu_words(grown)} while this was watched",
            (growth, reading),
            cpus=tuple(grown),
        )
    if machine.virtual:
        kind = Reading(*machine.virtual.split(" ", 1))
        cause = "This is a virtual machine: its host can stop these CPUs at any moment"
        return Verdict(Status.WARN, cause, (kind, reading))
    return passed("No hypervisor takes time from these CPUs", reading)


def _steal(ticks: tuple[int, ...]) -> int | None:
    return ticks[_STEAL] if len(ticks) > _STEAL else None
