"""Options that say what to watch, shared by every verb that traces."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path

from noisetop.counters.left_out import CHEAP, LOCAL
from noisetop.errors import UsageError
from noisetop.machine import affinity, system
from noisetop.machine.files import Files
from noisetop.session.victims import given_victim, process_target, thread_target
from noisetop.text.cpu_list import format_cpu_list
from noisetop.text.units import parse_duration
from noisetop.tracing.backend import BACKENDS
from noisetop.tracing.program_sets import ProgramSet, program_set
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import RING_RECORDS

_EVENT_BYTES = 64


def add_run_arguments(parser: argparse.ArgumentParser, *, default_duration: str) -> None:
    """Options of a traced run: what to watch, how the tool itself runs, and how long.

    ``default_duration`` completes the help of -d: what ends a run without it.
    """
    _add_target(parser)
    _add_tool(parser)
    # The command line fills it with what stands after --.
    parser.set_defaults(workload=[])
    parser.add_argument(
        "-d",
        "--duration",
        metavar="TIME",
        help=f"how long, as in 500ms, 10s, 1m; default: {default_duration}",
    )


def _add_target(parser: argparse.ArgumentParser) -> None:
    what = parser.add_argument_group("target")
    what.add_argument(
        "-c", "--cpus", metavar="LIST", help="CPUs, as in 2-3,6; default: isolated CPUs, else all"
    )
    what.add_argument("-C", "--cpu", dest="cpus", help=argparse.SUPPRESS)
    what.add_argument(
        "-p",
        "--pid",
        metavar="PID[,PID]",
        help="processes with all their threads, by PID or name",
    )
    what.add_argument(
        "-t",
        "--tid",
        metavar="TID[,TID]",
        help="single threads, also of the kernel, by TID or name",
    )
    what.add_argument("--follow", action="store_true", help="with -p: also the child processes")
    what.add_argument(
        "--cgroup", metavar="PATH", type=Path, help="all processes of a control group (cgroup v2)"
    )
    what.add_argument(
        "--victim",
        metavar="PID|NAME",
        help="with -c: the program, or kernel thread, that the CPUs are there for; default: a task "
        "that is bound to the CPU alone, else the one that uses most of its time, else nobody",
    )
    what.add_argument(
        "--faults",
        action="store_true",
        help="also time page faults of the target, counted apart from noise; adds 1 µs per fault",
    )
    what.add_argument(
        "--entries",
        action="store_true",
        help="also time entries into the kernel other than system calls, on CPUs of nohz_full=; "
        "adds 0.2 µs per entry and per system call",
    )


def _add_tool(parser: argparse.ArgumentParser) -> None:
    tool = parser.add_argument_group("tracing")
    tool.add_argument(
        "--as-user",
        action="store_true",
        help="run the command after -- as the user who called sudo; default: as root, as the "
        "tracing itself",
    )
    tool.add_argument(
        "-H",
        "--housekeeping",
        metavar="LIST",
        help="CPUs for noisetop's own threads; default: CPUs that are not watched",
    )
    tool.add_argument("--house-keeping", dest="housekeeping", help=argparse.SUPPRESS)
    tool.add_argument(
        "--stacks",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="record the stacks, of kernel and program, of who sends an interrupt or arms a timer, "
        "and where victims were that lost 50 µs or more; adds 3 µs per interrupt sent",
    )
    tool.add_argument(
        "--local",
        action="store_true",
        help="attach nothing that runs on unwatched CPUs only to explain: who sends interrupts, "
        "arms timers, queues work and raises softirqs is unknown",
    )
    tool.add_argument(
        "--cheap",
        action="store_true",
        help="leave out the functions that interrupts and softirqs run, and who arms timers: they "
        "are told by vector and number, an IPI by its function where only one was sent",
    )
    tool.add_argument(
        "--budget",
        metavar="TIME",
        type=_budget,
        default=0,
        help="add at most TIME to an interruption, as in 300ns: leaves out functions of timers, "
        "then all that --cheap does, as far as a measurement at the start says that it takes",
    )
    tool.add_argument(
        "--ring-size",
        metavar="KIB",
        type=int,
        default=RING_RECORDS * _EVENT_BYTES // 1024,
        help="event buffer of each CPU, rounded down to a power of two; default: %(default)s",
    )
    tool.add_argument(
        "--backend",
        choices=BACKENDS,
        default="auto",
        help="program loader: libbpf with the kernel's BTF, or BCC with kernel headers; "
        "default: libbpf if the kernel has BTF",
    )


def add_net_argument(parser: argparse.ArgumentParser) -> None:
    """``--net``, of the verbs that rank noise."""
    parser.add_argument(
        "--net",
        action="store_true",
        help="rank by exact net time; default: by the estimated cost, where it is calibrated",
    )


def _budget(text: str) -> int:
    """In ns. Raises UsageError."""
    return parse_duration(text, default_unit="ns")


def reductions_of(args: argparse.Namespace) -> tuple[str, ...]:
    """The options that leave out something of the complete set. Raises UsageError."""
    if args.cheap and args.budget:
        raise UsageError("--cheap is the least that --budget chooses: give one of them")
    return tuple(option for option in (LOCAL, CHEAP) if getattr(args, option))


def programs_of(args: argparse.Namespace) -> ProgramSet:
    """What the options leave of the complete set; a budget is not among them. Raises UsageError."""
    return program_set(reductions_of(args))


def ring_records(args: argparse.Namespace) -> int:
    """Records per CPU that --ring-size asks for. Raises UsageError."""
    kibibytes: int = args.ring_size
    records = kibibytes * 1024 // _EVENT_BYTES
    if not 16 <= records <= 1 << 22:
        raise UsageError("--ring-size takes 1 to 262144 KiB")
    return 1 << (records.bit_length() - 1)


def target_of(args: argparse.Namespace) -> Target:
    """What the options ask to watch. Raises UsageError."""
    if len(given := named_victims(args)) > 1:
        raise UsageError(f"give one of -p, -t and --cgroup, not {' and '.join(given)}")
    if args.follow and args.pid is None:
        raise UsageError("--follow goes with -p")
    if not given:
        if args.cpus is not None:
            cpus = _cpus_of(args)
        else:
            cpus = system.isolated_cpus() or system.online_cpus()
        victim = given_victim(args.victim, Files()) if args.victim is not None else 0
        return replace(cpu_target(cpus), given_victim=victim)
    if args.victim is not None:
        raise UsageError(f"--victim goes with -c, not with {given[0]}")
    cpus = system.online_cpus() if args.cpus is None else _cpus_of(args)
    if args.cgroup is not None:
        return cgroup_target(args.cgroup, cpus)
    if args.tid is not None:
        return thread_target(args.tid, cpus, Files())
    return process_target(args.pid, cpus, Files(), follow=args.follow)


def named_victims(args: argparse.Namespace) -> list[str]:
    """The options given that say who the victims are."""
    values = {"-p": args.pid, "-t": args.tid, "--cgroup": args.cgroup}
    return [option for option, value in values.items() if value is not None]


def _cpus_of(args: argparse.Namespace) -> tuple[int, ...]:
    return system.cpus_from_list(args.cpus)


def cpu_target(cpus: tuple[int, ...]) -> Target:
    """CPU mode."""
    noun = "CPU" if len(cpus) == 1 else "CPUs"
    return Target(cpus, title=f"{noun} {format_cpu_list(cpus)}")


def cgroup_target(path: Path, cpus: tuple[int, ...]) -> Target:
    """The processes of a control group and of those below it. Raises UsageError.

    ``path`` is a folder, or a name below where the cgroup2 file system is mounted.
    """
    root = system.cgroup2_root()
    if root is None:
        raise UsageError("no cgroup v2 file system is mounted: see /proc/mounts")
    folder = (root / str(path).lstrip("/")) if not path.is_dir() else path.absolute()
    if not folder.is_dir() or not folder.is_relative_to(root):
        raise UsageError(f"{path} is no control group: see {root}")
    level = len(folder.relative_to(root).parts)
    # The number of a control group is that of its folder: kernfs, on 64 bit machines.
    return Target(cpus, title=f"cgroup {path}", cgroup_id=folder.stat().st_ino, cgroup_level=level)


def command_target(pid: int, name: str, cpus: tuple[int, ...]) -> Target:
    """A process that we start, with its children."""
    return Target(cpus, pid=pid, title=f"PID {pid} ({name})", follow=True)


def housekeeping_of(args: argparse.Namespace, target: Target) -> tuple[int, ...]:
    """CPUs for our own threads, perhaps none. Raises UsageError."""
    if args.housekeeping is not None:
        return system.cpus_from_list(args.housekeeping)
    return affinity.choose(victim_cpus(target))


def victim_cpus(target: Target) -> set[int]:
    """CPUs on which victims may run."""
    if others := [number for number in target.tasks if number != os.getpid()]:
        allowed = affinity.allowed_cpus_of_thread if target.tids else affinity.allowed_cpus_of
        return set().union(*map(allowed, others))
    return set(target.cpus)


def unwatched_housekeeping(housekeeping: tuple[int, ...], target: Target) -> tuple[int, ...]:
    """The housekeeping CPUs on which no victim runs, whatever -H says."""
    watched = victim_cpus(target)
    return tuple(cpu for cpu in housekeeping if cpu not in watched)


def housekeeping_warning(housekeeping: tuple[int, ...], target: Target) -> str:
    """Why our own threads perturb the measurement, and what to type; empty: they do not.

    A process that may run on all CPUs leaves none, however few of them -c names.
    """
    if not housekeeping:
        advice = "give one with -H LIST"
        if len(system.present_cpus()) == 1:
            advice = "this machine has one CPU"
        elif not target.tasks:
            advice = f"watch fewer with -c, or {advice}"
        return f"no housekeeping CPU: noisetop perturbs the measurement: {advice}"
    if not target.tasks and not set(housekeeping).isdisjoint(target.cpus):
        return "housekeeping on a watched CPU perturbs the measurement: choose others with -H"
    return ""
