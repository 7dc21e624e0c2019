from collections.abc import Sequence
from mmap import mmap
from typing import Any

class TracerError(Exception):
    """args: (errno, step, libbpf's last message)."""

class Session:
    """A loaded BPF object and its drain thread. Raises TracerError."""

    def __init__(
        self,
        cpus: Sequence[int],
        others: Sequence[int],
        victims: int,
        victim_tgid: int,
        victim_cgroup: int,
        victim_cgroup_level: int,
        csd_callback: int,
        tick_function: int,
        stacks: bool,
        faults: bool,
        ring_records: int,
        spool_fd: int,
        drain_cpu: int,
        drain_interval_ns: int,
        batch_limit: int,
    ) -> None: ...
    def attach(self) -> None: ...
    def open_books(self) -> int: ...
    def close_books(self) -> int: ...
    def read(self) -> bytes: ...
    def books(self) -> bytes: ...
    def counters(self) -> dict[str, int]: ...
    def programs(self) -> list[dict[str, Any]]: ...
    def stacks(self) -> dict[int, list[int]]: ...
    def append(self, block: bytes, /) -> None: ...
    def add_victim(self, tgid: int, /) -> None: ...
    def enable_stats(self) -> int: ...
    def close(self) -> None: ...

def layout() -> dict[str, Any]: ...

SPIN_HEAD_BYTES: int
SPIN_GAP_BYTES: int

SpinThread = tuple[mmap, int, bool, str, int, int, int, int, int]

def spin_start(threads: Sequence[SpinThread], group: int, /) -> int:
    """Forks a process that spins as noisetop/native/spin.h describes; its pid. Raises OSError.

    Each thread: memory, cpu, fenced, name, policy, nice, priority, runtime_ns, period_ns; a policy
    below 0 leaves the scheduling as it is.
    """

def spin_set(
    memory: mmap, begin: int, end: int, threshold: int, longer: int, busy: int, sleep_ns: int, /
) -> None: ...
def spin_stop(memory: mmap, /) -> None: ...
def spin_state(memory: mmap, /) -> dict[str, Any]: ...
def spin_gaps(memory: mmap, /) -> bytes: ...
def clock_pair(tries: int, /) -> tuple[int, int, int]: ...
def numa_measure(cpu: int, node: int, array_bytes: int, repeats: int, /) -> dict[str, Any]:
    """Raises OSError: (errno, what was wrong: CPU, memory, node or thread)."""
