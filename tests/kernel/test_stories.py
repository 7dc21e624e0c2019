"""What people come with, as stories: the culprit is finding 1, and its remedy as printed helps."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from noisetop.machine import system
from tests.kernel import program
from tests.kernel.loads import PATIENCE_S, Workload, prepared, stop
from tests.kernel.provoked import program as python
from tests.kernel.provoked import urgent

pytestmark = [pytest.mark.kernel, pytest.mark.story]

SENDER_CPU = min(system.online_cpus())
VICTIM_CPU = max(system.online_cpus())
URGENT = os.sched_param(1)
HEAVY = -20
LEFT = 0.05
"""Of what a culprit cost, at most, when its remedy was typed."""
Document = dict[str, Any]
Finding = dict[str, Any]


def diagnose(*options: str | Path) -> Document:
    """Of CPU or process, as the options say, for a second unless they say otherwise."""
    done = program.run(
        *("diagnose", "-H", str(SENDER_CPU), "-d", "1s", "--json", *options),
        preexec_fn=lambda: os.sched_setaffinity(0, {SENDER_CPU}),
    )
    assert done.returncode == 0, done.stderr
    document: Document = json.loads(done.stdout)
    return document


def told(document: Document) -> list[tuple[str, int, list[str]]]:
    return [
        (one["key"], one["rank_ns"], [who["label"] for who in one["culprits"]][:3])
        for one in document["findings"][:5]
    ]


def until(measure: Callable[[], Document], good: Callable[[Document], bool]) -> Document:
    """Measures again while programs of others on this machine are in the way."""
    end = time.monotonic() + PATIENCE_S - 10
    while not good(document := measure()):
        assert time.monotonic() < end, told(document)
    return document


def shell(text: str) -> None:
    """Types a remedy as it is printed."""
    subprocess.run(["sh", "-c", text], check=True, capture_output=True)


def assert_relieved(before: Path, key: str, *target: str) -> None:
    """Measures again: next to nothing is left of a finding."""
    after = diagnose(*target, "--against", before)
    (change,) = [one for one in after["changes"] if one["key"] == key]
    assert change["after_rate_ns"] <= LEFT * change["before_rate_ns"], (change, told(after))


def assert_measured_is_not_accused(document: Document, *names: str) -> None:
    """Nothing that is measured is a culprit of what others do to it."""
    for finding in document["findings"]:
        if finding["rule"] in ("other-program", "realtime-program"):
            accused = {who["name"] for who in finding["culprits"]}
            assert accused.isdisjoint(names), told(document)


@contextlib.contextmanager
def undisturbed(act: str) -> Iterator[Workload]:
    """A load in action with real-time priority: programs of others neither take turns with its
    victim nor slow down who acts."""
    with prepared(VICTIM_CPU, SENDER_CPU, act) as load:
        for tid in load.tids.values():
            os.sched_setscheduler(tid, os.SCHED_FIFO, URGENT)
        load.begin()
        yield load


@contextlib.contextmanager
def spinning() -> Iterator[Workload]:
    """A normal program that has most of its CPU."""
    with prepared(VICTIM_CPU, SENDER_CPU, "spin:100:0") as load:
        for tid in load.tids.values():
            os.setpriority(os.PRIO_PROCESS, tid, HEAVY)
        load.begin()
        yield load


def of_process(pid: int) -> list[str]:
    """What it loses on the victim's CPU."""
    return ["-p", str(pid), "-c", str(VICTIM_CPU)]


BARRIERS = f"""
import ctypes, platform, time
libc = ctypes.CDLL(None)
libc.prctl(15, b"barriers")
number = {{"x86_64": 324, "aarch64": 283}}[platform.machine()]
print("ready", flush=True)
while True:
    assert not libc.syscall(number, {1 << 1}, 0, 0)  # MEMBARRIER_CMD_GLOBAL_EXPEDITED
    time.sleep(0.0003)
"""


def test_another_process_calls_for_barriers_of_all_that_registered(tmp_path: Path) -> None:
    """The victim registered, so it is interrupted whenever anybody calls."""
    saved = tmp_path / "before.json"
    with (
        python(SENDER_CPU, BARRIERS) as pid,
        urgent([pid]),
        undisturbed("spin:100:0") as load,
    ):
        target = of_process(load.pid)
        document = until(
            lambda: diagnose(*target, "--save", saved, "--force"),
            lambda seen: seen["findings"][0]["key"] == "membarrier-global:barriers",
        )
        finding = document["findings"][0]
        assert [who["pid"] for who in finding["culprits"]] == [pid]
        assert finding["origins"] == ["others"]
        assert (finding["remedy"], finding["undo"]) == (f"kill -STOP {pid}", f"kill -CONT {pid}")
        assert "MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED" in finding["otherwise"]
        shell(finding["remedy"])
        assert_relieved(saved, finding["key"], *target)
        shell(finding["undo"])
        again = diagnose(*target)
        assert finding["key"] in {one["key"] for one in again["findings"]}


@pytest.mark.parametrize(
    ("kind", "rule", "remedy"),
    [
        ("mprotect", "protect", "no mprotect in threads of the program"),
        ("munmap", "unmap", "MALLOC_MMAP_MAX_=0 "),
    ],
)
def test_a_thread_of_the_program_changes_its_memory(
    kind: str, rule: str, remedy: str, tmp_path: Path
) -> None:
    saved = tmp_path / "before.json"
    with undisturbed(f"{kind}:2000:0") as load:
        document = until(
            lambda: diagnose(*of_process(load.pid), "--save", saved, "--force"),
            lambda seen: seen["findings"][0]["key"] == f"{rule}:{kind}",
        )
        finding = document["findings"][0]
        assert finding["origins"] == ["program"]
        assert f"{kind} {load.tids[kind]}" in finding["culprits"][0]["label"]
        assert finding["remedy"].startswith(remedy)
    with undisturbed("spin:2000:0") as load:
        assert_relieved(saved, finding["key"], *of_process(load.pid))


def test_the_allocator_of_a_thread_is_told_to_keep_its_memory(tmp_path: Path) -> None:
    saved = tmp_path / "before.json"
    with undisturbed("malloc:2000:0") as load:
        document = until(
            lambda: diagnose(*of_process(load.pid), "--save", saved, "--force"),
            lambda seen: seen["findings"][0]["key"] == "unmap:malloc",
        )
    finding = document["findings"][0]
    words = shlex.split(finding["remedy"])
    assert words[-3:] == [str(VICTIM_CPU), str(SENDER_CPU), "malloc:2000:0"]
    typed = dict(re.findall(r"(\w+)=(\S+)", " ".join(words[:2])))
    assert list(typed) == ["MALLOC_MMAP_MAX_", "MALLOC_TRIM_THRESHOLD_"]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in typed.items():
            patch.setenv(name, value)
        with undisturbed("malloc:2000:0") as load:
            assert_relieved(saved, finding["key"], *of_process(load.pid))


@contextlib.contextmanager
def redis(folder: Path) -> Iterator[int]:
    """An instance of our own on the victim's CPU; others do not take turns with it."""
    # One program, that looks at its name; without the package of the server no service is started.
    program_of_both = shutil.which("redis-server") or shutil.which("redis-check-rdb")
    assert program_of_both, "redis-server is missing: make test installs it"
    server = folder / "redis-server"
    server.symlink_to(program_of_both)
    options = "--save '' --appendonly no --daemonize no --logfile /dev/null"
    process = subprocess.Popen(
        [server, "--port", PORT, "--unixsocket", str(folder / "socket"), *shlex.split(options)],
        cwd=folder,
        start_new_session=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {VICTIM_CPU}),
    )
    try:
        program.wait_for((folder / "socket").exists, "redis-server")
        os.sched_setscheduler(process.pid, os.SCHED_FIFO, URGENT)
        yield process.pid
    finally:
        stop(process)


PORT = "16379"


@contextlib.contextmanager
def redis_benchmark(*address: str) -> Iterator[None]:
    """Requests as fast as they are answered."""
    benchmark = shutil.which("redis-benchmark")
    assert benchmark, "redis-benchmark is missing: make test installs it"
    process = subprocess.Popen(
        [benchmark, *address, "-t", "set", "-n", str(10**9), "-c", "20", "-q"],
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {SENDER_CPU}),
    )
    try:
        yield
    finally:
        stop(process)


def test_redis_sends_packets_to_its_own_machine(tmp_path: Path) -> None:
    """Its noise is mostly its own, and no network card has a part in it."""
    saved = tmp_path / "before.json"
    with redis(tmp_path) as pid:
        target = of_process(pid)
        with redis_benchmark("-p", PORT):
            document = until(
                lambda: diagnose(*target, "--save", saved, "--force"),
                lambda seen: "loopback:redis-server" in {one["key"] for one in seen["findings"]},
            )
        assert_measured_is_not_accused(document, "redis-server", "redis-benchmark")
        own = [one for one in document["findings"] if one["origins"][:1] == ["self"]]
        others = document["findings"][: len(document["findings"]) - len(own)]
        assert document["findings"][len(others) :] == own, "what is self-inflicted comes last"
        finding = own[0]
        assert finding["key"] == "loopback:redis-server"
        received = [one for one in document["findings"] if ["softirq", "NET_RX"] in one["paths"]]
        assert finding["self_ns"] > 0.9 * sum(one["rank_ns"] for one in received)
        assert "ethtool" not in finding["remedy"] + finding["otherwise"]
        assert "Unix socket" in finding["remedy"]
        assert finding["otherwise"].endswith("/sys/class/net/lo/queues/rx-0/rps_cpus")
        with redis_benchmark("-s", str(tmp_path / "socket")):
            assert_relieved(saved, finding["key"], *target)


@contextlib.contextmanager
def script(folder: Path, line: str) -> Iterator[int]:
    """A shell script that runs a line ten times a second, on the victim's CPU."""
    path = folder / "cronish.sh"
    path.write_text(f"#!/bin/sh\nwhile :; do {line}; sleep 0.1; done\n")
    path.chmod(0o755)
    process = subprocess.Popen(
        [path],
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {VICTIM_CPU}),
    )
    try:
        yield process.pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)
        stop(process)


@pytest.mark.parametrize("mode", ["-p", "-c"])
def test_a_script_starts_short_programs_on_the_cpu(mode: str, tmp_path: Path) -> None:
    """They are gone when somebody looks, so the script is named, and moved."""
    saved = tmp_path / "before.json"
    with (
        spinning() as load,
        script(tmp_path, "ls /usr/bin") as pid,
    ):
        target = of_process(load.pid) if mode == "-p" else ["-c", str(VICTIM_CPU)]
        target += ["-d", "2s"]

        def is_first(document: Document) -> bool:
            first = document["findings"][0]
            return bool(first["key"] == "other-program" and first["culprits"][0]["pid"] == pid)

        document = until(lambda: diagnose(*target, "--save", saved, "--force"), is_first)
        finding = document["findings"][0]
        culprit = finding["culprits"][0]
        assert re.search(rf"starts/s of .*ls.* by cronish\.sh \(PID {pid}", culprit["label"])
        assert 0 < culprit["starts_per_s"] < 25
        assert culprit["label"] in finding["cause"]
        assert_measured_is_not_accused(document, "victim", "workload")
        assert re.search(rf"\b{pid}\b", finding["remedy"])
        shell(finding["remedy"])
        after = diagnose(*target)
        left = [who for one in after["findings"] for who in one["culprits"] if who["pid"] == pid]
        assert sum(who["net_ns"] for who in left) <= LEFT * culprit["net_ns"], told(after)
        shell(finding["undo"])
        assert os.sched_getaffinity(pid) == {VICTIM_CPU}
