"""CPUs of a made-up machine that go and come; the real kernel's are in tests/kernel."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from noisetop.counters.offline_cpus import OfflineInterval
from noisetop.tracing.cpu_hotplug import HotplugWatch

Told = list[tuple[frozenset[int], tuple[OfflineInterval, ...]]]
FAR_NS = 1 << 62


@pytest.fixture
def told() -> Told:
    return []


@pytest.fixture
def watch(tmp_path: Path, told: Told) -> HotplugWatch:
    set_online(tmp_path, "0-2")
    watch = HotplugWatch((1,), lambda online, all_: told.append((online, all_)), tmp_path)
    watch.open()
    return watch


def set_online(root: Path, cpus: str) -> None:
    path = root / "sys/devices/system/cpu/online"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(cpus)


def test_nothing_happens(watch: HotplugWatch, told: Told) -> None:
    assert watch.intervals() == ()
    watch.close()
    assert told == []


def test_what_no_uevent_told_shows_in_the_list(
    watch: HotplugWatch, told: Told, tmp_path: Path
) -> None:
    set_online(tmp_path, "0,2")
    (gone,) = watch.intervals()
    assert (gone.cpu, gone.until_ns, gone.watched) == (1, None, True)
    set_online(tmp_path, "0-3")
    watch.close()
    back, new = watch.intervals()
    assert gone.from_ns is not None
    assert back.from_ns == gone.from_ns
    assert back.until_ns is not None
    assert back.until_ns > gone.from_ns
    assert (new.cpu, new.from_ns, new.watched) == (3, None, False)
    assert [online for online, _ in told] == [{0, 2}, {0, 1, 2}, {0, 1, 2, 3}]
    assert told[-1][1] == (back, new)


def test_a_watched_cpu_that_is_offline_from_the_beginning(tmp_path: Path, told: Told) -> None:
    set_online(tmp_path, "0")
    watch = HotplugWatch((1, 0), lambda online, all_: told.append((online, all_)), tmp_path)
    watch.open()
    assert watch.intervals() == (OfflineInterval(1, None, None),)
    watch.close()


def test_a_sandbox_without_uevents(
    tmp_path: Path, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> socket.socket:
        raise PermissionError(1, "not permitted")

    monkeypatch.setattr(socket, "socket", refuse)
    set_online(tmp_path, "0-1")
    watch = HotplugWatch((1,), lambda online, all_: told.append((online, all_)), tmp_path)
    watch.open()
    set_online(tmp_path, "0")
    watch.close()
    assert [one.cpu for one in watch.intervals()] == [1]
    watch.close()
