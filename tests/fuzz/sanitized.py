"""noisetop._tables under the sanitizers of the compiler, and what a process needs to load it."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path

NATIVE = Path(__file__).parents[2] / "noisetop/native"
_SANITIZERS = "-fsanitize=address,undefined"
# Where a number in a small file decides how much is reserved, that fails, and is found.
_BOUNDED = "allocator_may_return_null=1:max_allocation_size_mb=512"
# Freed memory is kept for 32 MiB of later ones, and pages are not given back: that takes more time
# than all else.
_CHEAP = "quarantine_size_mb=32:malloc_context_size=4:allocator_release_to_os_interval_ms=-1"


def build(folder: Path) -> Path:
    """The library, made in ``folder``. Raises SystemExit where the compiler cannot."""
    library = folder / "_tables.so"
    shared = [NATIVE / f"{name}.c" for name in ("crc32c", "packed_records")]
    sources = [*sorted((NATIVE / "tables").glob("*.c")), *shared]
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
        "ASAN_OPTIONS": f"detect_leaks=0:{_BOUNDED}:{_CHEAP}",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
