"""The QEMU that kernels run in: the machine's own where it is new enough, else a fetched one."""

from __future__ import annotations

import functools
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.guests import packages

PROGRAM = "qemu-system-x86_64"
NEEDED = (10, 0)
"""7.2 now and then goes on with code as it was while the kernel rewrote it: that CPU meets a
breakpoint that is gone, for ever."""
SUITES = ("bookworm-backports",)
"""Where to fetch it for Debian 12, whose own is 7.2; later ones have one that is new enough."""

MACHINE = "-machine pc -cpu max,avx=off,avx2=off"
"""QEMU 10.0 takes 40 s until a kernel says its first word on the machine that virtme-ng asks for,
q35, and 6 s on this one. 7.2 leaves arrays unsorted that numpy sorts with AVX2."""


@dataclass(frozen=True, slots=True)
class Emulator:
    """A QEMU."""

    program: Path
    data: Path | None = None
    """Where its firmware is; None for where it looks by itself."""

    def options(self, *, accelerated: bool) -> list[str]:
        """What virtme-ng is told to use it."""
        where = [] if self.data is None else [f"--qemu-opts=-L {self.data}"]
        how = [] if accelerated else ["--disable-kvm", f"--qemu-opts={MACHINE}"]
        return [f"--qemu={self.program}", *where, *how]


def version(text: str) -> tuple[int, int]:
    """Of what ``--version`` prints."""
    found = re.search(r"version (\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)


@functools.cache
def find() -> Emulator:
    """A QEMU, new enough where one can be had; UnavailableError where there is none at all."""
    own = shutil.which(PROGRAM)
    if not own:
        raise packages.UnavailableError(f"{PROGRAM} is not installed: make test-guests installs it")
    if version(packages.run(own, "--version")) >= NEEDED:
        return Emulator(Path(own))
    try:
        folder = packages.fetch_emulator(SUITES)
        fetched = Emulator(folder / "usr/bin" / PROGRAM, folder / "usr/share/qemu")
        packages.run(fetched.program, "--version")  # says which library is not there
    except packages.UnavailableError as why:
        print(f"{own} is old, guests may stop; no newer one: {why}")
        return Emulator(Path(own))
    return fetched
