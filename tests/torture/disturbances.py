"""What a machine goes through while noisetop runs on it: each is a context manager."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from noisetop.machine import system
from tests.kernel.loads import stop, stress, workload

CPUS = system.online_cpus()
LAST = max(CPUS)
_GROUPS = 20
_DISK = "3m"

Disturbance = Callable[[random.Random, Path], AbstractContextManager[object]]
"""Gets the folder that noisetop writes to."""


class Switch:
    """Of the last CPU."""

    toggles = 0
    """How often it was switched off so far."""
    _path = Path(f"/sys/devices/system/cpu/cpu{LAST}/online")

    @classmethod
    def possible(cls) -> bool:
        """Whether it can be switched off."""
        return len(CPUS) > 1 and cls._path.exists()

    @classmethod
    def set(cls, *, online: bool) -> None:
        """Switches it."""
        cls._path.write_text("1" if online else "0")
        cls.toggles += not online


def _repeated(action: Callable[[threading.Event], None]) -> AbstractContextManager[None]:
    """Calls it again and again from another thread; it may wait for the event, the end."""

    @contextmanager
    def running() -> Iterator[None]:
        over = threading.Event()

        def loop() -> None:
            while not over.is_set():
                action(over)

        thread = threading.Thread(target=loop)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    return running()


def hotplug(chance: random.Random, folder: Path) -> AbstractContextManager[object]:
    """The last CPU goes and comes."""

    def toggle(over: threading.Event) -> None:
        Switch.set(online=False)
        over.wait(0.2)
        Switch.set(online=True)
        over.wait(0.3)

    return _repeated(toggle)


def forks(chance: random.Random, folder: Path) -> AbstractContextManager[object]:
    """Processes come and go as fast as the machine makes them."""
    return stress("--fork", "2")


def threads(chance: random.Random, folder: Path) -> AbstractContextManager[object]:
    """So do threads."""
    return stress("--pthread", "2")


def cgroups(chance: random.Random, folder: Path) -> AbstractContextManager[object]:
    """Control groups come and go, with a process in each."""
    root = system.cgroup2_root()

    def churn(over: threading.Event) -> None:
        assert root is not None
        for number in range(_GROUPS):
            group = root / f"noisetop-torture-{os.getpid()}-{number}"
            group.mkdir()
            script = f"echo $$ > {group}/cgroup.procs"
            subprocess.run(["sh", "-c", script], check=True)
            group.rmdir()

    return _repeated(churn) if root else ExitStack()


def interrupts(chance: random.Random, folder: Path) -> AbstractContextManager[object]:
    """More than small rings hold."""
    return workload("membarrier", LAST, CPUS[0], 0)


@contextmanager
def full_disk(chance: random.Random, folder: Path) -> Iterator[None]:
    """Recordings go to a disk that is full within a second."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_DISK}", "none", folder], check=True)
    try:
        with interrupts(chance, folder):
            yield
        for path in folder.iterdir():
            shutil.copy2(path, folder.parent / f"full-disk-{path.name}")
    finally:
        subprocess.run(["umount", folder], check=True)


@contextmanager
def company(chance: random.Random, folder: Path) -> Iterator[None]:
    """perf and bpftrace on the same tracepoints."""
    perf = ["perf", "record", "-a", "-q", "-e", "sched:sched_switch,irq:*", "-o", "/dev/null"]
    script = "tracepoint:sched:sched_switch,tracepoint:irq:softirq_entry { @[probe] = count(); }"
    with ExitStack() as stack:
        for command in (perf, ["bpftrace", "-q", "-e", script]):
            if shutil.which(command[0]):
                process = subprocess.Popen(
                    command,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
                stack.callback(stop, process)
        yield


def calm(chance: random.Random, folder: Path) -> AbstractContextManager[object]:
    """Nothing."""
    return ExitStack()


def all_disturbances() -> tuple[Disturbance, ...]:
    """Those that this machine allows."""
    always: tuple[Disturbance, ...] = (
        forks,
        threads,
        cgroups,
        interrupts,
        full_disk,
        company,
        calm,
    )
    return (*always, hotplug, hotplug) if Switch.possible() else always
