"""A made-up machine for each test."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.made_up_machine import PLAIN_TOOLS, PROJECT, PYTHON, Machine


@pytest.fixture
def machine() -> Iterator[Machine]:
    """A machine of root's with Python 3.11 and nothing of what noisetop needs."""
    with tempfile.TemporaryDirectory(prefix="machine-") as folder:
        root = Path(folder)
        root.chmod(0o755)
        machine = Machine(root)
        for tool in PLAIN_TOOLS.split():
            found = shutil.which(tool)
            assert found is not None
            (root / "bin").mkdir(exist_ok=True)
            (root / "bin" / tool).symlink_to(found)
        machine.add("id", "echo 0")
        machine.add("python3", PYTHON)
        machine.mark("recent")
        script = (PROJECT / "packaging/prepare").read_text()
        script = script.replace("/usr/", f"{root}/usr/").replace("/var/", f"{root}/var/")
        (root / "packaging").mkdir()
        (root / "packaging/prepare").write_text(script.replace(":/sbin", ""))
        yield machine
