"""``noisetop diagnose``: observed noise, its causes and their remedies."""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from noisetop import housekeeping
from noisetop.capture import Capture
from noisetop.checks import CheckResult, Machine, run_checks
from noisetop.commands._session import Session, add_session_arguments
from noisetop.diagnosis import Diagnosis, diagnose, page, saved
from noisetop.diagnosis.evidence import evidence_of
from noisetop.errors import NoisetopError, UsageError
from noisetop.open_recording import open_recording
from noisetop.output import check_output, output_file
from noisetop.recording import Recording
from noisetop.tracer import Tracer
from noisetop.version import version

NAME = "diagnose"
HELP = "observed noise, its causes and their remedies"

_DEFAULT_DURATION = "10s"
_CHECK_INTERVAL_NS = 500_000_000
_NARROWEST, _WIDEST = 60, 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument(
        "file",
        metavar="FILE",
        type=Path,
        nargs="?",
        help=f"a recording or a trace of noisetop; default: trace now, for {_DEFAULT_DURATION}",
    )
    add_session_arguments(parser)
    # Without the stacks many a sender is known but not what it was doing.
    parser.set_defaults(stacks=True)
    parser.add_argument(
        "--top", metavar="N", type=int, default=10, help="findings to show; default: %(default)s"
    )
    parser.add_argument("--save", metavar="FILE", type=Path, help="keep it for --against")
    parser.add_argument("--force", action="store_true", help="overwrite what --save names")
    parser.add_argument(
        "--against", metavar="FILE", type=Path, help="what went, stayed or came since --save"
    )
    parser.add_argument("--json", action="store_true", help="write JSON")


def run(args: argparse.Namespace) -> int:
    """Prints the page; with a command after ``--`` its exit status. Raises NoisetopError."""
    _check(args)
    before = saved.load(args.against) if args.against else None
    status = 0
    if args.file is not None:
        recording = open_recording(args.file)
        title = str(args.file)
        diagnosis, audit = _judge(recording)
    else:
        with tempfile.TemporaryDirectory(prefix="noisetop-") as folder:
            # Programs that end meanwhile are known from before, those that began from after.
            realtime = _realtime(Machine())
            recording, status = _trace(args, Path(folder) / "live.noisetop")
            title = "" if args.pid is None else str(recording.metadata.get("target") or "")
            diagnosis, audit = _judge(recording, realtime=realtime, pid=args.pid)
    changes = saved.compare(before, saved.summary_of(diagnosis)) if before else None
    _write(args, diagnosis, audit, title, changes)
    return status


def _write(
    args: argparse.Namespace,
    diagnosis: Diagnosis,
    audit: Sequence[CheckResult],
    title: str,
    changes: Sequence[saved.Change] | None,
) -> None:
    """What --save keeps, then the page or its JSON."""
    if args.save:
        with output_file(args.save, force=args.force) as out:
            document = json.dumps(saved.as_saved(diagnosis, version()), indent=2)
            out.write(document.encode() + b"\n")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for a locale without µ
    if args.json:
        sys.stdout.write(
            page.as_json(diagnosis, audit, version=version(), title=title, changes=changes)
        )
        return
    columns = shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else 80
    width = max(_NARROWEST, min(_WIDEST, columns))
    sys.stdout.write(
        page.text(diagnosis, audit, title=title, width=width, top=args.top, changes=changes)
    )


def _check(args: argparse.Namespace) -> None:
    targets = (args.cpus, args.pid, args.cgroup, args.duration, args.house_keeping)
    if args.file is not None and (args.workload or any(value is not None for value in targets)):
        raise UsageError("give a FILE, or what to watch now, not both")
    if args.top < 1:
        raise UsageError("--top takes a number above 0")
    if args.save:
        check_output(args.save, force=args.force)


def _trace(args: argparse.Namespace, path: Path) -> tuple[Recording, int]:
    """Traces into a file, and the exit status of the command where there is one."""
    if args.duration is None and not args.workload:
        args.duration = _DEFAULT_DURATION
    with Session(args) as session:
        capture = Capture(path, force=False)
        capture.create()
        try:
            tracer = session.tracer(spool_fd=capture.fd, keep_batches=False)
            with tracer:
                capture.begin(tracer)
                session.begin()
                print(f"noisetop: tracing {session.target.title}", file=sys.stderr)
                _wait(session, tracer)
                tracer.close_books()
                capture.end(tracer, session.stopper.reason)
        finally:
            capture.close()
        capture.publish()
        return open_recording(path), session.status()


def _wait(session: Session, tracer: Tracer) -> None:
    while not session.stopper.wait_until(time.monotonic_ns() + _CHECK_INTERVAL_NS):
        if tracer.spool_errno:
            session.stopper.stop(os.strerror(tracer.spool_errno))


def _judge(
    recording: Recording, *, realtime: frozenset[str] | None = None, pid: int | None = None
) -> tuple[Diagnosis, Sequence[CheckResult]]:
    """The diagnosis, and the audit of the machine where it is this one.

    ``realtime``: programs with real-time priority before the recording; None: not known.
    """
    machine = Machine(cpus=recording.cpus, pid=pid) if _made_here(recording) else None
    if machine is not None:
        _step_aside(recording.cpus)
    if realtime is not None and machine is not None:
        realtime |= _realtime(machine) or frozenset()
    evidence = evidence_of(
        recording,
        online=machine.online if machine is not None else (),
        realtime=realtime,
        machine=machine,
    )
    audit = run_checks(machine) if machine is not None else ()
    return diagnose(evidence), audit


def _realtime(machine: Machine) -> frozenset[str] | None:
    """Names of programs with real-time priority now; None where they are hidden."""
    if machine.tasks_hidden:
        return None
    return frozenset(task.comm for task in machine.tasks if task.realtime and not task.kernel)


def _made_here(recording: Recording) -> bool:
    """Whether the recording is of this machine and of the kernel that runs now."""
    kernel = os.uname()
    known = ("host", kernel.nodename), ("kernel", kernel.release), ("kernel_build", kernel.version)
    return all(recording.metadata.get(name) == value for name, value in known)


def _step_aside(watched: tuple[int, ...]) -> None:
    """Reading of files must not run where the noise was measured."""
    # An unprivileged container may forbid even this; then the reads run anywhere.
    with suppress(PermissionError, NoisetopError):
        if others := housekeeping.choose(watched):
            housekeeping.bind(others)
