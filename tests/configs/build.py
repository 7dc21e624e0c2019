"""Builds the kernel of a configuration, once for each source and set of options."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.configs import sources
from tests.configs.catalogue import Configuration
from tests.guests.machine import PROJECT
from tests.guests.packages import Image, UnavailableError

FOLDER = PROJECT / "build" / "configs"
BASE = Path(__file__).with_name("base.config")
"""What all of them have: what noisetop, its tests and virtme-ng need, and few drivers."""
TOOLS = ("make", "gcc", "flex", "bison", "bc", "pahole")


class BuildError(Exception):
    """Why a kernel could not be built."""


def image(configuration: Configuration) -> Image:
    """The kernel, which is built where that was not done before; BuildError where that fails.

    UnavailableError where the source or the tools cannot be had.
    """
    source = sources.fetch(configuration.suites)
    options = BASE.read_text() + configuration.fragment()
    folder = FOLDER / configuration.name
    kernel = folder / f"vmlinuz-{key(source.version, options)}"
    with _alone(folder):
        if not kernel.exists():
            check_tools()
            _build(configuration, source, folder, options)
            for old in folder.glob("vmlinuz-*"):
                old.unlink()
            made = shutil.copy(folder / "objects/arch/x86/boot/bzImage", folder / "made")
            Path(made).rename(kernel)
    return Image(kernel, source.version)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Waits for another run that builds in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def key(version: str, options: str) -> str:
    """What a kernel was made from, as a part of its name."""
    return hashlib.sha256(f"{version}\n{options}".encode()).hexdigest()[:12]


def check_tools() -> None:
    """Raises UnavailableError where a kernel cannot be built."""
    for tool in TOOLS:
        if not shutil.which(tool):
            raise UnavailableError(f"{tool} is not installed: make test-configs installs it")


def refused(options: str, config: str) -> list[str]:
    """The options that a configuration of a kernel has otherwise than asked for."""
    lines = config.splitlines()
    asked = [line.split("=", 1) for line in options.splitlines()]
    return [
        f"{name}={value}"
        for name, value in asked
        if next((line for line in lines if line.startswith(f"{name}=")), f"{name}=n")
        != f"{name}={value}"
    ]


def _build(
    configuration: Configuration, source: sources.Source, folder: Path, options: str
) -> None:
    objects = folder / "objects"
    objects.mkdir(exist_ok=True)
    log = folder / "log"
    log.unlink(missing_ok=True)
    _make(source, objects, log, "tinyconfig")
    config = objects / ".config"
    config.write_text(config.read_text() + options)
    _make(source, objects, log, "olddefconfig")
    if wrong := refused(configuration.fragment(), config.read_text()):
        raise BuildError(f"{source.version} does not take {', '.join(wrong)}")
    _make(source, objects, log, "bzImage")


def _make(source: sources.Source, objects: Path, log: Path, target: str) -> None:
    """Has the compiler's cache serve all configurations, where there is one."""
    compiler = "ccache gcc" if shutil.which("ccache") else "gcc"
    words: list[str | Path] = [
        "nice", "-n", "19", "make", "-C", source.folder, f"O={objects}", f"CC={compiler}",
        f"-j{os.cpu_count()}", target,
    ]  # fmt: skip
    environment = {**os.environ, "LC_ALL": "C", "CCACHE_NOHASHDIR": "1"}
    for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):  # of the make that started this
        environment.pop(name, None)
    with log.open("ab") as file:
        done = subprocess.run(words, stdout=file, stderr=file, env=environment, check=False)
    if done.returncode:
        end = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
        raise BuildError(f"make {target} of {source.version} failed:\n{end}")
