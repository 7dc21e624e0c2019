"""A process that meets page faults when it is told to; run as a program of its own.

Arguments: threads, fresh pages that each touches, pages of a file that each reads, and the file. A
line on stdin begins each round, a line on stdout tells its wall time in ns.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
import threading
import time

PAGE = mmap.PAGESIZE
APART = 64
"""Pages between two that are read, so that none is read ahead."""


def touch(fresh: int, read: int, path: str) -> None:
    """Touches fresh memory, then pages of a file that are not in memory any more."""
    if fresh:
        memory = mmap.mmap(-1, fresh * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with contextlib.suppress(OSError):  # PREEMPT_RT has no huge pages
            memory.madvise(mmap.MADV_NOHUGEPAGE)
        for page in range(fresh):
            memory[page * PAGE] = 1
        memory.close()
    if read:
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        content = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
        content.madvise(mmap.MADV_RANDOM)
        for page in range(read):
            content[page * APART * PAGE]
        content.close()
        os.close(fd)


def main() -> None:
    """Rounds until stdin ends."""
    threads, fresh, read = map(int, sys.argv[1:4])
    go, done = threading.Barrier(threads + 1), threading.Barrier(threads + 1)

    def rounds() -> None:
        while True:
            go.wait()
            touch(fresh, read, sys.argv[4])
            done.wait()

    workers = [threading.Thread(target=rounds, daemon=True) for _ in range(threads)]
    for worker in workers:
        worker.start()
    print(*(worker.native_id for worker in workers), flush=True)
    for _ in sys.stdin:
        start_ns = time.monotonic_ns()
        go.wait()
        done.wait()
        print(time.monotonic_ns() - start_ns, flush=True)


if __name__ == "__main__":
    main()
