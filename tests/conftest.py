"""Where tests of the real kernel run, and where a skipped test is a failure."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import os
import platform
import signal
import struct
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from noisetop.errors import NoisetopError
from noisetop.machine.allocation import collect_rarely
from noisetop.machine.system import ROOT
from noisetop.tracing.backend import choose
from noisetop.tracing.privileges import check_privileges

# They boot machines: only make test-guests and make test-configs ask for them.
collect_ignore = ["guests", "configs"]

# Names the markers whose tests must run: "kernel viewer". "pure" is for those with none of _KINDS.
MUST_RUN = "NOISETOP_MUST_RUN"
_KINDS = {"kernel", "packaging", "viewer"}

# include/uapi/linux/bpf.h, and the system call's number by machine
_BPF_MAP_CREATE, _BPF_MAP_TYPE_LRU_HASH = 0, 9
_SYS_BPF = {"x86_64": 321, "aarch64": 280}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declares --thorough."""
    parser.addoption(
        "--thorough",
        action="store_true",
        help="forty times as many examples of made-up input, and every draw and size of it",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Before any test is imported: @settings takes what it does not name from the profile."""
    _hear_interrupts()
    collect_rarely()
    try:
        from hypothesis import settings
    except ImportError:  # in a guest, which runs tests of the kernel only
        return
    count = 1000 if config.getoption("--thorough") else 25
    # How long one takes says more about the machine.
    settings.register_profile("noisetop", max_examples=count, deadline=None)
    settings.load_profile("noisetop")


def _hear_interrupts() -> None:
    """A job in the background ignores what a terminal's keys send, and so would what it starts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


@pytest.fixture(scope="session")
def thorough(request: pytest.FixtureRequest) -> bool:
    """Whether sizes and numbers of draws are the full ones, for tests that take long with them."""
    return bool(request.config.getoption("--thorough"))


def pytest_collection_finish() -> None:
    """What was collected stays: Python's collector, which takes a tenth of the time of the tests,
    looks at none of it again."""
    gc.collect()
    gc.freeze()
    # At its end a process frees what is left, and nanobind tells what it could not. Not before:
    # pytest looks at all objects five times at the end of a session, of an inner one as well.
    atexit.register(gc.unfreeze)


def _bpf_is_allowed() -> bool:
    """Whether bpf(2) gets through: root in a container can hold every capability in vain.

    An LRU hash takes CAP_BPF in the first user namespace, whatever unprivileged users may do.
    """
    attributes = struct.pack("4I", _BPF_MAP_TYPE_LRU_HASH, 4, 4, 1).ljust(72, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(_SYS_BPF[platform.machine()], _BPF_MAP_CREATE, attributes, len(attributes))
    if fd < 0:
        return False
    os.close(fd)
    return True


def kernel_obstacle(root: Path = ROOT) -> str | None:
    """Why the tests of the real kernel cannot run here; None when they can."""
    try:
        check_privileges(root)
        choose(root=root)
    except NoisetopError as error:
        return f"{error}"
    return None if _bpf_is_allowed() else "bpf(2) is not allowed here, in spite of the capabilities"


_CPUS = os.sched_getaffinity(0)


@pytest.fixture(autouse=True)
def _keep_affinity() -> Iterator[None]:
    """noisetop binds its process to housekeeping CPUs, for a fixture as well, and programs inherit
    that: each test gets all of them again."""
    if os.sched_getaffinity(0) != _CPUS:
        os.sched_setaffinity(0, _CPUS)
    yield
    if os.sched_getaffinity(0) != _CPUS:
        for task in Path("/proc/self/task").iterdir():
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(int(task.name), _CPUS)


def _must_run() -> set[str]:
    return set(os.environ.get(MUST_RUN, "").split())


def _is_generated(item: pytest.Item) -> bool:
    return (
        hasattr(getattr(item, "obj", None), "hypothesis")
        or "thorough" in getattr(item, "fixturenames", ())
        or item.get_closest_marker("thorough") is not None
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if _is_generated(item):
            item.add_marker(pytest.mark.generated)
    if not config.getoption("--thorough"):
        left_out = [item for item in items if item.get_closest_marker("thorough")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]
    of_kernel = [item for item in items if item.get_closest_marker("kernel")]
    obstacle = kernel_obstacle() if of_kernel else None
    if obstacle is not None:
        for item in of_kernel:
            item.add_marker(pytest.mark.skip(reason=obstacle))


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    return report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    kinds = _KINDS & {marker.name for marker in item.iter_markers()} or {"pure"}
    if kinds & _must_run() and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped although {MUST_RUN} names it: {_reason(report)}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    kinds = _KINDS & set(collector.nodeid.split("/")) or {"pure"}
    if report.skipped and kinds & _must_run():
        report.outcome = "failed"
        report.longrepr = f"skipped although {MUST_RUN} names it: {_reason(report)}"
    return report
