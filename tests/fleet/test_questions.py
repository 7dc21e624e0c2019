"""Questions to a fleet of made-up hosts with planted faults, and the engines that answer them."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noisetop import cli
from noisetop.errors import NoisetopError, UsageError
from noisetop.fleet.cohorts import compare_cohorts
from noisetop.fleet.engines import open_engine
from noisetop.fleet.engines.spark import master_of, missing
from noisetop.fleet.folder import MARKER, Fleet, open_fleet
from noisetop.fleet.outliers import outliers, threshold
from noisetop.fleet.rates import Rates, histograms, merged, rates, squares
from noisetop.fleet.runs import read_runs
from noisetop.fleet.stored import StoredFleet
from noisetop.fleet.trend import trends
from tests.fleet.fleets import BLOCK_NS, fleet_of, host, rates_and_squares
from tests.recordings import HOSTILE

HOSTS, DAYS, CHANGED = 20, 4, 2
TICK, SCHED = "timer › local_timer › tick_nohz_handler", "softirq › SCHED"
BLOCKS, COUNT, NET_NS = 15, 200, 40_000
BAD = "irq › 77 bad-nic.3"


@functools.cache
def runs() -> Sequence[tuple[tuple[int, int], Any, dict[str, str]]]:
    """On the newer kernel the tick is slower, host 5 has a bad NIC, since day 2 SCHED is slower."""
    found = []
    for day in range(DAYS):
        for number in range(HOSTS):
            newer = number >= HOSTS // 2
            slower = {TICK: 1.6} if newer else {}
            if day >= CHANGED:
                slower[SCHED] = 4.0
            made = host(
                number,
                day=day,
                blocks=BLOCKS,
                slower=slower,
                planted=[(BAD, COUNT, NET_NS)] if number == 5 else (),
                kernel="6.12.1" if newer else "6.1.9",
            )
            found.append(((day, number), made, {"env": "canary" if newer else "production"}))
    return found


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    path = tmp_path_factory.mktemp("fleet") / "it's [1] {a}*"
    return fleet_of(path, [(made, labels) for _, made, labels in runs()])


def asked(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Any:
    assert cli.run(["fleet", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_an_engine_computes_what_the_summaries_tell(fleet: Fleet) -> None:
    of_runs = {f"node-{n}": (d, n) for (d, n), *_ in runs()}
    expected, error = rates_and_squares([(unit, made) for unit, made, _ in runs()])
    with open_engine("duckdb", [fleet], 1) as engine:
        found = read_runs(engine)
        days = sorted({run.day for run in found})

        def unit(run: Any) -> tuple[int, int]:
            return days.index(run.day), of_runs[run.host][1]

        table = rates(engine, found, unit)
        order = [table.units.index(one) for one in expected.units]
        assert table.sources == expected.sources
        for name in ("wall_ns", "count", "net_ns", "max_ns"):
            np.testing.assert_array_equal(getattr(table, name)[order], getattr(expected, name))
        np.testing.assert_allclose(squares(engine, found, table, unit)[order], error)
        counts = histograms(engine, found, lambda run: "all")
    whole, seen = merged(expected, lambda _: "all")
    for at, source in enumerate(whole.sources):
        assert counts["all", source].sum() == whole.count[0, at]
    assert seen.max() == HOSTS * DAYS


def test_top_ranks_groups(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    answer = asked(capsys, "top", fleet.path, "--by", "kernel,env", "--top", "40")
    names = [one["group"] for one in answer["groups"]]
    assert names == ["kernel 6.1.9, env production", "kernel 6.12.1, env canary"]
    for group in answer["groups"]:
        assert group["hosts"] == HOSTS // 2
        net = [one["net_ns"] for one in group["sources"]]
        assert net == sorted(net, reverse=True)
        assert sum(one["share"] for one in group["sources"]) == pytest.approx(1)
        for one in group["sources"]:
            assert one["percentiles_ns"] == sorted(one["percentiles_ns"])
            assert one["percentiles_ns"][-1] <= one["max_ns"]
    bad = next(one for one in answer["groups"][0]["sources"] if "bad-nic" in one["source"])
    assert (bad["source"], bad["hosts"], bad["count"]) == ("irq › bad-nic.*", 1, 2 * COUNT * DAYS)


def test_hosts_are_ranked(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    found = asked(capsys, "hosts", fleet.path, "--top", "40")["hosts"]
    assert (found[0]["host"], found[0]["top_source"]) == ("node-5", "irq › bad-nic.*")
    assert {one["runs"] for one in found} == {DAYS}
    assert len(found) == HOSTS
    by_day = asked(capsys, "hosts", fleet.path, "--by", "day", "--top", "3")
    assert {one["host"] for one in by_day["hosts"]} == {"node-5"}
    assert by_day["more"] == HOSTS * DAYS - 3


def test_the_planted_regression_is_found(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    answer = asked(capsys, "cohorts", "kernel=6.1.*", "env=can*", fleet.path)
    assert answer["changed"] == [TICK]
    tick = next(one for one in answer["sources"] if one["source"] == TICK)
    assert tick["time"]["b"] / tick["time"]["a"] == pytest.approx(1.6, rel=0.1)
    assert answer["smallest_p"] < 0.01


def test_the_planted_fault_is_found(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    (group,) = asked(capsys, "outliers", fleet.path)["groups"]
    (one,) = group["outliers"]
    assert (one["host"], one["source"]) == ("node-5", "irq › bad-nic.*")
    planted = COUNT * NET_NS / (BLOCKS * BLOCK_NS) * 1_000_000_000
    assert one["excess_ns"] == pytest.approx(planted)


def test_since_when_is_found(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    (group,) = asked(capsys, "trend", fleet.path)["groups"]
    (one,) = [one for one in group["sources"] if one["significant"]]
    assert (one["source"], one["since"]) == (SCHED, "2026-11-03")
    assert one["after_ns"] / one["before_ns"] == pytest.approx(4, rel=0.15)
    assert len(one["by_day"]) == DAYS


@pytest.mark.parametrize(
    "arguments",
    [
        ("top", "--by", "kernel", "--top", "2"),
        ("hosts", "--top", "2"),
        ("outliers",),
        ("trend",),
    ],
)
def test_text_tells_the_same(
    fleet: Fleet, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    question, *options = arguments
    assert cli.run(["fleet", question, str(fleet.path), *options]) == 0
    text = capsys.readouterr().out
    assert {"top": TICK, "hosts": "node-5", "outliers": "bad-nic.*", "trend": SCHED}[
        question
    ] in text


def test_text_of_cohorts(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["fleet", "cohorts", "kernel=6.1.*", "env=canary", str(fleet.path)]) == 0
    text = capsys.readouterr().out
    assert f"A: kernel=6.1.*, {HOSTS // 2} hosts" in text
    few = ["fleet", "cohorts", "host=node-[012]", "host=node-[345]", str(fleet.path)]
    assert cli.run(few) == 0
    assert "Too few hosts: nothing can be significant" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["top", "--by", "foo"], "runs have no 'foo': group by .* or a label: env"),
        (["top", "--engine", "flink"], "there is no engine 'flink'"),
        (["top", "--engine", "duckdb://a"], "DuckDB runs on this machine"),
        (["top", "--engine", "spark://"], "there is no engine"),
        (["top", "--threads", "0"], "--threads takes 1 to"),
        (["top", "--top", "-1"], "--top takes a number, 0 or more"),
        (["outliers", "--alpha", "2"], "--alpha takes a rate"),
        (["cohorts", "kernel", "env=a"], "'kernel' is no cohort: write KEY=VALUE"),
        (["cohorts", "kernel=5", "env=canary"], "no run is in cohort kernel=5: kernel is 6.1.9, "),
        (["cohorts", "os=5", "env=canary"], "runs have no 'os' for cohort os=5"),
        (["cohorts", "kernel=6*", "env=canary"], "runs are in both cohorts"),
        (["cohorts", "host=node-1", "host=node-2"], "cohorts of 1 and 1 hosts: each needs 2"),
        (["top", "-H", "9999"], "does not exist here"),
    ],
)
def test_what_cannot_be_is_one_line(fleet: Fleet, arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        cli.run(["fleet", *arguments, str(fleet.path)])


def test_a_run_in_two_folders_is_told(fleet: Fleet, tmp_path: Path) -> None:
    _, made, labels = runs()[0]
    other = fleet_of(tmp_path / "other", [(made, labels)])
    with pytest.raises(UsageError, match="is in 2 of the folders: give one of them"):
        cli.run(["fleet", "top", str(fleet.path), str(other.path)])


def test_folders_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    fleet = fleet_of(tmp_path / "fleet", [(host(1), {})])
    (buckets,) = fleet.files("buckets")
    buckets.write_bytes(b"PAR1 no more")
    with pytest.raises(NoisetopError, match="DuckDB cannot read the tables"):
        cli.run(["fleet", "top", str(fleet.path)])
    for one in fleet.files("runs"):
        one.unlink()
    with pytest.raises(NoisetopError, match="holds no runs: noisetop export FILE -o DIR/"):
        cli.run(["fleet", "top", str(fleet.path)])
    with pytest.raises(UsageError, match="holds no fleet"):
        cli.run(["fleet", "top", str(tmp_path)])


def test_other_versions_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from noisetop.fleet import tables

    monkeypatch.setattr(tables, "FLEET_VERSION", 2)
    fleet = fleet_of(tmp_path / "fleet", [(host(1), {})])
    monkeypatch.undo()
    assert json.loads((fleet.path / MARKER).read_text())["fleet_version"] == 1
    with pytest.raises(NoisetopError, match="runs of version 2 of the tables"):
        cli.run(["fleet", "top", str(fleet.path)])


def test_names_are_harmless_on_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = host(1, planted=[(f"irq › {HOSTILE}", 100, 9_000_000)])
    made.metadata.update(host=HOSTILE, kernel=HOSTILE)
    fleet = fleet_of(tmp_path / "fleet", [(made, {"a": HOSTILE})])
    for question in ("top", "hosts"):
        assert cli.run(["fleet", question, str(fleet.path), "--by", "kernel,a"]) == 0
        text = capsys.readouterr().out
        assert "\x1b" not in text
        assert "alert" in text


@pytest.mark.parametrize(
    ("engine", "gone", "message"),
    [
        ("duckdb", "narwhals", r"pip install 'noisetop\[fleet\]'"),
        ("duckdb", "duckdb", r"fleets take DuckDB: pip install 'noisetop\[fleet\]'"),
        ("spark", "pyspark", r"Spark takes pyspark: pip install 'noisetop\[spark\]'"),
    ],
)
def test_what_is_missing_is_one_line(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, engine: str, gone: str, message: str
) -> None:
    real = importlib.util.find_spec
    for module in ("engines", "engines.duckdb", "engines.spark"):
        monkeypatch.setattr(
            f"noisetop.fleet.{module}.find_spec", lambda name: None if name == gone else real(name)
        )
    with pytest.raises(UsageError, match=message), open_engine(engine, [fleet], 1):
        pass


THREADS = """
import sys
from pathlib import Path
from noisetop.fleet.engines import open_engine
from noisetop.fleet.folder import open_fleet
from noisetop.fleet.rates import rates
from noisetop.fleet.runs import read_runs
from noisetop.fleet.stored import StoredFleet

def threads():
    return len(list(Path("/proc/self/task").iterdir()))

before = threads()
with open_engine("duckdb", [open_fleet(Path(sys.argv[1]))], int(sys.argv[2])) as engine:
    rates(engine, read_runs(engine), lambda run: run.host)
    print(threads() - before)
"""


@pytest.mark.parametrize("count", [pytest.param(1, marks=pytest.mark.thorough), 2])
def test_duckdb_takes_no_more_threads_than_asked(fleet: Fleet, count: int) -> None:
    """In a process of its own: here others may come and go meanwhile."""
    command = [sys.executable, "-c", THREADS, str(fleet.path), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) == count - 1


def test_it_runs_where_it_is_told(fleet: Fleet) -> None:
    cpu = max(os.sched_getaffinity(0))
    assert cli.run(["fleet", "hosts", str(fleet.path), "-H", str(cpu)]) == 0
    assert os.sched_getaffinity(0) == {cpu}


def test_masters_are_those_of_spark() -> None:
    assert master_of("", 3) == "local[3]"
    assert master_of("one:7077,two:7077", 1) == "spark://one:7077,two:7077"
    assert master_of("local-cluster[2,1,1024]", 1) == "local-cluster[2,1,1024]"
    assert master_of("yarn", 1) == "yarn"


@pytest.mark.packaging
@pytest.mark.skipif(missing() != "", reason=f"Spark on two workers: {missing()}")
def test_two_workers_of_spark_give_the_same_rows(tmp_path: Path) -> None:
    """Of a folder by its URL, as of an object store; the page about fleets has it by its path."""
    fleet = fleet_of(
        tmp_path / "it's [1] {a}", [(host(n, blocks=10), {"n": str(n % 2)}) for n in range(3)]
    )
    command = [sys.executable, "-m", "noisetop", "fleet", "top", "--by", "n", "--json"]
    answers = [
        subprocess.run(
            [*command, where, "--engine", engine],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        ).stdout
        for where, engine in (
            (str(fleet.path), "duckdb"),
            (f"file://{fleet.path}", "spark://local-cluster[2,1,1024]"),
        )
    ]
    assert json.loads(answers[0])["groups"]
    assert answers[0] == answers[1]


def draws(few: int, all_of_them: int) -> list[Any]:
    """Numbers of draws: a few, and with --thorough all of them."""
    rest = (pytest.param(draw, marks=pytest.mark.thorough) for draw in range(few, all_of_them))
    return [*range(few), *rest]


@pytest.mark.parametrize("draw", draws(2, 20))
def test_no_draw_has_a_false_finding_and_all_have_the_planted_ones(draw: int) -> None:
    """20 draws of 20 with --thorough, else 2 of 2."""
    first = 1000 * (draw + 1)
    made = [
        ((n % 2 == 1, f"node-{n}"), host(first + n, blocks=20, slower={TICK: 1.5} if n % 2 else {}))
        for n in range(20)
    ]
    made[4] = (made[4][0], host(first + 4, blocks=20, planted=[(BAD, 100, 30_000)]))
    table, error = rates_and_squares(made)
    changed = compare_cohorts(table, 0.01).changed
    assert [one.source for one in changed if one.source != "total"] == [TICK]
    by_host = Rates(
        [name for _, name in table.units],
        table.wall_ns,
        table.sources,
        table.count,
        table.net_ns,
        table.max_ns,
    )
    found = [(one.host, one.source) for one in outliers(by_host, error, 0.01)]
    assert found == [("node-4", "irq › bad-nic.*")]
    alike = table.only([at for at, (odd, _) in enumerate(table.units) if not odd and at != 4])
    halves = Rates(
        [(at % 2 == 1, str(at)) for at in range(len(alike.units))],
        alike.wall_ns,
        alike.sources,
        alike.count,
        alike.net_ns,
        alike.max_ns,
    )
    assert not compare_cohorts(halves, 0.05).changed


@pytest.mark.parametrize("draw", draws(2, 5))
def test_no_draw_has_a_false_trend(draw: int) -> None:
    """5 draws of 5 with --thorough, else 2 of 2."""
    made = [
        ((f"2026-11-{day + 1:02}", f"node-{n}"), host(500 * draw + n, day=day, blocks=8))
        for n in range(6)
        for day in range(6)
    ]
    table, _ = rates_and_squares(made)
    assert not [one for one in trends(table, 0.01) if one.significant]


def test_days_that_a_host_lacks_stay_where_they_are() -> None:
    from noisetop.fleet.trend import _shuffled

    missing_days = np.random.default_rng(1).random((40, 9)) < 0.3
    orders = _shuffled(np.random.default_rng(2), missing_days, np.arange(9), 3)
    for order in orders:
        assert (np.sort(order, axis=1) == np.arange(9)).all()
        drawn = np.take_along_axis(missing_days, order, axis=1)
        np.testing.assert_array_equal(drawn, missing_days)
    assert (orders[0] != orders[1]).any()


def test_a_threshold_is_that_of_all_tests_together() -> None:
    assert threshold(1, 0.025) == pytest.approx(1.96, abs=0.01)
    assert threshold(50_000, 0.01) > 5


def test_the_folder_is_found_again(fleet: Fleet) -> None:
    assert open_fleet(fleet.path).hosts == "names"


def test_a_fleet_is_read_by_its_url(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a scheme that DuckDB has in itself: all but the reader is the same for the others."""
    by_url = asked(capsys, "outliers", f"file://{fleet.path}/")
    assert by_url == asked(capsys, "outliers", fleet.path)
    assert by_url["groups"][0]["outliers"]


@pytest.mark.parametrize(
    ("url", "extension"),
    [
        ("s3://bucket/fleet", "httpfs"),
        ("https://host.example/fleet", "httpfs"),
        ("az://a", "azure"),
    ],
)
def test_a_store_whose_reader_is_missing_is_told(
    url: str, extension: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # where extensions are installed
    with pytest.raises(UsageError, match=f"{url} takes DuckDB's extension {extension}"):
        cli.run(["fleet", "top", url])


def test_a_url_without_a_fleet_is_told(fleet: Fleet, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no fleet: copy the folder that noisetop export"):
        cli.run(["fleet", "top", f"file://{tmp_path}"])
    (tmp_path / MARKER).write_text('{"fleet_version": 7, "hosts": "names"}')
    with pytest.raises(NoisetopError, match="is of version 7 of the tables"):
        cli.run(["fleet", "top", f"file://{tmp_path}"])
    (tmp_path / MARKER).write_text('{"fleet_version": 1, "hosts": "hashed"}')
    with pytest.raises(UsageError, match="name their hosts in different ways"):
        cli.run(["fleet", "top", str(fleet.path), f"file://{tmp_path}"])


def test_engines_take_urls_as_their_own(fleet: Fleet) -> None:
    """DuckDB reads nothing beside what it is given, by a URL as by a path."""
    outside = StoredFleet(f"file://{fleet.path.parent}")
    with (
        open_engine("duckdb", [StoredFleet(f"file://{fleet.path}")], 1) as engine,
        pytest.raises(NoisetopError, match="DuckDB cannot read the tables"),
    ):
        engine.text(outside.marker)
