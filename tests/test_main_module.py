"""``python -m noisetop`` in a folder of somebody else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

QUIET = Path(__file__).parent / "data/quiet.noisetop"


@pytest.mark.parametrize("arguments", [("--version",), ("report", str(QUIET)), ("check", "--help")])
def test_nothing_is_imported_from_the_current_folder(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    for name in ("numpy", "zlib", "argparse", "difflib", "json", "rich", "textual"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported from here')")
    done = subprocess.run(
        [sys.executable, "-m", "noisetop", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
