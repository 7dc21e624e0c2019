"""The source of a kernel out of Debian's archive, unpacked beside what the guests fetched."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.guests import packages

PACKAGE = "linux-source"
"""Depends on the source of the newest kernel of a suite."""
PARTS = re.compile(r"linux-source-\d[\w.]*$")


@dataclass(frozen=True, slots=True)
class Source:
    """A kernel's source."""

    folder: Path
    version: str
    """Of the package."""


def fetch(suites: Sequence[str]) -> Source:
    """The newest version in these suites. UnavailableError where it cannot be had."""
    configuration = packages.private_apt(suites)
    listing = packages.run("apt-cache", "madison", PACKAGE, configuration=configuration)
    version = packages.newest(listing, suites)
    folder = packages.cache() / f"{PACKAGE}_{version}"
    if not folder.exists():
        (name,) = packages.parts(PACKAGE, version, configuration, PARTS)
        _unpack(folder, name, configuration)
    return Source(folder, version)


def _unpack(folder: Path, name: str, configuration: Path) -> None:
    """Fills the folder, which appears only when it is complete."""
    fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
    fetched, tree = fresh / "fetched", fresh / "tree"
    shutil.rmtree(fresh, ignore_errors=True)
    fetched.mkdir(parents=True)
    tree.mkdir()
    try:
        packages.run("apt-get", "download", name, cwd=fetched, configuration=configuration)
        (deb,) = fetched.glob("*.deb")
        packages.run("dpkg-deb", "-x", deb, fetched)
        (archive,) = fetched.glob("usr/src/linux-source-*.tar.*")
        packages.run("tar", "-xf", archive, "--strip-components=1", "-C", tree)
        tree.rename(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
