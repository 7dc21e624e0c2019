"""One door to the kernel: import-linter reads Python files only, the native module is none."""

from __future__ import annotations

import ast
import graphlib
from pathlib import Path

import grimp
import pytest

import noisetop

PACKAGE = Path(noisetop.__file__).parent
# The tracer drains the rings; the spin sampler reads the time-stamp counter; the standard library
# does not set capabilities.
DOORS = {
    "tracing/capabilities.py",
    "tracing/host_numbers.py",
    "tracing/tracer.py",
    "probe/sampler.py",
}


def imports_native(source: str) -> bool:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                imported = [name.name for name in names]
            case ast.ImportFrom(module=module, names=names):
                imported = [f"{module or ''}.{name.name}" for name in names]
            case _:
                continue
        if any("_native" in name.split(".") for name in imported):
            return True
    return False


def test_sees_every_way_to_import_it() -> None:
    for line in (
        "import noisetop._native",
        "from noisetop import _native, system",
        "from noisetop._native import Session",
        "from . import _native",
    ):
        assert imports_native(f"def late():\n    {line}\n")
    assert not imports_native("from noisetop import natives\n'_native'\n")


def test_only_the_tracer_imports_the_native_module() -> None:
    importers = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if imports_native(path.read_text())
    }
    assert "tracing/tracer.py" in importers
    assert importers <= DOORS


def test_no_module_imports_itself_through_others() -> None:
    graph = grimp.build_graph("noisetop")
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    graphlib.TopologicalSorter(imports).prepare()  # raises CycleError
    assert len(imports) > 200


def test_a_circle_is_found() -> None:
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter({"a": {"b"}, "b": {"a"}}).prepare()
