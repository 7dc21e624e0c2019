"""The program that the watched CPUs are meant for."""

from __future__ import annotations

import re

from noisetop.checks.audited import AuditedMachine
from noisetop.checks.remedy import pin, sysctl, write
from noisetop.checks.result import Remedy, Verdict, check, passed
from noisetop.checks.status import Goal, Status
from noisetop.machine.cgroups import cgroup_directories
from noisetop.machine.files import FileText
from noisetop.machine.machine import cpu_words, quoted
from noisetop.machine.reading import CannotTellError, Reading
from noisetop.machine.tasks import Task, status_fields
from noisetop.text.cpu_list import cpu_set, format_cpu_list

_RT_RUNTIME = "/proc/sys/kernel/sched_rt_runtime_us"
_LOCKED_SHARE = 0.9


@check(
    "C29",
    "program-bound",
    question="Is each thread of the program bound to one CPU?",
    reads=("/proc/PID/task/*/status",),
    expected="Cpus_allowed_list with one watched CPU",
    why="A thread that migrates loses its caches, and isolated CPUs are never "
    "balanced: threads pile up on one of them.",
    fix="taskset -cp CPU TID",
    explains=(("thread", "self", "*"), ("thread", "migration/*")),
    sources="Rigtorp's guide",
)
def program_bound(machine: AuditedMachine) -> Verdict:
    """Masks of the workload's threads."""
    threads = machine.need_workload()
    if any(task.allowed is None for task in threads):
        raise CannotTellError("the program's CPU lists cannot be read: run as root")
    masks = {task.tid: task.allowed or frozenset() for task in threads}
    loose = [task for task in threads if len(masks[task.tid]) != 1]
    reading = _mask_reading((loose or list(threads))[0])
    if not loose:
        return passed(f"Each of {len(threads)} threads is bound to one CPU", reading)
    free = [task for task in loose if masks[task.tid].issuperset(machine.online)]
    first = loose[0]
    return Verdict(
        Status.FAIL if free and len(machine.online) > 1 else Status.WARN,
        f"{len(loose)} threads of the program may migrate between CPUs: "
        + quoted((task.label() for task in loose), most=4),
        (reading,),
        remedy=Remedy(
            f"taskset -cp {machine.cpus[0]} {first.tid}",
            f"taskset -cp {format_cpu_list(masks[first.tid])} {first.tid}",
        ),
        caveat="One command for each thread, each with a CPU of its own." if loose[1:] else "",
    )


def _mask_reading(task: Task) -> Reading:
    listed = format_cpu_list(task.allowed or ())
    return Reading(f"{task.directory}/status", f"{task.comm}: Cpus_allowed_list: {listed}")


@check(
    "C30",
    "program-policy",
    question="Does no other program have a higher priority than yours?",
    reads=("/proc/*/task/*/stat",),
    expected="no other real-time program may use the watched CPUs, and no two threads share one",
    why="A real-time task preempts at once and keeps the CPU as long as it is runnable.",
    fix="chrt -f -p PRIORITY TID, or move the other task",
    caveat="A real-time program that never sleeps can starve the kernel's own threads.",
    explains=(("thread",),),
    sources="Red Hat real-time guide, sched(7)",
)
def program_policy(machine: AuditedMachine) -> Verdict:
    """Scheduling policies on N."""
    threads = machine.need_workload()
    own = {task.tid for task in threads}
    turns = [task for task in threads if task.round_robin]
    shared = [cpu for cpu in machine.cpus if sum(cpu in (task.allowed or ()) for task in turns) > 1]
    if shared:
        return Verdict(
            Status.FAIL,
            f"Several threads of the program compete for {cpu_words(shared)}",
            tuple(Reading(f"{t.directory}/stat", f"policy {t.policy} (RR)") for t in turns[:2]),
            cpus=tuple(shared),
        )
    rivals = [
        task
        for task in machine.tasks
        if task.realtime
        and not task.kernel
        and task.tid not in own
        and machine.hit(task.allowed or ())
    ]
    readings = tuple(Reading(f"{t.directory}/stat", f"policy {t.policy}") for t in threads[:2])
    if not rivals or all(task.realtime for task in threads):
        if machine.tasks_hidden:
            raise CannotTellError(machine.tasks_hidden)
        return passed("No other program has a higher priority than yours", *readings)
    return Verdict(
        Status.WARN,
        "Real-time programs have a higher priority: " + quoted((t.label() for t in rivals), most=4),
        (*readings, _mask_reading(rivals[0])),
        remedy=pin(rivals, machine.keep),
        explains=(("thread",),),
    )


@check(
    "C31",
    "realtime-throttling",
    question="Is real-time throttling off?",
    reads=(_RT_RUNTIME,),
    expected="-1",
    why="By default, older kernels throttle real-time tasks for 50 ms in each second.",
    fix="sysctl -w kernel.sched_rt_runtime_us=-1",
    caveat="A real-time task that never sleeps then starves its CPU. On newer kernels the fair "
    "server (C10) has this role.",
    explains=(("timer", "*", "sched_rt_period_timer"),),
    goals=frozenset({Goal.REALTIME}),
    sources="tuned realtime, sched-rt-group.rst",
)
def realtime_throttling(machine: AuditedMachine) -> Verdict:
    """kernel.sched_rt_runtime_us."""
    runtime_us = machine.need_number(_RT_RUNTIME)
    file = machine.read(_RT_RUNTIME)
    if runtime_us == -1:
        return passed("Real-time throttling is off", file.reading)
    return Verdict(
        Status.WARN,
        "Real-time throttling is on",
        (file.reading,),
        remedy=sysctl(file, "-1"),
    )


def _cgroup_directories(machine: AuditedMachine, pid: int, controller: str) -> list[str]:
    """Directories of a process's cgroup and its parents, the innermost first."""
    memberships = machine.read(f"/proc/{pid}/cgroup").text
    return cgroup_directories(memberships, machine.read("/proc/mounts").text, controller)


def quota_limits(machine: AuditedMachine, pid: int) -> list[FileText]:
    """Files with the CPU quotas of a task's control groups, its own first; perhaps unreadable."""
    files = [
        machine.read(f"{directory}/{name}")
        for directory in _cgroup_directories(machine, pid, "cpu")
        for name in ("cpu.max", "cpu.cfs_quota_us")
    ]
    return [file for file in files if not file.missing]


@check(
    "C32",
    "cpu-quota",
    question="Is the program free of a CPU quota?",
    reads=("cpu.max of the program's cgroups (cpu.cfs_quota_us with cgroup v1)",),
    expected="max",
    why="An exhausted quota throttles the program for the rest of each period, and keeps the "
    "tick running.",
    fix="echo max > cpu.max of that cgroup",
    caveat="Container limits come from here: in Kubernetes use the static CPU manager.",
    explains=(("timer", "*", "sched_cfs_period_timer"), ("timer", "*", "sched_cfs_slack_timer")),
    sources="kernel/sched/fair.c, cgroup-v2.rst",
)
def cpu_quota(machine: AuditedMachine) -> Verdict:
    """Quotas on the way to the root of the hierarchy."""
    pid = machine.need_workload()[0].pid
    limits = quota_limits(machine, pid)
    for file in limits:
        if not file.text:
            raise CannotTellError(f"{file.path} {file.why or 'is empty'}", file.reading)
    for file in limits:
        quota = file.text.split()[0]
        if re.fullmatch(r"[1-9][0-9]*", quota):
            new = "max" if file.path.endswith("cpu.max") else "-1"
            return Verdict(
                Status.FAIL,
                "A CPU quota throttles the program",
                (file.reading,),
                remedy=write(file, new),
            )
    readings = tuple(file.reading for file in limits[:2])
    if machine.container:
        raise CannotTellError("limits outside this container are hidden", *readings)
    if not machine.read(f"/proc/{pid}/cgroup").ok:
        raise CannotTellError(f"/proc/{pid}/cgroup cannot be read")
    return passed("No quota limits the program", *readings)


@check(
    "C42",
    "memory-locked",
    question="Is the program's memory locked?",
    reads=("/proc/PID/status", "/proc/PID/limits", "/proc/PID/stat, twice"),
    expected="VmLck about as large as VmRSS",
    why="Memory that is not locked can be reclaimed; the next access faults: µs, or ms from disk.",
    fix="mlockall(MCL_CURRENT|MCL_FUTURE) in the program; memlock in /etc/security/limits.conf",
    explains=(("fault",),),
    goals=frozenset({Goal.REALTIME, Goal.BENCHMARK}),
    sources="Red Hat real-time guide",
)
def memory_locked(machine: AuditedMachine) -> Verdict:
    """VmLck, RLIMIT_MEMLOCK and major faults of the workload."""
    threads = machine.need_workload()
    pid = threads[0].pid
    fields = status_fields(machine.need(f"/proc/{pid}/status").text)
    locked, resident = _kib(fields.get("VmLck", "")), _kib(fields.get("VmRSS", ""))
    if locked is None or resident is None:
        raise CannotTellError(f"/proc/{pid}/status shows no VmLck")
    status = Reading(f"/proc/{pid}/status", f"VmLck {locked} kB, VmRSS {resident} kB")
    faults = _major_faults(machine, threads)
    if faults:
        cause = f"The program had {faults} major page faults"
        return Verdict(Status.FAIL, cause, (status,), explains=(("fault",),))
    if locked >= _LOCKED_SHARE * resident:
        return passed("The program's memory is locked", status)
    limits = machine.read(f"/proc/{pid}/limits")
    match = re.search(r"(?m)^Max locked memory\s+(\S+)", limits.text)
    limit = Reading(limits.path, match[0] if match else limits.reading.value)
    if match and match[1] == "unlimited":
        cause = "The program's memory is not locked (no mlockall), although its limit allows it"
    else:
        cause = "The program's memory is not locked, and its memlock limit is too low"
    return Verdict(Status.WARN, cause, (status, limit))


def _kib(text: str) -> int | None:
    match = re.fullmatch(r"([0-9]{1,18}) kB", text)
    return int(match[1]) if match else None


def _major_faults(machine: AuditedMachine, threads: tuple[Task, ...]) -> int:
    if machine.window is None:
        return 0
    before, after = machine.window.before.major_faults, machine.window.after.major_faults
    return sum(max(after.get(t.tid, 0) - before.get(t.tid, 0), 0) for t in threads)


@check(
    "C49",
    "program-cpuset",
    question="Does the program's cgroup contain these CPUs and no others?",
    reads=("cpuset.cpus.effective of the program's cgroup (cpuset.effective_cpus with v1)",),
    expected="only watched CPUs",
    why="A cgroup without a CPU keeps the program off it, regardless of taskset.",
    fix="echo LIST > cpuset.cpus of that cgroup",
    explains=(("thread",),),
    sources="cgroup-v2.rst",
)
def program_cpuset(machine: AuditedMachine) -> Verdict:
    """Effective CPUs of the workload's cgroup."""
    pid = machine.need_workload()[0].pid
    for directory in _cgroup_directories(machine, pid, "cpuset"):
        for name in ("cpuset.cpus.effective", "cpuset.effective_cpus"):
            file = machine.read(f"{directory}/{name}")
            cpus = cpu_set(file.text) if file.ok else None
            if not cpus:
                continue
            own = machine.read(f"{directory}/cpuset.cpus")
            fix = write(own, machine.watched) if own.ok and own.text else None
            lacking = [cpu for cpu in machine.cpus if cpu not in cpus]
            if lacking:
                cause = f"The program's cgroup keeps it off {cpu_words(lacking)}"
                return Verdict(Status.FAIL, cause, (file.reading,), remedy=fix, cpus=tuple(lacking))
            if cpus.issubset(machine.cpus):
                return passed("The program's cgroup contains these CPUs only", file.reading)
            cause = "The program's cgroup also contains other CPUs: only its affinity keeps it here"
            return Verdict(Status.WARN, cause, (file.reading,), remedy=fix)
    raise CannotTellError("no cpuset of the program is visible")
