"""Other threads, of the kernel and of users, on the watched CPUs."""

from __future__ import annotations

import os
import re

from noisetop.checks import remedy
from noisetop.checks.audited import AuditedMachine
from noisetop.checks.result import Remedy, SourcePattern, Verdict, check, passed
from noisetop.checks.status import LATENCY, Status
from noisetop.machine.machine import cpu_words, quoted
from noisetop.machine.reading import CannotTellError, Reading
from noisetop.machine.tasks import Task, status_fields
from noisetop.text.cpu_list import format_cpu_list

_SYSTEMD_CONF = "/etc/systemd/system.conf"
_DROP_IN = "/etc/systemd/system.conf.d/90-housekeeping.conf"


def _visible(machine: AuditedMachine) -> tuple[Task, ...]:
    if not machine.tasks:
        raise CannotTellError("no task can be seen below /proc")
    return machine.tasks


def _allowed(task: Task) -> Reading:
    listed = format_cpu_list(task.allowed or ())
    return Reading(f"{task.directory}/status", f"{task.comm}: Cpus_allowed_list: {listed}")


def _sources(tasks: list[Task]) -> tuple[SourcePattern, ...]:
    """Their names as events carry them, as patterns that match nothing else."""
    names = dict.fromkeys(_traced_name(task) for task in tasks)
    return tuple(("thread", re.sub(r"([*?\[])", r"[\1]", name)) for name in names)


def _traced_name(task: Task) -> str:
    # /proc adds to the name of a worker what it works on, and shows kernel threads' full names.
    worker = re.match(r"kworker/u?\d+:\d+H?", task.comm)
    return worker[0] if worker else task.comm[:15]


@check(
    "C25",
    "kernel-threads",
    question="Are movable kernel threads kept off these CPUs?",
    reads=("/proc/*/status of kernel threads",),
    expected="Cpus_allowed_list without the watched CPUs, except for per-CPU threads",
    why="Memory reclaim, huge-page and other background threads may run here at any time.",
    fix="taskset -pc LIST for each of them",
    caveat="Lost at reboot; isolcpus=domain or an isolated cpuset partition keeps them away.",
    explains=(("thread", "k*"),),
    rank=6,
    needs_spare_cpu=True,
    sources="kernel-per-CPU-kthreads.rst, Rigtorp's guide",
)
def kernel_threads(machine: AuditedMachine) -> Verdict:
    """Kernel threads that may be moved and may run on N."""
    threads = [task for task in _visible(machine) if task.kernel]
    # Threads of interrupts follow their interrupt (C19); rcuo* is C07.
    movable = [t for t in threads if not t.bound and not t.comm.startswith(("irq/", "rcuo"))]
    stray = [task for task in movable if machine.hit(task.allowed or ())]
    if not stray:
        if machine.tasks_hidden:
            raise CannotTellError(machine.tasks_hidden)
        return passed(f"All {len(movable)} movable kernel threads are kept off these CPUs")
    cause = f"{len(stray)} movable kernel threads may run here: "
    return Verdict(
        Status.FAIL,
        cause + quoted((task.comm for task in stray), most=4),
        (_allowed(stray[0]),),
        remedy=remedy.pin(stray, machine.keep),
        cpus=machine.hit(frozenset().union(*(task.allowed or frozenset() for task in stray))),
        explains=_sources(stray),
    )


@check(
    "C26",
    "other-programs",
    question="Are other programs kept off these CPUs?",
    reads=("/proc/*/task/*/status", "/proc/*/task/*/stat"),
    expected="only programs bound to the watched CPUs may run there",
    why="A second program competes with yours for the CPU and turns the tick on.",
    fix="taskset -pc LIST TID, CPUAffinity= of systemd, or a cpuset",
    caveat="New threads inherit the mask of their parent.",
    explains=(("thread",),),
    rank=4,
    needs_spare_cpu=True,
    sources="cpu-isolation.rst, tuned",
)
def other_programs(machine: AuditedMachine) -> Verdict:
    """User tasks that may run on N besides those bound to it."""
    own = {task.tid for task in machine.workload}
    others = [
        task
        for task in _visible(machine)
        if not task.kernel and task.tid not in own and task.pid != os.getpid()
    ]
    stray = [task for task in others if machine.hit(task.allowed or ())]
    if not stray:
        if machine.tasks_hidden:
            raise CannotTellError(machine.tasks_hidden)
        return passed(f"{len(others)} threads of other programs stay on other CPUs")
    ran = [task for task in stray if task.last_cpu in machine.cpus]
    shown = ran or stray
    verb = "ran" if ran else "may run"
    return Verdict(
        Status.FAIL if ran else Status.WARN,
        f"{len(shown)} threads of other programs {verb} here: "
        + quoted((task.label() for task in shown), most=4),
        (_allowed(shown[0]), Reading(f"{shown[0].directory}/stat", f"CPU {shown[0].last_cpu}")),
        remedy=remedy.pin(shown, machine.keep),
        cpus=machine.hit(frozenset().union(*(task.allowed or frozenset() for task in shown))),
        explains=_sources(shown),
    )


def _configured_affinity(machine: AuditedMachine) -> Reading | None:
    """The last CPUAffinity= in systemd's configuration."""
    found = None
    for path in (_SYSTEMD_CONF, *machine.glob("/etc/systemd/system.conf.d", "*.conf")):
        for value in re.findall(r"(?m)^\s*CPUAffinity\s*=(.*)$", machine.read(path).text):
            found = Reading(path, f"CPUAffinity={value.strip()}")
    return found


@check(
    "C27",
    "service-affinity",
    question="Are services started on other CPUs?",
    reads=("/proc/1/status", _SYSTEMD_CONF, "/etc/systemd/system.conf.d/*.conf"),
    expected="the first process, whose mask all services inherit, may not use the watched CPUs",
    why="Otherwise each service that starts may run here.",
    fix="CPUAffinity=LIST in the [Manager] section of systemd's system.conf",
    caveat="Applies to services that start afterwards.",
    explains=(("thread",),),
    needs_spare_cpu=True,
    sources="tuned, OpenShift tuning operator",
)
def service_affinity(machine: AuditedMachine) -> Verdict:
    """Mask of PID 1, which is what CPUAffinity= sets."""
    if machine.container:
        raise CannotTellError("the services of the host are hidden in this container")
    fields = status_fields(machine.need("/proc/1/status").text)
    first = next((task for task in machine.tasks if task.tid == 1), None)
    if first is None or first.allowed is None:
        raise CannotTellError("/proc/1/status shows no CPU list")
    reading = Reading("/proc/1/status", f"Cpus_allowed_list: {fields.get('Cpus_allowed_list')}")
    configured = _configured_affinity(machine)
    readings = (reading, *((configured,) if configured else ()))
    hit = machine.hit(first.allowed)
    if not hit:
        return passed("Services are started on other CPUs", *readings)
    isolated = machine.isolated.issuperset(hit)
    return Verdict(
        Status.WARN if isolated else Status.FAIL,
        f"Every service that starts may use {cpu_words(hit)}",
        readings,
        remedy=Remedy(
            f"mkdir -p {_DROP_IN.rpartition('/')[0]} && printf '[Manager]\\nCPUAffinity="
            f"{machine.keep}\\n' > {_DROP_IN} && systemctl daemon-reexec",
            f"rm {_DROP_IN} && systemctl daemon-reexec",
        ),
        cpus=hit,
    )


@check(
    "C58",
    "bound-threads",
    question="Are the per-CPU kernel threads of these CPUs idle?",
    reads=("/proc/*/status of kernel threads bound to one CPU, twice",),
    expected="no context switch within the window",
    why="They cannot be moved; only what wakes them can be stopped.",
    fix="see which work runs: noisetop top -c LIST",
    explains=(
        ("thread", "ksoftirqd/*"),
        ("thread", "migration/*"),
        ("thread", "kworker/*:*"),
        ("thread", "idle_inject/*"),
        ("thread", "ktimers/*"),
        ("thread", "rcuc/*"),
        ("thread", "cpuhp/*"),
        ("thread", "irq_work/*"),
    ),
    goals=LATENCY,
    sources="kernel-per-CPU-kthreads.rst",
)
def bound_threads(machine: AuditedMachine) -> Verdict:
    """Context switches of per-CPU kernel threads."""
    if machine.tasks_hidden:
        raise CannotTellError(machine.tasks_hidden)
    before, after, seconds = machine.need_window()
    bound = [
        task
        for task in machine.tasks
        if task.kernel and len(task.allowed or ()) == 1 and machine.hit(task.allowed or ())
    ]
    if not bound:
        raise CannotTellError("no per-CPU kernel thread is bound to these CPUs")
    ran = {
        task: more
        for task in bound
        if (more := after.switches.get(task.tid, 0) - before.switches.get(task.tid, 0)) > 0
    }
    if not ran:
        return passed(f"{len(bound)} per-CPU kernel threads were idle for {seconds:.1f} s")
    worst = sorted(ran, key=lambda task: -ran[task])
    busy = any(ran[task] / seconds > 1 or task.comm.startswith("idle_inject/") for task in worst)
    reading = Reading(
        f"{worst[0].directory}/status", f"{ran[worst[0]]} context switches in {seconds:.1f} s"
    )
    return Verdict(
        Status.FAIL if busy else Status.WARN,
        "Per-CPU kernel threads of these CPUs ran: "
        + quoted((f"{task.comm} {ran[task]} times" for task in worst), most=4),
        (reading,),
        explains=_sources(worst),
    )
