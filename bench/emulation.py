"""Tracers beside events.c in an emulated machine whose time-stamp counter counts instructions.

QEMU's icount gives each instruction of any of its CPUs one nanosecond of virtual time, and the
counter follows that. So what is counted is exact whatever else this machine does, and has nothing
of caches, branches and hypervisors.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bench.c_program import compiled
from noisetop.errors import NoisetopError
from tests.guests import emulator, machine, packages
from tests.guests.catalogue import EMULATION, KERNELS

SOURCE = Path(__file__).with_name("events.c")
FOLDERS = machine.PROJECT / "build" / "bench"
"""A guest has this machine's root file system, read-only; in one of these it may write."""
CPU, SENDER = 1, 0
NOTHING = "nothing"
"""What it is called when no tracer runs."""
_ICOUNT = "-icount shift=0"
_MEMORY = "2G"
_BEGIN_S, _PATIENCE_S, _POLL_S = 180, 1800, 0.5
_TRIES = 3
"""An emulator may stand still while it boots."""
_NAME = re.compile(r"[^a-z]+")


@dataclass(frozen=True, slots=True)
class Traced:
    """A tracer to start."""

    name: str
    command: tuple[str, ...]
    ready: str
    """What it says when it traces."""

    @property
    def file(self) -> str:
        """What its files are called."""
        return _NAME.sub("-", self.name.lower())


@dataclass(frozen=True, slots=True)
class Counted:
    """What a guest counted."""

    kernel: str
    instructions: dict[str, dict[str, list[float]]]
    """By tracer and kind of event: instructions for each event, by batch."""


def obstacle() -> str:
    """Why no machine can be emulated here, and what to type; empty: one can."""
    try:
        machine.check_tools()
    except packages.UnavailableError as why:
        return str(why)
    return ""


@contextmanager
def new_folder() -> Iterator[Path]:
    """For one guest; it stays where something goes wrong, as what the guest said is there."""
    FOLDERS.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=FOLDERS))
    yield folder
    shutil.rmtree(folder)


def count(folder: Path, tracers: Sequence[Traced]) -> Counted:
    """Boots the newest kernel and makes events there, without a tracer and beside each one. Raises
    NoisetopError."""
    kernel = next(one for one in KERNELS if one.name == "newest")
    program = compiled(SOURCE, folder)
    try:
        image = packages.fetch(kernel.package, kernel.suites)
        words = _words(folder, image)
    except (OSError, subprocess.SubprocessError, packages.UnavailableError) as why:
        raise NoisetopError(f"no kernel to count instructions in: {why}") from why
    (folder / "script").write_text(script(folder, program, tracers))
    for _ in range(_TRIES):
        for name in ("begun", "ended", NOTHING, *(one.file for one in tracers)):
            (folder / name).unlink(missing_ok=True)
        _boot(folder, words)
        if (folder / "begun").exists():
            break
    if not (folder / "ended").exists():
        raise NoisetopError(f"the guest did not come to its end: see {folder}")
    files = {NOTHING: NOTHING, **{one.name: one.file for one in tracers}}
    found = {name: parse((folder / file).read_text()) for name, file in files.items()}
    return Counted(image.version, found)


def script(folder: Path, program: Path, tracers: Sequence[Traced]) -> str:
    """What the guest runs. A tracer that ends before it is told to leaves no file of counts."""
    events = f"{shlex.quote(str(program))} {CPU} {SENDER}"
    lines = [
        f"cd {shlex.quote(str(folder))} || exit 1",
        ": >begun",
        f"{events} >{NOTHING} || exit 1",
    ]
    for one in tracers:
        lines += [
            f"{shlex.join(one.command)} >{one.file}.told 2>&1 &",
            "pid=$!",
            f"until grep -q {shlex.quote(one.ready)} {one.file}.told; do",
            "kill -0 $pid || exit 1",
            "sleep 0.1",
            "done",
            f"{events} >{one.file} && kill -TERM $pid || exit 1",
            "wait $pid",
        ]
    return "\n".join([*lines, ": >ended", ""])


def parse(text: str) -> dict[str, list[float]]:
    """What events.c wrote: ticks for each event, by kind and batch."""
    lines = [line.split() for line in text.splitlines()]
    return {kind: [float(one) for one in batches] for kind, *batches in lines}


def _words(folder: Path, image: packages.Image) -> list[str | Path]:
    return [
        *("nice", "-n", "19", machine.VNG, *emulator.find().options(accelerated=False)),
        *(f"--qemu-opts={_ICOUNT}", "--verbose", "--force-9p", "--run", image.path, "--cpus", "2"),
        *("--memory", _MEMORY, "--rwdir", folder, "--append", " ".join(EMULATION), "--"),
        f"sh {folder / 'script'}",
    ]


def _boot(folder: Path, words: Sequence[str | Path]) -> None:
    """Until the guest ends, or does not begin in time; it is ended with all that it started."""
    environment: Mapping[str, str] = {
        **os.environ,
        "PATH": f"{machine.VNG.parent}:{os.environ.get('PATH', '')}",
    }
    with (folder / "console").open("wb") as console:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
            start_new_session=True,
            env=environment,
            cwd=machine.PROJECT,
        )
        try:
            began = time.monotonic()
            while process.poll() is None:
                has_begun = (folder / "begun").exists()
                if time.monotonic() - began > (_PATIENCE_S if has_begun else _BEGIN_S):
                    break
                time.sleep(_POLL_S)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
