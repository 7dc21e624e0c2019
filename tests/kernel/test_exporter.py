"""The exporter on the real kernel: the figures of top, without privileges, harming nothing."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noisetop.events.interruption import Interruptions
from noisetop.machine import affinity, system
from noisetop.metrics.listen import Address
from noisetop.metrics.registry import Published
from noisetop.metrics.run import Exported
from noisetop.tracing.stopper import Stopper
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from tests.kernel import forked
from tests.kernel.left_cpu import leave
from tests.kernel.loads import RESTS, workload
from tests.kernel.program import (
    PATIENCE_S,
    PROGRAM,
    held,
    left_in_kernel,
    loaded,
    started,
    wait_for,
)
from tests.metrics.json_sums import Labels, by_cpu, by_source, labels, waits
from tests.metrics.made_up import NS, Scrape, published
from tests.metrics.prometheus import Server, free_port, prometheus
from tests.metrics.test_totals import by, told

pytestmark = pytest.mark.kernel

CPU = max(system.online_cpus())
INTERVAL_NS = 250_000_000
"""Of the periods in this process: shorter ones show the same."""
HOUSE = affinity.choose((CPU,))
needs_two_cpus = pytest.mark.skipif(not HOUSE, reason="takes a CPU beside the watched one")


def of_us(exported: Exported, rows: Interruptions) -> Interruptions:
    """Those in which a thread of this process ran, or that one caused."""
    mine = {int(task.name) for task in Path("/proc/self/task").iterdir()}
    causes = [one.tid for one in exported.tracer.reader.join.triggers]
    classes = np.array(
        [one.noise_class == "thread" for one in exported.tracer.reader.namer.sources]
    )
    ran = classes.take(rows["source"]) & np.isin(rows["tid"], list(mine))
    sent = np.isin(np.array(causes).take(rows["trigger"]), list(mine))
    found: Interruptions = rows[ran | sent]
    return found


def told_as(sums: Counter[Labels], counting: Counter[Labels]) -> Counter[Labels]:
    """What has no series that counts is told as other of its class."""
    found = Counter[Labels]()
    for key, value in sums.items():
        other = labels(**{**dict(key), "source": "other"})
        found[key if counting[key] else other] += value
    return +found


@pytest.fixture
def short_periods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noisetop.metrics.run.INTERVAL_NS", INTERVAL_NS)


@needs_two_cpus
@pytest.mark.usefixtures("short_periods")
def test_scrapes_are_the_deltas_of_top_json_and_reach_no_watched_cpu() -> None:
    """Of each period by itself, while a load runs, over HTTP."""
    address = Address("127.0.0.1", free_port())
    with workload("timerfd", CPU, CPU, 500), Tracer(Target((CPU,)), housekeeping=HOUSE) as tracer:
        leave(CPU, HOUSE)
        tracer.start_window()
        stopper = Stopper()
        exported, both = Exported(tracer, stopper, f"CPU {CPU}"), Published()
        ours: list[tuple[str, ...]] = []
        moved: list[bool] = []
        tables = exported.feed.on_tables
        assert tables

        def look(ended: Interruptions, part: Interruptions) -> None:
            tables(ended, part)
            rows, sources = of_us(exported, ended), tracer.reader.namer.sources
            paths = [sources[number].path for number in rows["source"]]
            ours.extend(path for path in paths if path[-1] != "reschedule")
            moved.append(any(path[-1] == "reschedule" for path in paths))

        exported.feed.on_tables = look
        both.publish(exported.totals.snapshot())
        with address.serving(both):
            before = Scrape.over_http(address.url)
            for _ in range(4):
                sample = exported.next()
                both.publish(exported.totals.snapshot())
                after, again = Scrape.over_http(address.url), Scrape.over_http(address.url)
                assert after.text == again.text  # two scrapers
                net, cost, count = by_source([sample])
                names = ["noisetop_source_seconds_total", "noisetop_source_interruptions_total"]
                sums = [(net, NS), (count, 1), (cost, NS)]
                if sample.interval.all_cpus().cost_ns is not None:
                    names.append("noisetop_source_cost_seconds_total")
                counting = delta(before, after, names[0])
                for name, (expected, scale) in zip(names, sums, strict=False):
                    found = delta(before, after, name, scale=scale)
                    assert found == told_as(expected, counting)
                noise = delta(before, after, "noisetop_noise_seconds_total")
                assert by("cpu", noise) == +by_cpu([sample])
                stolen = delta(before, after, "noisetop_stolen_seconds_total")
                assert stolen.total() == net.total()
                waited = delta(before, after, "noisetop_wait_seconds_total")
                assert by("reason", waited) == +waits([sample])
                before = after
        tracer.stop_window()
        stopper.close()
    assert net.total() > 0
    assert not ours
    # When a thread goes to sleep, the scheduler may balance the load between the two CPUs.
    assert sum(moved) <= len(moved) // 2


def delta(before: Scrape, after: Scrape, name: str, *, scale: int = NS) -> Counter[Labels]:
    return told(after, name, scale=scale) - told(before, name, scale=scale)


@contextlib.contextmanager
def busy_in(group: Path) -> Iterator[int]:
    """A process that computes on the watched CPU, in a control group of its own."""
    group.mkdir()
    process = subprocess.Popen(["taskset", "-c", str(CPU), "sh", "-c", "while :; do :; done"])
    try:
        (group / "cgroup.procs").write_text(f"{process.pid}")
        yield process.pid
    finally:
        process.kill()
        process.wait()
        wait_for(lambda: not (group / "cgroup.procs").read_text(), "the control group to be empty")
        group.rmdir()


def ran_and_waited_ns(pid: int) -> tuple[int, int]:
    ran, waited, _ = map(int, Path(f"/proc/{pid}/schedstat").read_text().split())
    return ran, waited


@needs_two_cpus
@pytest.mark.usefixtures("short_periods")
def test_who_took_time_from_whom_is_told_by_control_group() -> None:
    """Two programs take turns on a CPU: one takes no more than it ran, and loses no more than it
    waited, by the scheduler's own books."""
    root = system.cgroup2_root()
    if root is None or not os.access(root / "cgroup.procs", os.W_OK):
        pytest.skip("takes a writable cgroup v2 file system")
    folders = [root / f"noisetop-test-{name}-{os.getpid()}" for name in ("a", "b")]
    with (
        busy_in(folders[0]) as first,
        busy_in(folders[1]) as second,
        Tracer(Target((CPU,)), housekeeping=HOUSE, samples_cost=False) as tracer,
    ):
        before = list(map(ran_and_waited_ns, (first, second)))
        tracer.start_window()
        exported = Exported(tracer, Stopper(), "")
        noise_ns = sum(exported.next().interval.noise_ns for _ in range(3))
        tracer.stop_window()
        after = list(map(ran_and_waited_ns, (first, second)))
        stolen = told(Scrape.of(published(exported).registry), "noisetop_stolen_seconds_total")
    assert stolen.total() == noise_ns
    for folder, (ran, waited), (ran_then, waited_then) in zip(folders, after, before, strict=True):
        taken_ns = by("culprit", stolen)[f"/{folder.name}"]
        assert 0 < taken_ns <= 1.01 * (ran - ran_then)
        mine = {
            dict(key)["culprit"]: ns
            for key, ns in stolen.items()
            if ("victim", f"/{folder.name}") in key
        }
        lost_ns = sum(ns for culprit, ns in mine.items() if culprit.startswith(("/", "thread")))
        assert lost_ns <= 1.01 * (waited - waited_then)


@pytest.mark.side_by_side
def test_it_has_no_capability_and_goes_on_tracing() -> None:
    port = free_port()
    with started("exporter", "-c", str(CPU), "--listen", str(port), until="metrics:") as process:
        url = f"http://127.0.0.1:{port}/metrics"
        first = Scrape.over_http(url).value("noisetop_traced_seconds_total")
        wait_for(
            lambda: Scrape.over_http(url).value("noisetop_traced_seconds_total") > first + 1,
            "another period",
        )
        tasks = [path.read_text() for path in Path(f"/proc/{process.pid}/task").glob("*/status")]
        assert len(tasks) > 2
        for text in tasks:
            sets = re.findall(r"(?m)^Cap(?:Inh|Prm|Eff|Amb):\s+(\S+)$", text)
            assert set(sets) == {"0" * 16}
            assert re.search(r"(?m)^NoNewPrivs:\s+1$", text)
        listening = _listening(process.pid)
        assert listening == {f"127.0.0.1:{port}"}


def _listening(pid: int) -> set[str]:
    done = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=True)
    return {line.split()[3] for line in done.stdout.splitlines() if f"pid={pid}," in line}


@pytest.mark.side_by_side
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_stays_attached(number: signal.Signals) -> None:
    port = free_port()
    with started("exporter", "-c", str(CPU), "--listen", str(port), until="metrics:") as process:
        assert loaded("prog") & held(process.pid)
        process.send_signal(number)
        assert process.wait(timeout=30) == (0 if number == signal.SIGTERM else -number)
    wait_for(lambda: not left_in_kernel(), "the programs to be gone")


@pytest.mark.side_by_side
def test_a_file_for_node_exporter(tmp_path: Path) -> None:
    """It is complete whenever it is there, and takes the place of an earlier one of ours only."""
    path = tmp_path / "noisetop.prom"
    arguments = ("exporter", "-c", str(CPU), "--textfile", str(path), "-d", "400ms")
    for _ in range(2):
        done = forked.run(*arguments)
        assert done.returncode == 0, done.stderr
        assert Scrape(path.read_text()).value("noisetop_traced_seconds_total") > 0.3
        assert [one.name for one in tmp_path.iterdir()] == [path.name]
    path.write_text("other_metric 1\n")
    refused = forked.run(*arguments)
    assert refused.returncode == 2
    assert path.read_text() == "other_metric 1\n"


GUIDE = Path(__file__).parents[2] / "docs/guide/exporter.md"


@pytest.mark.side_by_side
def test_the_first_commands_of_the_guide() -> None:
    """On a CPU of this machine, and the default port, which somebody may have taken."""
    page = GUIDE.read_text()
    command = re.findall(r"(?m)^ {4}sudo noisetop (exporter -c 2-3)$", page)[0]
    look = re.findall(r"(?m)^ {4}(curl .+)$", page)[0]
    port = free_port()
    arguments = [*command.replace("2-3", str(CPU)).split(), "--listen", str(port)]
    with (
        workload("timerfd", CPU, CPU, 500, rest_us=RESTS),
        forked.started(*arguments, until="metrics:"),
    ):
        seen = look.replace("19976", str(port))
        wait_for(lambda: "source=" in _shell(seen), "a source")


def _shell(command: str) -> str:
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    return done.stdout


UNIT = Path(__file__).parents[2] / "packaging/systemd/noisetop-exporter.service"


@pytest.mark.side_by_side
def test_the_capabilities_of_the_unit_are_enough_for_any_user() -> None:
    found = re.search(r"(?m)^AmbientCapabilities=(.+)$", UNIT.read_text())
    assert found
    names = ",".join(f"+{one.removeprefix('CAP_').lower()}" for one in found[1].split())
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o777)
        path = Path(folder) / "noisetop.prom"
        done = subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", f"--inh-caps={names}",
             f"--ambient-caps={names}", f"--bounding-set=-all,{names}", PROGRAM, "exporter",
             "-c", str(CPU), "--textfile", path, "-d", "400ms"],
            env={**os.environ, "XDG_STATE_HOME": folder, "HOME": folder},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert Scrape(path.read_text()).value("noisetop_traced_seconds_total") > 0.3


@pytest.mark.side_by_side
def test_one_line_without_privileges() -> None:
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--clear-groups", PROGRAM, "exporter"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "needs root" in done.stderr


@pytest.mark.side_by_side
def test_a_port_that_is_taken_is_told_before_anything_is_traced() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        start = time.monotonic()
        done = forked.run("exporter", "-c", str(CPU), "--listen", str(port))
        assert done.returncode == 1
        assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in done.stderr
        assert time.monotonic() - start < 30


@pytest.mark.packaging
def test_a_prometheus_scrapes_it_under_load(tmp_path: Path) -> None:
    """For some seconds; NOISETOP_SCRAPE_S=120 in the environment makes it two minutes. How long a
    scrape takes is told by the shortest: others use this machine as well."""
    seconds = int(os.environ.get("NOISETOP_SCRAPE_S", "6"))
    interval_s = 2 if seconds < 60 else 5
    port = free_port()
    arguments = ("exporter", "-c", str(CPU), "--listen", str(port))
    with workload("timerfd", CPU, CPU, 500), started(*arguments, until="metrics:"):
        with prometheus(tmp_path, port, interval_s=interval_s) as server:
            scraped = f"count_over_time(up[1h]) >= {seconds // interval_s}"
            wait_for(lambda: bool(server.rows(scraped)), "scrapes", patience_s=seconds + PATIENCE_S)
            assert server.value("min_over_time(up[1h])") == 1
            assert server.value("max_over_time(scrape_samples_scraped[1h])") < 2_000
            for name in COUNTERS:
                assert server.value(f"sum(resets({name}[1h]))") == 0
            took_s = server.value("min_over_time(scrape_duration_seconds[1h])")
            share = server.value(SHARE)
        metrics = Scrape.over_http(f"http://127.0.0.1:{port}/metrics").text
    print(f"shortest scrape {took_s * 1e3:.1f} ms, noise {share:.4%}")
    assert took_s < 0.05
    assert 0 < share < 1
    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=metrics, capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


RULES = Path(__file__).parents[2] / "packaging/prometheus/noisetop.rules.yml"
LOAD = ("sh", "-c", "while :; do :; done")


@pytest.mark.packaging
def test_from_the_first_command_of_the_guide_to_the_first_alert(tmp_path: Path) -> None:
    """With the rules as they are, but for times that are sixty times as short: two programs that
    are bound to the CPU take its time from each other, and one of them is named."""
    rules, port = tmp_path / RULES.name, free_port()
    rules.write_text(re.sub(r"(?<=[\[ ])(\d+)m\b", r"\1s", RULES.read_text()))
    with (
        bound_to_cpu(LOAD) as victim,
        bound_to_cpu(LOAD),
        started("exporter", "-p", str(victim), "--listen", str(port), until="metrics:"),
        prometheus(tmp_path, port, rules) as server,
    ):
        wait_for(lambda: bool(firing(server, "NoiseFromSource")), "the alert", patience_s=90)
        told = firing(server, "NoiseFromSource")
    assert any("thread › sh" in one["annotations"]["summary"] for one in told)


@contextlib.contextmanager
def bound_to_cpu(command: tuple[str, ...]) -> Iterator[int]:
    """Its PID."""
    process = subprocess.Popen(["taskset", "-c", str(CPU), *command])
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def firing(server: Server, name: str) -> list[dict[str, Any]]:
    """Alerts of that name which fire."""
    alerts: list[dict[str, Any]] = server.ask("alerts")["alerts"]
    return [
        one for one in alerts if one["state"] == "firing" and one["labels"]["alertname"] == name
    ]


COUNTERS = (
    "noisetop_source_seconds_total",
    "noisetop_stolen_seconds_total",
    "noisetop_noise_seconds_total",
    "noisetop_wait_seconds_total",
)
SHARE = (
    "sum(increase(noisetop_noise_seconds_total[1h]))"
    " / sum(increase(noisetop_traced_seconds_total[1h]))"
)
