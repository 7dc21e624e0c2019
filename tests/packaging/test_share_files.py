"""Manual pages and completion scripts: written from the parsers, shipped in the wheel."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from noisetop import _native
from noisetop.commands import all_commands, command_names

PROJECT = Path(__file__).resolve().parents[2]
PAGES = {"noisetop.1", *(f"noisetop-{name}.1" for name in command_names())}
SHARED = {f"man/man1/{page}" for page in PAGES} | {
    "bash-completion/completions/noisetop",
    "zsh/site-functions/_noisetop",
    "fish/vendor_completions.d/noisetop.fish",
}
SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS", "SEE ALSO"]


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "share"
    modules = Path(str(_native.__file__)).parent
    subprocess.run(
        [sys.executable, PROJECT / "packaging/share_files.py", folder, "1.2.3", modules],
        check=True,
        env={"SOURCE_DATE_EPOCH": "1700000000", "OPENBLAS_NUM_THREADS": "1"},
    )
    return folder


def test_all_files_are_written(share: Path) -> None:
    written = {str(path.relative_to(share)) for path in share.rglob("*") if path.is_file()}
    assert written == SHARED


@pytest.mark.parametrize("page", sorted(PAGES))
def test_page_has_the_sections_that_people_look_for(share: Path, page: str) -> None:
    text = (share / "man/man1" / page).read_text(encoding="ascii")
    sections = re.findall(r"^\.SH (.*)$", text, re.M)
    assert [one for one in sections if one in SECTIONS] == SECTIONS
    assert text.startswith(".TH NOISETOP")
    assert '"2023-11-14" "noisetop 1.2.3"' in text.splitlines()[0]


@pytest.mark.parametrize("page", sorted(PAGES))
def test_page_renders_without_a_warning(share: Path, page: str) -> None:
    path = share / "man/man1" / page
    checkers = [["man", "--warnings", "-l"], ["mandoc", "-T", "lint"]]
    found = [words for words in checkers if shutil.which(words[0])]
    if not found:
        pytest.skip("neither man nor mandoc is here")
    for words in found:
        done = subprocess.run([*words, path], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        if words[0] == "mandoc":
            assert done.stdout == ""


def test_pages_show_every_option_and_example(share: Path) -> None:
    for command in all_commands():
        text = (share / f"man/man1/noisetop-{command.NAME}.1").read_text().replace("\\-", "-")
        for example in command.EXAMPLES:
            assert f".TP\n\\fB{example.command}\\fR\n" in text
    text = (share / "man/man1/noisetop-record.1").read_text().replace("\\-", "-")
    assert r"\fB-d\fR, \fB--duration\fR \fITIME\fR" in text
    assert r"[-- \fICMD\fR ...]" in text.replace("\n", " ")
    assert "house-keeping" not in text


def test_the_build_has_what_the_parsers_import() -> None:
    content = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    assert set(content["project"]["dependencies"]) < set(content["build-system"]["requires"])


@pytest.mark.packaging
def test_the_wheel_ships_them(tmp_path: Path) -> None:
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps"),
            *("-C", f"build-dir={tmp_path / 'build'}", "-w", tmp_path, PROJECT),
        ],
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    shipped = {name.partition(".data/data/share/")[2] for name in names}
    assert shipped - {""} == SHARED
