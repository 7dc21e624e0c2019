"""What firmware and error reporting do behind the kernel's back."""

from __future__ import annotations

from noisetop.checks import remedy
from noisetop.checks.audited import AuditedMachine
from noisetop.checks.result import Remedy, Verdict, check, passed
from noisetop.checks.status import LATENCY, Status
from noisetop.machine.cpu_vendor import INTEL, cpu_vendor
from noisetop.machine.machine import cpu_words
from noisetop.machine.reading import CannotTellError, Reading

_MACHINE_CHECK = "/sys/devices/system/machinecheck"
_EDAC_POLL = "/sys/module/edac_core/parameters/edac_mc_poll_msec"
_MANY_SMIS = 10
_LONG_POLL_MS = 10_000


@check(
    "C51",
    "firmware-interrupts",
    question="Are there no system management interrupts (SMI)?",
    reads=("/dev/cpu/*/msr of a CPU that is not watched, twice",),
    expected="no system management interrupt within the window",
    why="An SMI stops all CPUs for tens to hundreds of µs and is not in any trace.",
    fix="in the firmware: USB legacy support, power capping and management polling off",
    caveat="Never disable all of them: some protect the hardware. Only Intel CPUs count them.",
    explains=(("hardware",),),
    goals=LATENCY,
    sources="Red Hat real-time guide, hwlatdetect, cpu-isolation.rst",
)
def firmware_interrupts(machine: AuditedMachine) -> Verdict:
    """MSR_SMI_COUNT of a housekeeping CPU."""
    if machine.virtual:
        raise CannotTellError("a virtual machine does not see the firmware of its host")
    machine.need("/proc/cpuinfo")
    if cpu_vendor(machine.text) != INTEL:
        raise CannotTellError("only Intel CPUs count system management interrupts")
    before, after, seconds = machine.need_window()
    if before.smi is None or after.smi is None:
        raise CannotTellError(after.smi_why or before.smi_why)
    count = after.smi - before.smi
    reading = Reading("/dev/cpu/*/msr", f"{after.smi} since power-on, {count} in {seconds:.1f} s")
    if count <= 0:
        return passed(f"No system management interrupt within {seconds:.1f} s", reading)
    return Verdict(
        Status.FAIL if count > _MANY_SMIS else Status.WARN,
        f"System management interrupts stopped the machine {count} times within {seconds:.1f} s",
        (reading,),
    )


@check(
    "C54",
    "error-polling",
    question="Is the hardware rarely polled for errors?",
    reads=(
        f"{_MACHINE_CHECK}/machinecheck*/check_interval",
        f"{_MACHINE_CHECK}/machinecheck*/ignore_ce",
        _EDAC_POLL,
        "/proc/*/stat of the threads kipmi*",
    ),
    expected="ignore_ce 1 or check_interval 0, no thread kipmi*, no polling of memory controllers",
    why="A timer on each CPU asks the hardware for corrected errors; a thread may poll the "
    "management controller without pause.",
    fix=f"echo 1 > {_MACHINE_CHECK}/machinecheckN/ignore_ce",
    caveat="Corrected memory errors are then not reported: a failing DIMM goes unnoticed.",
    explains=(("softirq", "TIMER", "mce_timer_fn"), ("thread", "kipmi*")),
    goals=LATENCY,
    sources="tuned, arch/x86/kernel/cpu/mce/core.c",
)
def error_polling(machine: AuditedMachine) -> Verdict:
    """Machine-check polling, EDAC and IPMI."""
    polling = _polling_cpus(machine)
    kipmi = [task for task in machine.tasks if task.kernel and task.comm.startswith("kipmi")]
    edac = machine.read(_EDAC_POLL)
    polled = (edac.number() or _LONG_POLL_MS) < _LONG_POLL_MS
    if polling:
        return _machine_checks(machine, polling)
    if kipmi:
        cause = f"A kernel thread polls the management controller: {kipmi[0].label()}"
        reading = Reading(f"{kipmi[0].directory}/stat", f"{kipmi[0].comm}")
        fix = Remedy(
            "echo 100 > /sys/module/ipmi_si/parameters/kipmid_max_busy_us",
            "echo 0 > /sys/module/ipmi_si/parameters/kipmid_max_busy_us",
        )
        return Verdict(Status.WARN, cause, (reading,), remedy=fix)
    if polled and machine.glob("/sys/devices/system/edac/mc", "mc[0-9]*"):
        cause = f"Memory controllers may be polled for errors every {edac.number()} ms"
        fix = remedy.write(edac, str(_LONG_POLL_MS))
        return Verdict(Status.WARN, cause, (edac.reading,), remedy=fix)
    if not machine.exists(_MACHINE_CHECK):
        raise CannotTellError(f"{_MACHINE_CHECK} does not exist or is hidden")
    if machine.tasks_hidden:
        raise CannotTellError(machine.tasks_hidden)
    return passed("Hardware is not polled for errors")


def _polling_cpus(machine: AuditedMachine) -> dict[int, int]:
    """Watched CPUs on which a timer polls, with the interval in s."""
    found = {}
    for cpu in machine.cpus if machine.exists(_MACHINE_CHECK) else ():
        base = f"{_MACHINE_CHECK}/machinecheck{cpu}"
        interval_s = machine.need_number(f"{base}/check_interval")
        if interval_s and machine.read(f"{base}/ignore_ce").text != "1":
            found[cpu] = interval_s
    return found


def _machine_checks(machine: AuditedMachine, polling: dict[int, int]) -> Verdict:
    interval_s = min(polling.values())
    bases = [f"{_MACHINE_CHECK}/machinecheck{cpu}" for cpu in polling]
    names = [f"machinecheck{cpu}" for cpu in polling]
    return Verdict(
        Status.FAIL if interval_s <= 1 else Status.WARN,
        f"A timer on {cpu_words(polling)} polls for hardware errors every {interval_s} s",
        tuple(machine.read(f"{base}/check_interval").reading for base in bases[:2]),
        remedy=remedy.write_each(_MACHINE_CHECK, names, "ignore_ce", "1", "0"),
        cpus=tuple(polling),
    )
