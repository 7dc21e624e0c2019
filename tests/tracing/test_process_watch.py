from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import pytest

from noisetop.events.task_directory import MOST_PROCESSES, Details
from noisetop.machine.files import Files
from noisetop.machine.tasks import only_cpu_of
from noisetop.text.cpu_list import cpu_set
from noisetop.tracing import process_watch
from noisetop.tracing.process_watch import ProcessWatch
from tests.recordings import layout

UNIT = "/system.slice/redis.service"
KERNEL = 0x00200000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine with a process, its unit and its parent."""
    folder = tmp_path / f"sys/fs/cgroup{UNIT}"
    folder.mkdir(parents=True)
    (tmp_path / "proc/2").mkdir(parents=True)
    (tmp_path / "proc/2/comm").write_text("kthreadd\n")
    (tmp_path / "proc/mounts").write_text(f"cgroup2 {tmp_path}/sys/fs/cgroup cgroup2 rw 0 0\n")
    process(tmp_path, 1, "systemd", 0, "/init.scope")
    process(tmp_path, 10, "redis-server", 1, UNIT)
    return tmp_path


def process(root: Path, pid: int, name: str, parent: int, group: str) -> None:
    folder = root / f"proc/{pid}"
    folder.mkdir(exist_ok=True)
    (folder / "stat").write_text(f"{pid} ({name}) S {parent} 0\n")
    (folder / "cmdline").write_bytes(f"/bin/{name}\0-x\0".encode())
    (folder / "cgroup").write_text(f"0::{group}\n")


def named(*rows: tuple[int, str, int, int], flags: int = 0) -> npt.NDArray[np.void]:
    """Records: tid, name, process, its parent."""
    dtype = layout().task_name
    assert dtype is not None
    records = np.zeros(len(rows), dtype)
    for record, (tid, comm, tgid, parent) in zip(records, rows, strict=True):
        record["tid"], record["comm"], record["tgid"] = tid, comm.encode(), tgid
        record["parent_tgid"], record["task_flags"] = parent, flags
    return records


def test_a_process_and_its_parent_are_read_once(root: Path) -> None:
    watch = ProcessWatch(root)
    watch.note(named((11, "io_thd", 10, 1)))
    news = watch.news()
    assert news["processes"]["10"]["command"] == "/bin/redis-server -x"
    assert set(news["processes"]) == {"1", "10"}
    assert news["cgroups"][UNIT]["unit"] == "redis.service"
    number = (root / f"sys/fs/cgroup{UNIT}").stat().st_ino
    assert news["cgroups"][UNIT]["ids"] == [number]
    watch.note(named((10, "redis-server", 10, 1), (12, "bio", 10, 1)))
    assert watch.news() == {}


def test_another_name_is_another_program(root: Path) -> None:
    watch = ProcessWatch(root)
    watch.note(named((10, "redis-server", 10, 1)))
    watch.news()
    process(root, 10, "valkey", 1, UNIT)
    watch.note(named((10, "valkey", 10, 1)))
    assert watch.news()["processes"]["10"]["name"] == "valkey"


def test_a_process_that_is_gone_is_kept_until_its_number_has_another_name(root: Path) -> None:
    watch = ProcessWatch(root)
    watch.note(named((10, "redis-server", 10, 1)))
    watch.news()
    shutil.rmtree(root / "proc/10")
    watch.note(named((10, "redis-server", 10, 1)))
    assert watch.news() == {}
    assert watch.details.processes[10].name == "redis-server"
    watch.note(named((10, "ls", 10, 1)))
    assert watch.news()["gone_processes"] == [10]
    assert 10 not in watch.details.processes


def test_a_task_that_was_gone_at_once_leaves_its_control_group(root: Path) -> None:
    records = named((99, "ls", 99, 10))
    number = (root / f"sys/fs/cgroup{UNIT}").stat().st_ino
    records["cgroup"] = number
    watch = ProcessWatch(root)
    watch.note(records)
    news = watch.news()
    assert set(news["processes"]) == {"10"}
    assert watch.details.paths[number] == UNIT


def test_threads_of_the_kernel_are_not_read(root: Path) -> None:
    watch = ProcessWatch(root)
    watch.note(named((2, "kthreadd", 2, 0), flags=KERNEL))
    assert watch.news() == {}


def test_nothing_is_read_where_numbers_are_other_ones(root: Path) -> None:
    (root / "proc/2/comm").write_text("bash\n")
    watch = ProcessWatch(root)
    watch.note(named((10, "redis-server", 10, 1)))
    assert watch.news() == {}


def test_a_storm_of_processes_is_bounded(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_watch, "MOST_PROCESSES", 8)
    for pid in range(100, 120):
        process(root, pid, "worker", 1, UNIT)
    watch, read = ProcessWatch(root), Details()
    for pid in range(100, 120):
        watch.note(named((pid, "worker", pid, 1)))
        if pid < 110:  # these have ended by the time that there are too many
            read.add(watch.news())
            shutil.rmtree(root / f"proc/{pid}")
        else:
            read.add(watch.news())
    known = set(watch.details.processes)
    assert len(known) <= 8
    assert 119 in known
    assert not known & set(range(100, 109))
    assert read == watch.details
    assert MOST_PROCESSES == 4096


@dataclass
class Bound:
    """A thread, 11, and what says where it may run."""

    status: Path
    cpus: set[int] = field(default_factory=set)

    def to(self, allowed: str) -> None:
        """Binds it."""
        self.status.parent.mkdir(parents=True, exist_ok=True)
        self.status.write_text(f"Name:\tio_thd\nCpus_allowed_list:\t{allowed}\n")
        self.cpus = set(cpu_set(allowed) or ())

    def end(self) -> None:
        """From now on it is gone."""
        self.status.unlink()
        self.cpus = set()


@pytest.fixture
def bound(root: Path, monkeypatch: pytest.MonkeyPatch) -> Bound:
    thread = Bound(root / "proc/11/status")
    monkeypatch.setattr(process_watch, "allowed_cpus_of_thread", lambda _: thread.cpus)
    return thread


def test_the_only_cpu_of_a_thread_is_told_when_it_changes(root: Path, bound: Bound) -> None:
    watch = ProcessWatch(root)
    for allowed, news in (("1", {"11": 1}), ("1", {}), ("0-1", {"11": -1}), ("3", {"11": 3})):
        bound.to(allowed)
        watch.note(named((11, "io_thd", 10, 1)))
        assert watch.news().get("bound_threads", {}) == news
    bound.end()
    watch.note(named((11, "io_thd", 10, 1)))
    assert watch.news() == {}
    assert watch.details.bound == {11: 3}
    kept = Details()
    kept.add(watch.details.to_file())
    assert kept.bound == {11: 3}


def test_the_cpu_of_a_thread_that_is_not_named_again_is_read_once_a_second(
    root: Path, bound: Bound, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound.to("0-1")
    now_s = [1_000.0]
    monkeypatch.setattr(process_watch, "time", SimpleNamespace(monotonic=lambda: now_s[0]))
    watch = ProcessWatch(root)
    watch.note(named((11, "io_thd", 10, 1)))
    watch.news()
    bound.to("1")
    now_s[0] += 0.9
    assert watch.news() == {}
    now_s[0] += 0.1
    assert watch.news()["bound_threads"] == {"11": 1}


def test_a_status_is_read_again_when_the_kernel_says_other_cpus(
    root: Path, bound: Bound, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch, reads = ProcessWatch(root), list[int]()

    def read(tid: int, files: Files) -> int | None:
        reads.append(tid)
        return only_cpu_of(tid, files)

    monkeypatch.setattr(process_watch, "only_cpu_of", read)
    bound.to("1")
    for _ in range(3):
        watch.note(named((11, "io_thd", 10, 1)))
        watch.news()
    assert reads == [11]
    bound.to("0")
    watch.note(named((11, "io_thd", 10, 1)))
    assert watch.news()["bound_threads"] == {"11": 0}
