"""A small benchmark with a hidden cause of noise, for the pages of this guide.

``example.py CPU`` hashes blocks on CPU while a second thread frees memory elsewhere;
``example.py CPU calm`` runs without the second thread.
"""

import hashlib
import mmap
import os
import sys
import threading
import time

BLOCK = bytes(1 << 18)
SECONDS = 5


def hash_blocks(cpu: int) -> list[int]:
    """Durations of the blocks in ns. Between two blocks the thread sleeps, as a service does."""
    os.sched_setaffinity(0, {cpu})
    durations = []
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        start_ns = time.perf_counter_ns()
        hashlib.sha256(BLOCK)
        durations.append(time.perf_counter_ns() - start_ns)
        time.sleep(0.0001)
    return durations


def churn_memory() -> None:
    """Frees memory a thousand times a second: each time the other CPUs flush their TLBs."""
    while True:
        with mmap.mmap(-1, 1 << 16) as memory:
            memory[::4096] = bytes(16)
        time.sleep(0.001)


def main() -> None:
    """Prints the distribution of the durations."""
    cpu = int(sys.argv[1])
    others = os.sched_getaffinity(0) - {cpu}
    if sys.argv[2:] != ["calm"]:
        os.sched_setaffinity(0, others or {cpu})
        threading.Thread(target=churn_memory, daemon=True).start()
    durations = sorted(hash_blocks(cpu))
    for name, share in (("p50", 0.5), ("p99", 0.99), ("max", 1)):
        print(f"{name} {durations[round(share * (len(durations) - 1))] / 1000:.1f} µs")


if __name__ == "__main__":
    main()
