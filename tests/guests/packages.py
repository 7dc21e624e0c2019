"""Kernels, and a QEMU for them, out of Debian's archive, unpacked into a cache.

The machine's own apt stays as it is.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PATIENCE_S = 600
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
# What makes a kernel bootable: since 7.3 in packages of their own.
PARTS = re.compile(r"linux-(?:image|binary|modules|base)-\d[\w.+~-]*$")
HEADERS = re.compile(r"linux-headers-[\w.+~-]*\d[\w.+~-]*$")
EMULATOR = re.compile(r"qemu-system-(?:x86|data)$")

_CONFIGURATION = """\
Dir::Etc::sourcelist "{folder}/sources.list";
Dir::Etc::sourceparts "-";
Dir::Etc::preferences "-";
Dir::Etc::preferencesparts "-";
Dir::State "{folder}/state";
Dir::State::status "{folder}/status";
Dir::Cache "{folder}/cache";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
APT::Architecture "amd64";
APT::Sandbox::User "root";
"""


class UnavailableError(Exception):
    """Why a kernel cannot be had here."""


@dataclass(frozen=True, slots=True)
class Image:
    """A kernel that can be booted, with lib/modules beside it."""

    path: Path
    version: str
    """Of the package."""


def cache() -> Path:
    """Where what was fetched stays: $XDG_CACHE_HOME/noisetop/kernels."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "noisetop" / "kernels"


def run(*command: str | Path, cwd: Path | None = None, configuration: Path | None = None) -> str:
    """What a command prints; UnavailableError with its last words when it fails."""
    environment = {**os.environ, "LC_ALL": "C"}
    if configuration is not None:
        environment["APT_CONFIG"] = str(configuration)
    try:
        done = subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True,
            check=False, timeout=PATIENCE_S,
        )  # fmt: skip
    except FileNotFoundError:
        raise UnavailableError(f"{command[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise UnavailableError(f"{command[0]} takes longer than {PATIENCE_S} s") from None
    if done.returncode:
        said = (done.stderr.strip() or "no reason given").splitlines()[-1]
        raise UnavailableError(f"{Path(command[0]).name} failed: {said}")
    return done.stdout


def archive(targets: str) -> str:
    """Debian's archive among ``apt-get indextargets`` lines ``origin|address``."""
    for line in targets.splitlines():
        origin, _, address = line.partition("|")
        if origin == "Debian" and address.rstrip("/").endswith("/debian"):
            return address
    raise UnavailableError("this machine's apt knows no archive of Debian: run apt-get update")


@functools.cache
def private_apt(suites: Sequence[str]) -> Path:
    """The configuration file of an apt that knows these suites, its lists fetched once a run."""
    targets = run("apt-get", "indextargets", "--format", "$(ORIGIN)|$(REPO_URI)")
    address = archive(targets)
    folder = cache() / "apt" / "-".join(suites)
    for path in ("state/lists/partial", "cache/archives/partial"):
        (folder / path).mkdir(parents=True, exist_ok=True)
    signed = f"[signed-by={KEYRING}] " if KEYRING.exists() else ""
    lines = [f"deb {signed}{address} {suite} main\n" for suite in suites]
    (folder / "sources.list").write_text("".join(lines))
    (folder / "status").touch()
    configuration = folder / "apt.conf"
    configuration.write_text(_CONFIGURATION.format(folder=folder))
    run("apt-get", "update", "-qq", "--error-on=any", configuration=configuration)
    return configuration


def newest(madison: str, suites: Sequence[str]) -> str:
    """The first version in these suites among lines of ``apt-cache madison``, newest first."""
    for line in madison.splitlines():
        _, version, source = (field.strip() for field in line.split("|"))
        if any(f" {suite}/" in source for suite in suites):
            return version
    raise UnavailableError(f"no such package in {' or '.join(suites)}")


def parts(
    package: str, version: str, configuration: Path, wanted: re.Pattern[str]
) -> Iterator[str]:
    """``name=version`` of all packages that make up a kernel, or its headers."""
    text = run("apt-cache", "show", f"{package}={version}", configuration=configuration)
    fields = re.findall(r"^Depends: (.*)$", text, re.MULTILINE)
    needed = {name.split()[0] for field in fields for name in field.split(",")}
    if wanted.match(package):
        yield f"{package}={version}"
    for name in sorted(needed):
        if wanted.match(name) and name != package:
            yield from parts(name, version, configuration, wanted)


def fetch(package: str, suites: Sequence[str]) -> Image:
    """The newest version of a kernel's package, unpacked and with its modules indexed."""
    folder, version = _newest_unpacked(package, suites, PARTS)
    (image,) = (path for path in folder.rglob("vmlinuz*") if path.is_file())
    return Image(image, version)


def fetch_headers(package: str, suites: Sequence[str]) -> Path:
    """Where the newest version of a kernel's headers is unpacked."""
    folder, _ = _newest_unpacked(package, suites, HEADERS)
    return folder


def fetch_emulator(suites: Sequence[str]) -> Path:
    """Where the newest QEMU for x86-64 is unpacked; it needs this machine's libraries."""
    folder, _ = _newest_unpacked("qemu-system-x86", suites, EMULATOR)
    return folder


def _newest_unpacked(
    package: str, suites: Sequence[str], wanted: re.Pattern[str]
) -> tuple[Path, str]:
    configuration = private_apt(suites)
    listing = run("apt-cache", "madison", package, configuration=configuration)
    version = newest(listing, suites)
    folder = cache() / f"{package}_{version}"
    if not folder.exists():
        names = sorted(set(parts(package, version, configuration, wanted)))
        _unpack(folder, names, configuration)
    return folder, version


def _unpack(folder: Path, names: Sequence[str], configuration: Path) -> None:
    """Fills the folder, which appears only when it is complete, and drops what it is made from."""
    fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    try:
        run("apt-get", "download", *names, cwd=fresh, configuration=configuration)
        for deb in fresh.glob("*.deb"):
            run("dpkg-deb", "-x", deb, fresh)
            deb.unlink()
        if not (fresh / "lib").exists():  # merged /usr
            (fresh / "lib").symlink_to("usr/lib")
        for modules in (fresh / "lib/modules").glob("*/kernel"):
            run(shutil.which("depmod") or "/sbin/depmod", "-b", fresh, modules.parent.name)
        fresh.rename(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
