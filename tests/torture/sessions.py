"""One run of noisetop, ended by a signal at a random moment, and what has to hold afterwards."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import noisetop
from tests.kernel.program import PROGRAM
from tests.torture.disturbances import LAST

SIGNALS = tuple(
    getattr(signal, f"SIG{name}")
    for name in ("HUP", "INT", "QUIT", "TERM", "ABRT", "ALRM", "USR1", "SEGV", "KILL")
)
_HANDLED = {signal.SIGHUP, signal.SIGINT, signal.SIGTERM}
"""The others end a program where it stands: what it was writing is left beside its name."""
_PACKAGE = str(Path(noisetop.__file__).parent)
_PATIENCE_S = 40
_STEP_S = 0.1
_LONGEST_S = 2.5
RECORDINGS = (".noisetop", ".json", ".partial")


def commands(chance: random.Random, folder: Path, victim: int) -> list[str]:
    """Any of the commands that trace, with its options."""
    last = str(LAST)
    out = str(folder / f"run.{chance.choice(('noisetop', 'json'))}")
    ring = ["--ring-size", chance.choice(("64", "4096"))]
    more = chance.choice(([], ["--stacks"], ["--faults"], ring))
    return chance.choice(
        (
            ["record", "-c", last, "-o", out, *more],
            ["record", "-p", str(victim), "-o", out, *more],
            ["record", "-o", out, *more, "--", "sh", "-c", "while :; do :; done"],
            ["top", "-c", last, "--json", "-o", out, *more, "0.2"],
            ["top", "-c", last, "--plain", *more, "0.2"],
            ["top", "-p", str(victim), "--json", "0.2"],
            ["diagnose", "-c", last, "-d", "1s", "--json"],
            ["probe", "spin", "-c", last, "-d", "1s", "--json"],
        )
    )


def _is_of_the_interpreter(said: str) -> bool:
    """Whether Ctrl-C met it before Python came to the first line of the program."""
    return said.rstrip().endswith("KeyboardInterrupt") and _PACKAGE not in said


@dataclass(slots=True)
class Run:
    """A process of noisetop in a folder of its own."""

    folder: Path
    arguments: list[str]
    signal: signal.Signals
    delay_s: float
    process: subprocess.Popen[bytes] = field(init=False)
    signalled: bool = False
    """Whether the signal met it alive."""

    @classmethod
    def random(cls, chance: random.Random, folder: Path, victim: int) -> Run:
        """Any command, ended by any signal at any moment."""
        arguments = commands(chance, folder / "out", victim)
        return cls(folder, arguments, chance.choice(SIGNALS), chance.uniform(0, _LONGEST_S))

    def start(self) -> None:
        """With its temporary files and what it says in the folder."""
        for name in ("out", "tmp"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        with (self.folder / "stderr").open("wb") as stderr:
            self.process = subprocess.Popen(
                [PROGRAM, *self.arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                env={**os.environ, "TMPDIR": str(self.folder / "tmp")},
                start_new_session=True,
            )

    def end(self) -> list[str]:
        """Sends the signal, if it still runs, and waits; what is wrong with how it ended."""
        try:
            self.process.wait(self.delay_s)
        except subprocess.TimeoutExpired:
            self.process.send_signal(self.signal)
            self.signalled = True
        found = [] if self.ends() else [f"it did not end in {_PATIENCE_S} s: {self.stuck_in()}"]
        self.kill()
        return found

    def ends(self) -> bool:
        """Waits for its end. Counted in short waits: the clock goes on while this process is
        starved, or the machine stopped by its hypervisor."""
        for _ in range(round(_PATIENCE_S / _STEP_S)):
            try:
                self.process.wait(_STEP_S)
            except subprocess.TimeoutExpired:
                continue
            return True
        return False

    def stuck_in(self) -> str:
        """What its threads are doing in the kernel."""
        told = []
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            with contextlib.suppress(OSError):
                state = (task / "stat").read_text().rpartition(")")[2].split()[0]
                calls = ", ".join((task / "stack").read_text().splitlines()[:8])
                told.append(f"thread {task.name} in state {state}: {calls}")
        return "; ".join(told)

    def kill(self) -> None:
        """It and the command that it ran."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        self.process.wait(_PATIENCE_S)

    def problems(self) -> list[str]:
        """What is wrong with what it said and left behind."""
        said = (self.folder / "stderr").read_text(errors="replace")
        is_traceback = "Traceback" in said and not _is_of_the_interpreter(said)
        found = [f"it said: {said[-2000:]}"] if is_traceback else []
        if self.signal in _HANDLED:
            left = sorted(path.name for path in (self.folder / "tmp").rglob("*"))
            found += [f"temporary files are left: {left}"] if left else []
        return found

    def __str__(self) -> str:
        return (
            f"noisetop {' '.join(self.arguments)}: {self.signal.name} after {self.delay_s:.2f} s, "
            f"exit status {self.process.returncode}"
        )


def unreadable(path: Path) -> str:
    """Why a recording cannot be read; empty: it can, or nothing was recorded yet and it says so."""
    done = subprocess.run(
        [PROGRAM, "report", "--json", path],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if not done.returncode:
        return ""
    says_so = path.suffix == ".partial" and "breaks off before its first event" in done.stderr
    return "" if says_so else f"{path.name} cannot be read: {done.stderr[-2000:]}"
