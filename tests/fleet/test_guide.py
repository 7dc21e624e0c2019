"""The commands of the pages about fleets, run as they stand there."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from noisetop.cli import parse
from noisetop.fleet.engines.spark import missing
from tests.fleet.fleets import fleet_of, host
from tests.fleet.test_checks import audit
from tests.in_process import run_in_process
from tests.recordings import DATA

GUIDE = Path(__file__).parents[2] / "docs/guide"


def commands(page: str) -> list[str]:
    """Indented lines that begin with the program."""
    found = re.findall(r"(?m)^ {4}(noisetop .*)$", (GUIDE / page).read_text())
    assert found
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings, a key, and a fleet of made-up hosts."""
    path = tmp_path_factory.mktemp("guide")
    shutil.copy(DATA / "noisy.noisetop", path / "noise.noisetop")
    shutil.copy(DATA / "unloaded.noisetop", path)
    (path / "secret.key").write_text("secret")
    kernels = ("6.1.9", "6.12.1")
    runs = [
        (host(n, day=day, blocks=8, kernel=kernels[n % 2], cpu_model="model 1"), {"env": "test"})
        for n in range(10)
        for day in range(4)
    ]
    fleet_of(path / "fleet", runs)
    (path / "audits").mkdir()
    for n in range(10):
        audit(path / "audits", f"node-{n}", failing=n % 2 == 0)
    return path


def done(command: str, folder: Path) -> str:
    """What it prints; as a shell would run it, which has names with a star to replace."""
    words = [
        name
        for word in shlex.split(command)[1:]
        for name in (
            sorted(str(one.relative_to(folder)) for one in folder.glob(word))
            if "*." in word
            else [word]
        )
    ]
    with contextlib.chdir(folder):
        found = run_in_process(*words)
    assert found.returncode == 0, f"{command}: {found.stderr}"
    return found.stdout


def done_in_shell(command: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    found = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, f"{command}: {found.stderr}"
    return found.stdout


def test_the_page_about_fleets(folder: Path) -> None:
    """The first command in a shell, which replaces the star."""
    for number, command in enumerate(commands("fleet.md")):
        if "://" in command:
            assert parse(shlex.split(command)[1:])[0] == "fleet"
        elif "spark" not in command:
            output = (done if number else done_in_shell)(command, folder)
            assert output or " export " in command


def test_the_page_about_scale(folder: Path) -> None:
    for command in commands("scale.md"):
        output = done(f"{command} --steps 1000 --top 1", folder)
        assert "% on one rank" in output
        assert "Assumptions:" in output
    assert (folder / "scale.svg").stat().st_size > 1000


@pytest.mark.packaging
@pytest.mark.skipif(missing() != "", reason=f"Spark of the page about fleets: {missing()}")
def test_spark_of_the_page_about_fleets(folder: Path) -> None:
    (command,) = [one for one in commands("fleet.md") if one.endswith("--engine spark")]
    assert done_in_shell(command, folder) == done_in_shell(
        command.removesuffix(" --engine spark"), folder
    )


def test_the_statement_for_other_readers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (GUIDE / "fleet.md").read_text()
    (statement,) = re.findall(r"(?m)^ {4}(SELECT .*\n    WHERE .*)$", page)
    monkeypatch.chdir(folder)
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        assert len(connection.execute(statement).fetchall()) >= 10
