"""Which C and BPF files include which: no circle, and no file relies on its place in a list."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
FOLDERS = ("bpf", "noisetop/native")
GENERATED = {"noisetop.skel.h", "host_tasks.skel.h"}
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.MULTILINE)
BPF_SOURCES = sorted(path.name for path in (PROJECT / "bpf").glob("*.bpf.c"))


def module_of(path: Path) -> str:
    """What a file belongs to: foo.c and foo.h are one module, foo.bpf.c and foo.bpf.h another."""
    return str(path.with_suffix(""))


def included(root: Path, file: Path, name: str) -> Path | None:
    """The file of ours that ``name`` means in ``file``; None where the build makes it."""
    for folder in (file.parent, *(root / folder for folder in FOLDERS)):
        if (folder / name).exists():
            return (folder / name).resolve()
    assert name in GENERATED, f"{file} includes {name}, which is nowhere"
    return None


def include_graph(root: Path) -> dict[str, set[str]]:
    """For each module the other modules that its files include."""
    graph: dict[str, set[str]] = {}
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*.[ch]")):
            here = module_of(file.resolve())
            others = graph.setdefault(here, set())
            for name in INCLUDE.findall(file.read_text()):
                target = included(root, file, name)
                if target and module_of(target) != here:
                    others.add(module_of(target))
    return graph


def circle(root: Path) -> list[str]:
    """Modules that include one another in a circle; empty: there is none."""
    try:
        TopologicalSorter(include_graph(root)).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_no_modules_include_one_another() -> None:
    assert len(include_graph(PROJECT)) > 40
    assert not circle(PROJECT)


def test_a_circle_through_headers_is_found(tmp_path: Path) -> None:
    files = {"bpf/a.h": '#include "b.h"\n', "bpf/b.h": '#include "c.h"\n', "bpf/c.h": ""}
    assert not circle(write(tmp_path, files))
    assert circle(write(tmp_path, {"bpf/c.h": ' # include "a.h"\n'}))


def test_a_circle_through_a_source_and_its_header_is_found(tmp_path: Path) -> None:
    files = {
        "noisetop/native/a.h": "",
        "noisetop/native/a.c": '#include "a.h"\n#include "b/b.h"\n',
        "noisetop/native/b/b.h": '#include "a.h"\n',
    }
    assert circle(write(tmp_path, files))


def test_an_include_that_is_nowhere_is_found(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"gone\.h"):
        circle(write(tmp_path, {"bpf/a.h": '#include "gone.h"\n'}))


@pytest.mark.skipif(not shutil.which("clang"), reason="no clang")
@pytest.mark.parametrize("architecture", ["x86", "arm64"])
@pytest.mark.parametrize("source", BPF_SOURCES)
def test_each_source_includes_what_it_uses(source: str, architecture: str) -> None:
    system = f"/usr/include/{sysconfig.get_config_var('MULTIARCH')}"
    flags = [f"-D__TARGET_ARCH_{architecture}", f"-I{PROJECT / 'bpf'}", "-idirafter", system]
    done = subprocess.run(
        ["clang", "-target", "bpf", "-fsyntax-only", *flags, str(PROJECT / "bpf" / source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
