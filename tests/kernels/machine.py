"""Boots a kernel over this root file system in QEMU, and runs one command in it."""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.kernels.catalogue import EMULATED_CPU, EMULATION, EMULATOR_FAILS
from tests.kernels.packages import Image, UnavailableError

PROJECT = Path(__file__).parents[2]
VNG = Path(sys.executable).with_name("vng")
KVM = Path("/dev/kvm")
KVM_PATIENCE_S = 20
"""A boot with KVM takes two seconds where it works; on some machines the guest hangs."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a command in a guest."""

    status: int | None
    """Of the command; None when the guest did not come to its end."""
    output: str
    """stdout and stderr of the command."""
    console: str
    """What the guest's kernel said."""
    seconds: float

    def told(self, lines: int = 40) -> str:
        """The end of what was said, for the message of a failure."""
        text = self.output if self.status is not None else f"{self.console}\n{self.output}"
        return "\n".join(text.splitlines()[-lines:])


def check_tools() -> None:
    """Raises UnavailableError when no machine can be emulated here."""
    if not shutil.which("qemu-system-x86_64"):
        raise UnavailableError("qemu-system-x86_64 is not installed: make test-kernels installs it")
    if not VNG.exists():
        raise UnavailableError("virtme-ng is not installed: make test-kernels installs it")
    if os.uname().machine != "x86_64":
        raise UnavailableError("these kernels run over an x86-64 root file system only")


def boot(
    image: Image,
    folder: Path,
    command: str,
    *,
    arguments: Sequence[str] = (),
    cpus: int = 4,
    memory: str = "2G",
    patience_s: float = 300,
    kvm: bool | None = None,
) -> Outcome:
    """Runs a shell command as root in a guest that has this machine's root file system, read-only.

    The command may write to /tmp, which is forgotten, and to ``folder``, which is not.
    ``arguments`` go to the kernel's command line. ``kvm`` is whatever works when it is None.
    """
    check_tools()
    folder.mkdir(parents=True, exist_ok=True)
    output, status = folder / "output", folder / "status"
    status.unlink(missing_ok=True)
    output.write_text("")
    script = folder / "command"
    project, out, end = (shlex.quote(str(path)) for path in (PROJECT, output, status))
    script.write_text(
        f"cd {project}\n( {command}\n) >{out} 2>&1 </dev/null\necho $? >{end}\nsync\n"
    )
    accelerated = kvm_works(image) if kvm is None else kvm
    arguments = (*arguments, *(() if accelerated else EMULATION))
    words: list[str | Path] = [
        VNG, "--verbose", "--run", image.path, "--cpus", str(cpus), "--memory", memory,
        "--rwdir", folder, "--append", " ".join(arguments), "--", f"sh {shlex.quote(str(script))}",
    ]  # fmt: skip
    if not accelerated:
        words[1:1] = ["--disable-kvm", f"--qemu-opts=-cpu {EMULATED_CPU}"]
    began = time.monotonic()
    console = _run(words, folder / "console", patience_s)
    if not status.exists() and any(told in console for told in EMULATOR_FAILS):
        print("the emulator failed, booting once more")
        console = _run(words, folder / "console", patience_s)
    said = status.read_text().strip() if status.exists() else ""
    return Outcome(
        int(said) if said else None, output.read_text(errors="replace"), console,
        time.monotonic() - began,
    )  # fmt: skip


def _run(words: Sequence[str | Path], log: Path, patience_s: float) -> str:
    """Runs it with its output in a file, and ends it with all that it started when time is up."""
    path = f"{VNG.parent}:{os.environ.get('PATH', '')}"
    with log.open("wb") as file:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
            start_new_session=True, env={**os.environ, "PATH": path}, cwd=PROJECT,
        )  # fmt: skip
        try:
            process.wait(timeout=patience_s)
        except subprocess.TimeoutExpired:
            file.write(f"\nended after {patience_s:.0f} s\n".encode())
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return log.read_text(errors="replace")


@functools.cache
def kvm_works(image: Image) -> bool:
    """Whether a guest comes up with KVM: that it can be opened does not say so."""
    if not os.access(KVM, os.R_OK | os.W_OK):
        return False
    folder = PROJECT / "build" / "kernels" / "kvm"
    return boot(image, folder, "true", patience_s=KVM_PATIENCE_S, kvm=True).status == 0
