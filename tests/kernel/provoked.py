"""Settings and threads changed for a test, and put back whatever happens."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.kernel.loads import LIFETIME_S, Workload, prepared, stop

FIRST, SECOND = (os.sched_param(priority) for priority in (1, 2))
"""Priorities: of a victim that normal tasks shall not disturb, and of what does disturb it."""
LARGE_WEIGHT = -15


@contextlib.contextmanager
def written(path: str | Path, value: str) -> Iterator[None]:
    """A file of /proc or /sys with another value."""
    file = Path(path)
    before = file.read_text().strip()
    # A file that offers several values marks the one that holds.
    chosen = re.search(r"\[(\S+)\]", before)
    file.write_text(value)
    try:
        yield
    finally:
        file.write_text(chosen[1] if chosen else before)


@contextlib.contextmanager
def bound(tid: int, cpu: int) -> Iterator[None]:
    """A thread on one CPU."""
    before = os.sched_getaffinity(tid)
    os.sched_setaffinity(tid, {cpu})
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(tid, before)


@contextlib.contextmanager
def urgent(tids: Iterable[int]) -> Iterator[None]:
    """Threads that go before a real-time victim."""
    changed = []
    try:
        for tid in tids:
            with contextlib.suppress(ProcessLookupError):
                os.sched_setscheduler(tid, os.SCHED_FIFO, SECOND)
                changed.append(tid)
        yield
    finally:
        for tid in changed:
            with contextlib.suppress(ProcessLookupError):
                os.sched_setscheduler(tid, os.SCHED_OTHER, os.sched_param(0))


@contextlib.contextmanager
def urgent_workers() -> Iterator[None]:
    """The workers of unbound work go before a real-time victim, and so does each that is born
    meanwhile: where work waits for a disk, another worker does the next."""
    known: set[int] = set()
    ended = threading.Event()
    with contextlib.ExitStack() as stack:

        def look() -> None:
            fresh = [tid for tid in kernel_threads("kworker/u.*") if tid not in known]
            known.update(fresh)
            stack.enter_context(urgent(fresh))

        def look_on() -> None:
            while not ended.wait(0.2):
                look()

        look()
        thread = threading.Thread(target=look_on)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def line_of_random_numbers() -> int:
    """The interrupt of a device that nobody else asks anything of."""
    name = Path("/sys/class/misc/hw_random/rng_current").read_text().strip()
    assert name.startswith("virtio_rng"), f"no test knows how to have {name or 'nothing'} interrupt"
    (device,) = Path("/sys/bus/virtio/drivers/virtio_rng").glob("virtio*")
    return _line(f"{device.name}-input")


def disk_of(file: Path) -> int:
    """The interrupt of the disk on which a file lies."""
    device = file.stat().st_dev
    block = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    names = [part for part in block.parts if re.fullmatch("virtio[0-9]+", part)]
    assert names, f"no test knows how to have the disk of {file} interrupt"
    return _line(f"{names[0]}-req.0")


def _line(name: str) -> int:
    lines = Path("/proc/interrupts").read_text().splitlines()
    return next(int(line.split(":")[0]) for line in lines if f" {name}" in line)


def kernel_threads(pattern: str) -> list[int]:
    """Those whose names match."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if not (folder / "cmdline").read_bytes() and re.fullmatch(
                pattern, (folder / "comm").read_text().strip()
            ):
                found.append(int(folder.name))
    return found


def weigh(pid: int, weight: int) -> None:
    """Sets the weight of a process among normal tasks."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        os.setpriority(os.PRIO_PROCESS, int(task.name), weight)
    # Between sessions the weight of each counts, and that of a thread only within its own.
    try:
        Path(f"/proc/{pid}/autogroup").write_text(str(weight))
    except FileNotFoundError:
        pass  # CONFIG_SCHED_AUTOGROUP
    except OSError as error:
        if error.errno != errno.EINVAL:  # the session that the kernel's threads are in has none
            raise


@contextlib.contextmanager
def attentive() -> Iterator[None]:
    """This process and the commands that it starts meanwhile get as much time as a favoured load.

    It has no real-time priority: with that it would wait in vain for normal tasks that are where it
    wants to be in the kernel, which has many such places.
    """
    before = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        weigh(os.getpid(), LARGE_WEIGHT)
        yield
    finally:
        weigh(os.getpid(), before)


@contextlib.contextmanager
def favoured(victim_cpu: int, sender_cpu: int, *acts: str) -> Iterator[Workload]:
    """A load at rest whose threads get nearly all of the time that normal tasks share. Kernel
    threads are among those: no load has to wait for one."""
    with prepared(victim_cpu, sender_cpu, *acts) as load:
        weigh(load.pid, LARGE_WEIGHT)
        yield load


@contextlib.contextmanager
def undisturbed(victim_cpu: int, sender_cpu: int, *acts: str) -> Iterator[Workload]:
    """A favoured load whose victim has real-time priority, so that programs of others do not take
    turns with it."""
    with favoured(victim_cpu, sender_cpu, *acts) as load:
        os.sched_setscheduler(load.tids["victim"], os.SCHED_FIFO, FIRST)
        yield load


@contextlib.contextmanager
def program(cpu: int, text: str) -> Iterator[int]:
    """A Python program on one CPU that says a line when its noise begins."""
    process = subprocess.Popen(
        [sys.executable, "-c", f"import signal; signal.alarm({LIFETIME_S})\n{text}"],
        stdout=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {cpu}),
    )
    try:
        assert process.stdout
        assert process.stdout.readline(), f"it ended with {process.wait()}"
        yield process.pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)
        stop(process)
