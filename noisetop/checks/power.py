"""Frequency, sleep states and power supply."""

from __future__ import annotations

from collections.abc import Callable

from noisetop.checks import remedy
from noisetop.checks.audited import AuditedMachine
from noisetop.checks.result import Remedy, Verdict, check, passed
from noisetop.checks.status import LATENCY, Goal, Status
from noisetop.machine.files import FileText
from noisetop.machine.machine import cpu_words
from noisetop.machine.reading import CannotTellError, Reading

_CPU = "/sys/devices/system/cpu"
_SUPPLIES = "/sys/class/power_supply"
_ACTIVE_DRIVERS = ("intel_pstate", "amd-pstate-epp")
_SHALLOW_US = 2
_FEW = 4


def _frequency_files(machine: AuditedMachine, name: str) -> dict[int, FileText]:
    """One cpufreq file of each watched CPU. Raises CannotTellError."""
    files = {cpu: machine.read(f"{_CPU}/cpu{cpu}/cpufreq/{name}") for cpu in machine.cpus}
    unreadable = next((file for file in files.values() if not file.ok), None)
    if unreadable:
        why = "the hypervisor sets the frequency" if machine.virtual else unreadable.why
        raise CannotTellError(f"{unreadable.path}: {why}", unreadable.reading)
    return files


def _write_all(files: dict[int, FileText], cpus: list[int], value: str) -> Remedy:
    names = [f"cpu{cpu}" for cpu in cpus]
    return remedy.write_each(
        _CPU, names, files[cpus[0]].path.split("/", 6)[-1], value, remedy.safe(files[cpus[0]].text)
    )


def _governor_status(machine: AuditedMachine, cpu: int, governor: str) -> Status:
    if governor == "performance":
        return Status.PASS
    base = f"{_CPU}/cpu{cpu}/cpufreq"
    if machine.read(f"{base}/scaling_driver").text in _ACTIVE_DRIVERS:
        preference = machine.read(f"{base}/energy_performance_preference").text
        return Status.PASS if preference in ("performance", "0") else Status.WARN
    if machine.goal is Goal.THROUGHPUT and governor in ("schedutil", "ondemand"):
        return Status.PASS
    return Status.FAIL if governor in ("powersave", "conservative") else Status.WARN


@check(
    "C33",
    "frequency-governor",
    question="Does the frequency governor of these CPUs favour performance?",
    reads=(
        f"{_CPU}/cpu*/cpufreq/scaling_governor",
        f"{_CPU}/cpu*/cpufreq/energy_performance_preference",
    ),
    expected="performance; with intel_pstate or amd-pstate a preference of performance",
    why="Otherwise the frequency follows the load with a delay, and each change costs time.",
    fix="echo performance > scaling_governor of each CPU",
    caveat="Uses more power. Lost at reboot.",
    explains=(("thread", "sugov:*"), ("ipi", "*", "do_drv_write")),
    rank=10,
    sources="Rigtorp's guide, tuned, pyperf",
)
def frequency_governor(machine: AuditedMachine) -> Verdict:
    """scaling_governor, and the preference of drivers that have governors of their own."""
    files = _frequency_files(machine, "scaling_governor")
    states = {cpu: _governor_status(machine, cpu, file.text) for cpu, file in files.items()}
    slow = [cpu for cpu, status in states.items() if status is not Status.PASS]
    readings = tuple(files[cpu].reading for cpu in (slow or list(files))[:_FEW])
    if not slow:
        return passed("The frequency governor of these CPUs favours performance", *readings)
    preference = machine.read(f"{_CPU}/cpu{slow[0]}/cpufreq/energy_performance_preference")
    if preference.ok:
        readings = (*readings, preference.reading)
    return Verdict(
        Status.FAIL if Status.FAIL in states.values() else Status.WARN,
        f"{cpu_words(slow)} may run below their full frequency to save power",
        readings,
        remedy=_write_all(files, slow, "performance"),
        cpus=tuple(slow),
    )


@check(
    "C34",
    "frequency-limits",
    question="Is the frequency of these CPUs constant?",
    reads=(
        f"{_CPU}/cpu*/cpufreq/scaling_min_freq",
        f"{_CPU}/cpu*/cpufreq/scaling_max_freq",
        f"{_CPU}/cpu*/thermal_throttle/core_throttle_count",
    ),
    expected="equal limits or the governor performance, and no throttling",
    why="A CPU whose frequency changes gives different times for the same work.",
    fix="write the value of scaling_max_freq to scaling_min_freq",
    caveat="Uses more power. Lost at reboot.",
    goals=LATENCY,
    sources="tuned, pyperf",
)
def frequency_limits(machine: AuditedMachine) -> Verdict:
    """Limits, and the counts of the thermal throttle."""
    hot = _throttled(machine)
    if hot:
        return Verdict(
            Status.FAIL,
            f"{cpu_words(hot)} were throttled because of heat",
            tuple(
                Reading(f"{_CPU}/cpu{cpu}/thermal_throttle/core_throttle_count", f"grew by {more}")
                for cpu, more in hot.items()
            ),
            caveat="Improve cooling, or raise the power limit in the firmware.",
            cpus=tuple(hot),
            explains=(("irq", "thermal*"),),
        )
    low = _frequency_files(machine, "scaling_min_freq")
    high = _frequency_files(machine, "scaling_max_freq")
    governors = _frequency_files(machine, "scaling_governor")
    varying = [
        cpu
        for cpu in machine.cpus
        if low[cpu].text != high[cpu].text and governors[cpu].text != "performance"
    ]
    first = (varying or list(machine.cpus))[0]
    readings = (low[first].reading, high[first].reading)
    if not varying:
        return passed("The frequency of these CPUs is constant", *readings)
    return Verdict(
        Status.WARN,
        f"The frequency of {cpu_words(varying)} may vary",
        readings,
        remedy=_write_all(low, varying, remedy.safe(high[first].text)),
        cpus=tuple(varying),
    )


def _throttled(machine: AuditedMachine) -> dict[int, int]:
    """Watched CPUs whose throttle count grew, with by how much."""
    if machine.window is None:
        return {}
    before, after = machine.window.before.throttled, machine.window.after.throttled
    grown = {cpu: after[cpu] - before.get(cpu, after[cpu]) for cpu in machine.cpus if cpu in after}
    return {cpu: more for cpu, more in grown.items() if more > 0}


@check(
    "C35",
    "turbo",
    question="Is turbo boost off, so that runs are comparable?",
    reads=(f"{_CPU}/intel_pstate/no_turbo", f"{_CPU}/cpufreq/boost"),
    expected="no_turbo 1, or boost 0",
    why="With boost, the frequency depends on temperature and on the load of other cores.",
    fix="echo 1 > no_turbo, or echo 0 > boost",
    caveat="Everything runs slower; leave boost on for low latency.",
    goals=frozenset({Goal.BENCHMARK}),
    sources="pyperf",
)
def turbo(machine: AuditedMachine) -> Verdict:
    """intel_pstate/no_turbo or cpufreq/boost."""
    for name, off in (("intel_pstate/no_turbo", "1"), ("cpufreq/boost", "0")):
        file = machine.read(f"{_CPU}/{name}")
        if file.text not in ("0", "1"):
            continue
        if file.text == off:
            return passed("Turbo boost is off", file.reading)
        return Verdict(
            Status.WARN,
            "Turbo boost is on: the frequency depends on temperature and load of other cores",
            (file.reading,),
            remedy=remedy.write(file, off),
        )
    raise CannotTellError("no control for turbo boost is visible", file.reading)


def _deep_states(machine: AuditedMachine, cpu: int) -> list[tuple[str, int]]:
    """Directories of a CPU's sleep states that are enabled and slow to leave, with µs."""
    deep = []
    for path in machine.glob(f"{_CPU}/cpu{cpu}/cpuidle", "state*/latency"):
        latency_us = machine.need_number(path)
        disabled = machine.read(path.replace("/latency", "/disable")).text
        if latency_us > _SHALLOW_US and disabled != "1":
            deep.append((path.rpartition("/")[0], latency_us))
    return deep


def _limit_us(machine: AuditedMachine, cpu: int) -> Callable[[int], bool]:
    """Whether a wake-up time is still allowed by the CPU's own limit."""
    text = machine.read(f"{_CPU}/cpu{cpu}/power/pm_qos_resume_latency_us").text
    if text == "n/a":
        return lambda latency_us: False
    # 0 is no limit (Documentation/ABI/testing/sysfs-devices-power).
    limit = int(text) if text.isascii() and text.isdigit() and len(text) < 12 else 0
    return lambda latency_us: limit == 0 or latency_us <= limit


@check(
    "C36",
    "sleep-states",
    question="Do these CPUs stay out of deep idle states?",
    reads=(
        f"{_CPU}/cpu*/cpuidle/state*/latency",
        f"{_CPU}/cpu*/cpuidle/state*/disable",
        f"{_CPU}/cpu*/power/pm_qos_resume_latency_us",
        "/proc/*/fd",
    ),
    expected=f"no state that takes more than {_SHALLOW_US} µs to leave",
    why="Leaving a deep idle state takes tens to hundreds of µs.",
    fix="echo n/a > power/pm_qos_resume_latency_us of each CPU",
    caveat="Uses much more power. Not needed for a program that never sleeps. Lost at reboot.",
    goals=LATENCY,
    rank=11,
    sources="tuned, cpu-isolation.rst, pyperf",
)
def sleep_states(machine: AuditedMachine) -> Verdict:
    """Idle states that may still be entered."""
    if machine.cmdline.get("idle", [""])[-1] == "poll":
        reading = machine.read("/proc/cmdline").reading
        return passed("CPUs never enter an idle state (idle=poll)", reading)
    if machine.virtual:
        raise CannotTellError("the hypervisor controls the idle states of a virtual CPU")
    states = {cpu: machine.glob(f"{_CPU}/cpu{cpu}/cpuidle", "state*") for cpu in machine.cpus}
    if not all(states.values()):
        raise CannotTellError(f"no idle states are visible in {_CPU}/cpu*/cpuidle")
    deep = {}
    for cpu in machine.cpus:
        allowed = _limit_us(machine, cpu)
        entered = [(name, us) for name, us in _deep_states(machine, cpu) if allowed(us)]
        if entered:
            deep[cpu] = entered[-1]
    if not deep:
        latency = machine.read(f"{_CPU}/cpu{machine.cpus[0]}/power/pm_qos_resume_latency_us")
        return passed("These CPUs enter no deep idle state", latency.reading)
    holders = [h.label for h in machine.open_files if h.target == "/dev/cpu_dma_latency"]
    if holders:
        raise CannotTellError(
            f"{holders[0]} limits idle states through /dev/cpu_dma_latency, by an unknown value"
        )
    directory, latency_us = next(iter(deep.values()))
    file = machine.read(f"{_CPU}/cpu{next(iter(deep))}/power/pm_qos_resume_latency_us")
    names = [f"cpu{cpu}" for cpu in deep]
    return Verdict(
        Status.WARN,
        f"{cpu_words(deep)} may take {latency_us} µs or more to leave an idle state",
        (machine.read(f"{directory}/latency").reading, file.reading),
        remedy=remedy.write_each(
            _CPU, names, "power/pm_qos_resume_latency_us", "n/a", remedy.safe(file.text) or "0"
        ),
        cpus=tuple(deep),
    )


@check(
    "C59",
    "power-supply",
    question="Does the machine run on mains power?",
    reads=(f"{_SUPPLIES}/*/type", f"{_SUPPLIES}/*/online"),
    expected="mains online",
    why="On battery, firmware limits the frequency.",
    fix="connect mains power",
    sources="pyperf",
)
def power_supply(machine: AuditedMachine) -> Verdict:
    """power_supply class."""
    types = {path: machine.read(path) for path in machine.glob(_SUPPLIES, "*/type")}
    supplies = [path.rpartition("/")[0] for path, file in types.items() if file.text != "Battery"]
    online = [machine.read(f"{supply}/online") for supply in supplies]
    known = [file for file in online if file.number() is not None]
    if any(file.number() for file in known):
        return passed("The machine runs on mains power", *(file.reading for file in known[:2]))
    if not known:
        raise CannotTellError("the machine lists no power supply")
    return Verdict(
        Status.WARN, "The machine runs on battery", tuple(file.reading for file in known[:2])
    )
