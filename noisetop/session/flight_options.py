"""Options of the flight recorder, and what they make."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from noisetop.errors import NoisetopError, UsageError
from noisetop.flight_recorder.actions import CONTINUE, TRACE, Action, User, parse_action
from noisetop.flight_recorder.control import FORM, ControlFifo
from noisetop.flight_recorder.recorder import Plan
from noisetop.flight_recorder.worst_folder import BY_COST, COST
from noisetop.recording.moment import SINGLE, TOTAL, WAIT
from noisetop.session.caller import calling_user
from noisetop.session.options import named_victims
from noisetop.text.units import parse_duration

KEEP, AFTER, PERIOD = "10s,256M", "1s", "1s"
WORST_BY = (SINGLE, COST, WAIT, TOTAL)
_SIZE = re.compile(r"(\d{1,6})([KMG])i?B?", re.IGNORECASE)
_FACTORS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_LEAST_BYTES = 1 << 20
_LEAST_PERIOD_NS = 1_000_000


@dataclass(frozen=True, slots=True)
class FlightOptions:
    """What the options ask for."""

    plan: Plan
    worst: int
    """Moments to keep; 0: none by rank."""
    worst_by: str
    single_ns: int
    total_ns: int
    wait_ns: int
    source: str
    """Glob; empty: none."""
    gap_ns: int
    """Of a spinning thread; 0: there is none."""
    on_threshold: tuple[Action, ...]
    on_end: tuple[Action, ...]
    max_files: int
    control: ControlFifo | None

    @property
    def has_threshold(self) -> bool:
        """Whether something ends the run, or is written whenever it happens."""
        sizes = (self.single_ns, self.total_ns, self.wait_ns, self.gap_ns)
        return bool(any(sizes) or self.source)


def add_flight_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares them."""
    group = parser.add_argument_group(
        "flight recorder",
        "keeps the last seconds in memory and writes the moments that matter; each file is an "
        "ordinary recording",
    )
    add_worst_arguments(group, KEEP)
    _add_thresholds(group)
    _add_actions(group)


def add_worst_arguments(group: argparse._ArgumentGroup, keep: str) -> None:
    """Declares what to keep, and of how many moments. ``keep``: the default."""
    group.add_argument(
        "--keep",
        metavar="TIME[,SIZE]",
        type=keep_of,
        help=f"what to keep before a moment; default: {keep}",
    )
    group.add_argument(
        "--after",
        metavar="TIME",
        type=_time("s"),
        help=f"what to keep after a moment; default: {AFTER}",
    )
    group.add_argument(
        "--worst",
        metavar="K",
        type=_count,
        default=0,
        help="keep the K worst moments so far in the folder -o DIR/, with an index.json",
    )
    group.add_argument(
        "--worst-by",
        choices=WORST_BY,
        default=SINGLE,
        help="what orders them: the length of one interval of external noise, its cost, the wait "
        "of a victim, or the cost of all noise in a period of --period; default: %(default)s",
    )
    group.add_argument(
        "--period",
        metavar="TIME",
        type=_time("s"),
        help="of sums; a burst of short interruptions stands out in a short one; default: "
        f"{PERIOD}",
    )


def _add_thresholds(group: argparse._ArgumentGroup) -> None:
    thresholds = (
        (
            "-s",
            "--stop",
            "stop_single",
            "US",
            "us",
            "at an interval of external noise of US µs or more",
        ),
        (
            "-S",
            "--stop-total",
            "stop_total",
            "US",
            "us",
            "at a --period in which a CPU has US µs of external noise or more",
        ),
        ("-T", "--least", "least", "US", "us", "with -S: do not count shorter intervals"),
        (None, "--stop-wait", "stop_wait", "TIME", "s", "when a victim waits so long for its CPU"),
        (
            None,
            "--stop-gap",
            "stop_gap",
            "TIME",
            "s",
            "when a thread that spins on each CPU of -c sees such a gap; it is started for that",
        ),
    )
    for short, name, dest, metavar, unit, about in thresholds:
        stop = "" if name == "--least" else "write and stop "
        names = (short, name) if short else (name,)
        group.add_argument(
            *names, dest=dest, metavar=metavar, type=_time(unit), default=0, help=stop + about
        )
    group.add_argument(
        "--stop-source",
        metavar="GLOB",
        default="",
        help="write and stop at an interruption by such a source, as in 'ipi/*'",
    )


def _add_actions(group: argparse._ArgumentGroup) -> None:
    actions = "trace[,file=NAME], signal,num=N,pid=PID, shell,command=…"
    for name, when in (
        ("--on-threshold", f"what to do at a moment, in order: {actions} or continue"),
        ("--on-end", "the same at the end of the run, but for continue"),
    ):
        group.add_argument(
            name,
            metavar="ACTION",
            type=parse_action,
            action="append",
            default=[],
            help=when,
        )
    group.add_argument(
        "--hold-off",
        metavar="TIME",
        type=_time("s"),
        help="pass over what happens so soon after a moment that was written; default: 0",
    )
    group.add_argument(
        "--max-files",
        metavar="N",
        type=_count,
        default=0,
        help="remove the oldest file of this run beyond so many; default: never",
    )
    group.add_argument(
        "--control",
        metavar=FORM,
        type=ControlFifo.parse,
        help="take snapshot, enable, disable, stop, ping and mark NAME from a FIFO",
    )


def add_daemon_argument(parser: argparse.ArgumentParser) -> None:
    """``--daemon``."""
    parser.add_argument(
        "-D",
        "--daemon",
        action="store_true",
        help="go on in the background, with a PID file and a log beside the output",
    )


def flight_options(args: argparse.Namespace) -> FlightOptions | None:
    """None: an ordinary recording is asked for. Raises UsageError."""
    on_threshold, on_end = tuple(args.on_threshold), tuple(args.on_end)
    sizes = (args.stop_single, args.stop_total, args.stop_wait, args.stop_gap)
    thresholds = (*sizes, args.stop_source)
    asked = (args.keep, args.worst, args.control, *thresholds, *on_end)
    if not any(asked):
        _refuse_lone(args, on_threshold)
        return None
    if args.worst and any(thresholds):
        raise UsageError("--worst takes no threshold: leave out --worst, or -s, -S and --stop-…")
    if on_threshold and not any(thresholds):
        raise UsageError("--on-threshold goes with -s, -S or --stop-…")
    if args.stop_gap and (args.cpus is None or named_victims(args) or args.workload):
        raise UsageError("--stop-gap spins on CPUs: give them with -c, and no program to watch")
    if args.least and not args.stop_total:
        raise UsageError("-T goes with -S: it says what counts in the sum")
    if any(one.kind == CONTINUE for one in on_threshold[:-1]):
        raise UsageError("--on-threshold continue is the last action: what follows is not done")
    if any(one.kind == CONTINUE for one in on_end):
        raise UsageError("--on-end takes trace, signal and shell: the run is over")
    if args.limits:
        raise UsageError("--fail-on judges a whole recording: leave it out, or --keep and the like")
    return _options(args, on_threshold or (Action(TRACE),), on_end)


def _refuse_lone(args: argparse.Namespace, on_threshold: Sequence[Action]) -> None:
    """Raises UsageError for options that do nothing by themselves."""
    lone = {
        "--after": args.after,
        "--period": args.period,
        "--on-threshold": on_threshold,
        "-T": args.least,
        "--hold-off": args.hold_off,
        "--max-files": args.max_files,
    }
    for name, given in lone.items():
        if given:
            raise UsageError(f"{name} goes with the flight recorder: add --keep, --worst or -s")


def _options(
    args: argparse.Namespace, on_threshold: tuple[Action, ...], on_end: tuple[Action, ...]
) -> FlightOptions:
    keep_ns, keep_bytes = args.keep or keep_of(KEEP)
    return FlightOptions(
        plan=Plan(
            keep_ns=keep_ns,
            keep_bytes=keep_bytes,
            after_ns=args.after if args.after is not None else parse_duration(AFTER),
            hold_off_ns=args.hold_off or 0,
            least_ns=args.least,
            period_ns=period_of(args, sums=bool(args.stop_total)),
            by_rank=bool(args.worst),
            by_cost=bool(args.worst) and args.worst_by in BY_COST,
        ),
        worst=args.worst,
        worst_by=args.worst_by,
        single_ns=args.stop_single,
        total_ns=args.stop_total,
        wait_ns=args.stop_wait,
        source=args.stop_source,
        gap_ns=args.stop_gap,
        on_threshold=on_threshold,
        on_end=on_end,
        max_files=args.max_files,
        control=args.control,
    )


def period_of(args: argparse.Namespace, *, sums: bool = False) -> int:
    """Of sums, in ns. Raises UsageError where there are none, or it is too short."""
    if args.period is None:
        return parse_duration(PERIOD)
    if not (sums or (args.worst and args.worst_by == TOTAL)):
        raise UsageError("--period goes with -S or --worst-by interval")
    if args.period < _LEAST_PERIOD_NS:
        raise UsageError("--period takes 1ms or more")
    return int(args.period)


def user_for_commands() -> User:
    """The user who called sudo, else who runs this process."""
    try:
        caller = calling_user(os.environ)
    except NoisetopError:
        return User(os.getuid(), os.getgid(), tuple(os.getgroups()), dict(os.environ))
    groups = tuple(os.getgrouplist(caller.name, caller.gid))
    return User(caller.uid, caller.gid, groups, caller.environment(os.environ))


def folder_of(path: Path) -> Path:
    """The folder of --worst. Raises UsageError where the output is a file."""
    if path.suffix or (path.exists() and not path.is_dir()):
        raise UsageError("--worst writes into a folder: give one with -o DIR/")
    return path


def keep_of(text: str) -> tuple[int, int]:
    """Time in ns and bytes. Raises UsageError."""
    duration, _, size = text.partition(",")
    match = _SIZE.fullmatch(size or KEEP.partition(",")[2])
    size_bytes = int(match[1]) * _FACTORS[match[2].upper()] if match else 0
    if size_bytes < _LEAST_BYTES:
        raise UsageError(f"--keep takes a time and a size of 1M or more, as in {KEEP}")
    return parse_duration(duration), size_bytes


def _time(unit: str) -> Callable[[str], int]:
    def parse(text: str) -> int:
        return 0 if text.strip() == "0" else parse_duration(text, unit)

    return parse


def _count(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 10_000:
        raise UsageError(f"'{text}' is no number of files: write 1 to 10000")
    return int(text)
