"""``noisetop diagnose``: observed noise, its causes and their remedies."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from noisetop.checked_json import sealed
from noisetop.checks import AuditedMachine, CheckResult, run_checks
from noisetop.command_line.command import Example
from noisetop.diagnosis import Diagnosis, diagnose, document, page, saved
from noisetop.diagnosis.evidence import Realtime, evidence_of
from noisetop.errors import NoisetopError, UsageError
from noisetop.machine import affinity
from noisetop.output import Output, check_output
from noisetop.recording.open import open_recording
from noisetop.recording.recording import Recording
from noisetop.session.notice import notice
from noisetop.session.options import add_net_argument, add_run_arguments, named_victims
from noisetop.session.temporary import temporary_folder
from noisetop.session.traced_run import TracedRun
from noisetop.summary.recorded import check_victim, say_victim
from noisetop.text.terminal_output import add_pager_argument, print_lines
from noisetop.tracing.capabilities import AUDIT, FILES, raised
from noisetop.tracing.later_steps import LaterSteps
from noisetop.version import version

NAME = "diagnose"
HELP = "find the causes of noise and their remedies"
DESCRIPTION = (
    "Matches the observed noise with known causes. For each it prints what it costs, the "
    "evidence, the remedy with its undo command, and the confidence. FILE is a recording; "
    "without one it traces the target now."
)
EXAMPLES = (
    Example("noisetop diagnose -c 2-3 -d 30s", "trace two CPUs for 30 seconds and diagnose them"),
    Example("noisetop diagnose noise.noisetop", "diagnose a recording"),
    Example(
        "noisetop diagnose -c 2-3 --save before.json",
        "keep the diagnosis, to compare a later one with it",
    ),
    Example(
        "noisetop diagnose -c 2-3 --against before.json",
        "show which causes are resolved, remaining and new",
    ),
)

_DEFAULT_DURATION = "10s"
_NARROWEST, _WIDEST = 60, 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument(
        "file",
        metavar="FILE",
        type=Path,
        nargs="?",
        help=f"a recording or a trace of noisetop; default: trace now for {_DEFAULT_DURATION}",
    )
    add_run_arguments(
        parser, default_duration=f"{_DEFAULT_DURATION}, or until the command after -- ends"
    )
    add_net_argument(parser)
    # Without the stacks many a sender is known but not what it was doing.
    parser.set_defaults(stacks=True)
    parser.add_argument(
        "--top", metavar="N", type=int, default=10, help="findings to show; default: %(default)s"
    )
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="details and evidence of all findings that are shown, not only of the first "
        f"{page.DETAILED}",
    )
    parser.add_argument(
        "--save", metavar="FILE", type=Path, help="save the diagnosis for --against"
    )
    parser.add_argument("--force", action="store_true", help="overwrite the file of --save")
    parser.add_argument(
        "--against",
        metavar="FILE",
        type=Path,
        help="show resolved, remaining and new causes since --save",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    add_pager_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the page; with a command after ``--`` its exit status. Raises NoisetopError."""
    output = _checked(args)
    before = saved.load(args.against) if args.against else None
    status = 0
    if args.file is not None:
        recording = open_recording(args.file)
        say_victim(recording, args.victim)
        title = str(args.file)
        diagnosis, audit = _judge(recording, by_net=args.net)
        check_victim(diagnosis.evidence.cpu_victims, args.victim)
    else:
        with temporary_folder() as folder:
            # Programs that end meanwhile are known from before, those that began from after.
            realtime = Realtime.of(AuditedMachine())
            recording, status = _trace(args, folder / "live.noisetop")
            title = str(recording.metadata.get("target") or "") if named_victims(args) else ""
            pid = int(recording.metadata["pid"]) or None if args.pid else None
            diagnosis, audit = _judge(recording, realtime=realtime, pid=pid, by_net=args.net)
    changes = saved.compare(before, saved.summary_of(diagnosis)) if before else None
    if output:
        _save(diagnosis, output)
    _print(args, diagnosis, audit, title, changes)
    return status


def _save(diagnosis: Diagnosis, output: Output) -> None:
    """Keeps a diagnosis for --against. Raises NoisetopError."""
    with raised(FILES), output.opened() as out:
        document = json.dumps(sealed(saved.as_saved(diagnosis, version())), indent=2)
        out.write(document.encode() + b"\n")


def _print(
    args: argparse.Namespace,
    diagnosis: Diagnosis,
    audit: Sequence[CheckResult],
    title: str,
    changes: Sequence[saved.Change] | None,
) -> None:
    """The page or its JSON."""
    if args.json:
        sys.stdout.write(
            document.as_json(diagnosis, audit, version=version(), title=title, changes=changes)
        )
        return
    columns = shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else 80
    width = max(_NARROWEST, min(_WIDEST, columns))
    lines = page.page_lines(
        diagnosis,
        audit,
        title=title,
        width=width,
        top=args.top,
        verbose=args.verbose,
        changes=changes,
    )
    print_lines(lines, pager=args.pager)


def _checked(args: argparse.Namespace) -> Output | None:
    """Where --save writes, if it is given. Raises UsageError for options that cannot be."""
    targets = (args.cpus, args.duration, args.housekeeping)
    asked = args.workload or named_victims(args) or any(value is not None for value in targets)
    if args.file is not None and asked:
        raise UsageError("give a FILE, or what to watch now, not both")
    if args.top < 1:
        raise UsageError("--top takes a number above 0")
    return check_output(args.save, force=args.force) if args.save else None


def _trace(args: argparse.Namespace, path: Path) -> tuple[Recording, int]:
    """Traces into a file, and the exit status of the command where there is one."""
    if args.duration is None and not args.workload:
        args.duration = _DEFAULT_DURATION
    later = LaterSteps(audit=True, folders=(args.save.parent,) if args.save else ())
    with TracedRun(args, output=path, in_lasting_folder=False, later=later) as run:
        with run.tracing() as tracer:
            notice(f"tracing {run.target.title}")
            run.wait(tracer)
        with raised(FILES):
            recording = open_recording(path)
        return recording, run.status()


def _judge(
    recording: Recording,
    *,
    realtime: Realtime | None = None,
    pid: int | None = None,
    by_net: bool = False,
) -> tuple[Diagnosis, Sequence[CheckResult]]:
    """The diagnosis, and the audit of the machine where it is this one.

    ``realtime``: what had real-time priority before the recording; None: not known.
    """
    with raised(AUDIT):
        return _judged(recording, realtime, pid, by_net)


def _judged(
    recording: Recording, realtime: Realtime | None, pid: int | None, by_net: bool
) -> tuple[Diagnosis, Sequence[CheckResult]]:
    if by_net:
        recording.rank_by_net()
    machine = AuditedMachine(cpus=recording.cpus, pid=pid) if _made_here(recording) else None
    if machine is not None:
        _step_aside(recording.cpus)
    if realtime is not None and machine is not None:
        realtime |= Realtime.of(machine) or Realtime()
    evidence = evidence_of(
        recording,
        online=machine.online if machine is not None else (),
        realtime=realtime,
        machine=machine,
    )
    audit = run_checks(machine) if machine is not None else ()
    return diagnose(evidence), audit


def _made_here(recording: Recording) -> bool:
    """Whether the recording is of this machine and of the kernel that runs now."""
    kernel = os.uname()
    known = ("host", kernel.nodename), ("kernel", kernel.release), ("kernel_build", kernel.version)
    return all(recording.metadata.get(name) == value for name, value in known)


def _step_aside(cpus: tuple[int, ...]) -> None:
    """Binds this process to other CPUs: files must not be read where the noise was measured."""
    # An unprivileged container may forbid even this; then the reads run anywhere.
    with suppress(PermissionError, NoisetopError):
        if others := affinity.choose(cpus):
            affinity.bind(others)
