"""Boots a kernel over this root file system in QEMU, and runs one command in it."""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.guests import emulator
from tests.guests.catalogue import EMULATION
from tests.guests.packages import Image, UnavailableError

PROJECT = Path(__file__).parents[2]
VNG = Path(sys.executable).with_name("vng")
KVM = Path("/dev/kvm")
BOOTS = 4
"""How often a guest is booted at most until it begins with its command."""
BEGIN_S = 60
"""A guest that does not begin with its command in this time does not any more."""
SILENCE_S = 600
"""A guest that says nothing for so long does not any more. On a slow host the load of the
identities and its reading take half of that and more where BCC compiles the programs."""
KVM_PATIENCE_S = 20
"""A boot with KVM takes two seconds where it works; on some machines the guest hangs."""
CACHED, CACHE = "noisetop", "/run/noisetop"
"""The root file system once more: its mount tag, and where a guest has it. virtme-ng mounts the
root without a cache, and to start Python takes emulation 5 s there, 1 s here."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a command in a guest."""

    status: int | None
    """Of the command; None when the guest did not come to its end."""
    output: str
    """stdout and stderr of the command."""
    console: str
    """What the guest's kernel said."""

    def told(self, lines: int = 40) -> str:
        """The end of what was said, for the message of a failure."""
        text = self.output if self.status is not None else f"{self.console}\n{self.output}"
        return "\n".join(text.splitlines()[-lines:])


def check_tools() -> None:
    """Raises UnavailableError when no machine can be emulated here."""
    emulator.find()
    if not VNG.exists():
        raise UnavailableError("virtme-ng is not installed: make test-guests installs it")
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
    A guest that does not begin with the command is booted again, at most BOOTS times: the emulator
    may end or stand still, which says nothing about what the guest was to run.
    """
    check_tools()
    folder.mkdir(parents=True, exist_ok=True)
    accelerated = kvm_works(image) if kvm is None else kvm
    arguments = (*arguments, *(() if accelerated else EMULATION))
    words: list[str | Path] = [
        VNG, *emulator.find().options(accelerated=accelerated), "--verbose", "--force-9p",
        f"--qemu-opts=-virtfs local,path=/,mount_tag={CACHED},security_model=none,readonly=on,"
        "multidevs=remap",
        "--run", image.path, "--cpus", str(cpus), "--memory", memory, "--rwdir", folder,
        "--append", " ".join(arguments), "--", f"sh {shlex.quote(str(_script(folder, command)))}",
    ]  # fmt: skip
    for left in reversed(range(1 if accelerated else BOOTS)):
        (folder / "status").unlink(missing_ok=True)
        (folder / "begun").unlink(missing_ok=True)
        (folder / "output").write_text("")
        console = run(words, folder, patience_s)
        if (folder / "begun").exists() or not left:
            break
        print(f"booting once more, the guest did not begin: {console[-200:]}")
    status = folder / "status"
    said = status.read_text().strip() if status.exists() else ""
    output = (folder / "output").read_text(errors="replace")
    return Outcome(int(said) if said else None, output, console)


def _script(folder: Path, command: str) -> Path:
    """What the guest runs: the command, with notes in the folder of how far it came."""
    begun, output, status, project = (
        shlex.quote(str(path))
        for path in (folder / "begun", folder / "output", folder / "status", PROJECT)
    )
    script = folder / "command"
    script.write_text(
        f"cd {project}\necho >{begun}\n{_mount_cached()}( {command}\n) >{output} 2>&1 </dev/null\n"
        f"echo $? >{status}\nsync\n"
    )
    return script


def _mount_cached() -> str:
    """Shell lines that put the folders with Python's code in them, which nobody changes meanwhile,
    on the mount that is cached."""
    library = Path(sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("INSTSONAME"))
    code = [
        Path(sysconfig.get_path("stdlib")), Path(sys.executable).resolve(), library.resolve(),
        Path(sys.prefix), PROJECT / "noisetop", PROJECT / "tests",
    ]  # fmt: skip
    options = "ro,trans=virtio,version=9p2000.L,cache=loose,msize=524288"
    binds = "".join(
        f"&& mount --bind {shlex.quote(CACHE + str(path))} {shlex.quote(str(path))} "
        for path in code
        if path.exists()
    )
    return f"mkdir {CACHE} && mount -t 9p -o {options} {CACHED} {CACHE} {binds}\n"


def run(words: Sequence[str | Path], folder: Path, patience_s: float) -> str:
    """What the guest says on its console. It is ended, with all that it started, when time is up,
    when it does not begin, or when it is silent for too long."""
    path = f"{VNG.parent}:{os.environ.get('PATH', '')}"
    log = folder / "console"
    with log.open("wb") as file:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
            start_new_session=True, env={**os.environ, "PATH": path}, cwd=PROJECT,
        )  # fmt: skip
        try:
            why = _watch(process, folder, patience_s)
            file.write(f"\nended: {why}\n".encode() if why else b"")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return log.read_text(errors="replace")


def _watch(process: subprocess.Popen[bytes], folder: Path, patience_s: float) -> str:
    """Waits for its end, and tells why it is not waited for any longer."""
    said = [folder / "console", folder / "output"]
    began = last = time.monotonic()
    size = -1
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)
            return ""
        now = time.monotonic()
        before, size = size, sum(path.stat().st_size for path in said)
        last = now if size != before else last
        if now - began > patience_s:
            return f"{patience_s:.0f} s are over"
        if now - began > BEGIN_S and not (folder / "begun").exists():
            return f"its command did not begin in {BEGIN_S} s"
        if now - last > SILENCE_S:
            return f"it was silent for {SILENCE_S} s"


@functools.cache
def kvm_works(image: Image) -> bool:
    """Whether a guest comes up with KVM: that it can be opened does not say so."""
    if not os.access(KVM, os.R_OK | os.W_OK):
        return False
    folder = PROJECT / "build" / "guests" / "kvm"
    return boot(image, folder, "true", patience_s=KVM_PATIENCE_S, kvm=True).status == 0
