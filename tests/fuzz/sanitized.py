"""noisetop._tables under the sanitizers of the compiler, and what a process needs to load it."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path

NATIVE = Path(__file__).parents[2] / "noisetop/native"
_SANITIZERS = "-fsanitize=address,undefined"


def build(folder: Path) -> Path:
    """The library, made in ``folder``. Raises SystemExit where the compiler cannot."""
    library = folder / "_tables.so"
    sources = [*sorted((NATIVE / "tables").glob("*.c")), NATIVE / "crc32c.c"]
    include = sysconfig.get_path("include")
    options = [
        "-g",
        "-O1",
        "-shared",
        "-fPIC",
        "-fno-sanitize-recover=all",
        "-fno-omit-frame-pointer",
    ]
    command = ["cc", *options, _SANITIZERS, f"-I{include}", f"-I{NATIVE}", *map(str, sources)]
    done = subprocess.run(
        [*command, "-o", str(library)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"fuzz: cc has no sanitizers (libasan, libubsan):\n{done.stderr}")
    return library


def environment() -> dict[str, str]:
    """Of a process that loads it; Python itself is not sanitized."""
    found = subprocess.run(
        ["cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    )
    return {
        **os.environ,
        "LD_PRELOAD": str(Path(found.stdout.strip()).resolve()),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
