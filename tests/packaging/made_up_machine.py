"""A folder that stands for a machine, and what runs on it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PLAIN_TOOLS = "cat dirname env find grep mkdir mktemp paste rm sed sort stat tail tee touch tr"
NOBODY = 65534

# Answers the three questions that packaging/prepare asks of a Python.
PYTHON = """
case "$2" in
*version_info*) [ -e {root}/recent ] ;;
*Python.h*) [ -e {root}/headers ] ;;
*ensurepip*) [ -e {root}/venv ] ;;
esac
"""
LOG = 'echo "${0##*/} $*" >>{root}/log\n'


@dataclass(frozen=True, slots=True)
class Machine:
    """A folder that stands for a machine: what is on its PATH, and a log of what was run there."""

    root: Path

    def add(self, name: str, script: str = "exit 0", folder: str = "bin") -> None:
        path = self.root / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n" + script.replace("{root}", str(self.root)))
        path.chmod(0o755)

    def add_logged(self, name: str, script: str = "exit 0", folder: str = "bin") -> None:
        self.add(name, LOG + script, folder)

    def mark(self, *names: str) -> None:
        for name in names:
            (self.root / name).touch()

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        return {"PATH": str(self.root / "bin"), "HOME": str(self.root), **(extra or {})}

    def run(
        self, *command: str, user: int | None = None, **extra: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.root,
            env=self.environment(extra),
            user=user,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def prepare(
        self, group: str, user: int | None = None, **extra: str
    ) -> subprocess.CompletedProcess[str]:
        return self.run("/bin/sh", "packaging/prepare", group, user=user, **extra)

    def log(self) -> list[str]:
        path = self.root / "log"
        return path.read_text().splitlines() if path.exists() else []
