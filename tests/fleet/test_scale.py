"""The cost at scale, against closed forms and against a simulation that goes step by step."""

from __future__ import annotations

import bisect
import json
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from noisetop import cli
from noisetop.errors import NoisetopError, UsageError
from noisetop.exporters import noisetop_file
from noisetop.fleet.rank_timelines import Delays, Node, Numbers, disjoint, lost_ns, node_of
from noisetop.fleet.scale import Program, cost, rank_numbers, scale_of
from noisetop.fleet.steps import circle_of
from noisetop.output import check_output
from noisetop.recording.open import open_recording
from tests.fleet.fleets import host
from tests.recordings import DATA, HOSTILE, interruption, recording, table

MS = 1_000_000
UNLOADED = DATA / "unloaded.noisetop"


def node(*ranks: tuple[Numbers, Numbers], duration_ns: int) -> Node:
    """Of delays that begin at these moments and take so long."""
    delays = [
        Delays(begin.astype(np.int64), length.astype(np.int64), np.zeros(len(begin), np.int64))
        for begin, length in ranks
    ]
    return Node(duration_ns, delays, ["softirq › RCU"])


def spread(count: int, length_ns: int, duration_ns: int, seed: int) -> tuple[Numbers, Numbers]:
    """Delays at random moments, of which none meets another."""
    rng = np.random.default_rng(seed)
    free = np.sort(rng.integers(0, duration_ns - count * length_ns, count))
    return free + np.arange(count) * length_ns, np.full(count, length_ns)


@pytest.mark.parametrize("ranks", [1, 10, 100, 1000, 10_000])
@pytest.mark.parametrize("hits", [20, 200])
def test_bernoulli_hits(ranks: int, hits: int) -> None:
    """Each step of each rank is hit with p: 1 - (1 - p)^N of the steps are late."""
    work, late, duration = MS, 20_000, 10_000 * MS
    # Far apart, so that no step meets two.
    begin = np.arange(hits) * (duration // hits) + 7
    one = node((begin, np.full(hits, late)), duration_ns=duration)
    p = hits * work / (duration - hits * late)
    expected = late * (1 - (1 - p) ** ranks)
    found = cost([one], Program(ranks, work), ranks)
    assert found.mean_ns == pytest.approx(expected, rel=0.02)
    assert found.low_ns <= found.mean_ns <= found.high_ns


@pytest.mark.parametrize("ranks", [1, 4, 1000])
@pytest.mark.parametrize(("work", "share"), [(2 * MS, 0.5), (4 * MS, 0.0), (5 * MS, 0.25)])
def test_periodic_noise(ranks: int, work: int, share: float) -> None:
    """Ticks of 10 µs leave 4 ms of work between two: a step meets work / 4 ms of them, and with
    the chance that is left one more."""
    late, period = 10_000, 4_010_000
    count = 500
    one = node((np.arange(count) * period, np.full(count, late)), duration_ns=count * period)
    least = work // (4 * MS)
    chance = work / (4 * MS) - least
    assert chance == share
    expected = late * (least + 1 - (1 - chance) ** ranks)
    assert cost([one], Program(ranks, work), ranks).mean_ns == pytest.approx(expected, rel=0.02)


def test_aligned_nodes_are_late_together() -> None:
    begin, length = spread(300, 30_000, 2000 * MS, 1)
    one = node((begin, length), duration_ns=2000 * MS)
    aligned = [cost([one], Program(10_000, MS, aligned=True), ranks) for ranks in (1, 100, 10_000)]
    alone = 300 * 30_000 * MS / (2000 * MS - 300 * 30_000)
    for found in aligned:
        assert found.mean_ns == pytest.approx(alone, rel=0.02)
    assert cost([one], Program(10_000, MS), 10_000).mean_ns > 15 * alone


def test_ranks_of_a_node_keep_what_they_have_in_common() -> None:
    """Two CPUs that are hit at the same time wait once, two that are not wait twice."""
    begin, length = spread(300, 20_000, 2000 * MS, 2)
    together = node((begin, length), (begin, length), duration_ns=2000 * MS)
    apart = node((begin, length), (begin + MS, length), duration_ns=2000 * MS)
    once, both = (cost([one], Program(2, 100_000), 2).mean_ns for one in (together, apart))
    assert both == pytest.approx(2 * once, rel=0.05)


class Simulated:
    """A rank that goes through its delays one by one, with nothing that the program shares."""

    def __init__(self, begin: list[int], length: list[int], duration: int) -> None:
        self.begin, self.length, self.duration = begin, length, duration

    def finish(self, now: int, work: int) -> int:
        """When so much work is done that begins now."""
        turn, place = divmod(now, self.duration)
        at = bisect.bisect_right(self.begin, place) - 1
        if at >= 0:
            now = max(now, turn * self.duration + self.begin[at] + self.length[at])
        at += 1
        while True:
            if at == len(self.begin):
                turn, at = turn + 1, 0
            begin = turn * self.duration + self.begin[at]
            if now + work <= begin:
                return now + work
            work -= max(begin - now, 0)
            now = max(now, begin) + self.length[at]
            at += 1


def simulated(
    begin: Numbers, length: Numbers, duration: int, ranks: int, work: int, calls_least: int
) -> float:
    """Mean delay of a step. Ranks begin anywhere, again and again: what they meet at the same time
    depends on where they began."""
    rng = np.random.default_rng(5)
    rank = Simulated(begin.tolist(), length.tolist(), duration)
    late = steps = calls = 0
    while calls < calls_least:
        places = rng.integers(0, duration, ranks).tolist()
        now = number = 0
        while now < duration:
            end = max(rank.finish(place + now, work) - place for place in places)
            # They began in the middle of delays that nobody waited for.
            if number >= 10:
                late, steps = late + end - now - work, steps + 1
            now, number, calls = end, number + 1, calls + ranks
    return late / steps


@pytest.mark.parametrize(
    "ranks",
    [
        1,
        pytest.param(4, marks=pytest.mark.thorough),
        32,
        pytest.param(256, marks=pytest.mark.thorough),
    ],
)
@pytest.mark.parametrize("work", [200_000, 2 * MS])
def test_direct_simulation_of_a_known_trace(ranks: int, work: int, thorough: bool) -> None:
    """Short and long delays, some much longer than a step; four times as many steps of the
    simulation with --thorough."""
    duration = 1_000 * MS
    rng = np.random.default_rng(9)
    length = np.concatenate([rng.integers(5_000, 60_000, 400), rng.integers(MS, 3 * MS, 15)])
    rng.shuffle(length)
    free = np.sort(rng.integers(0, duration - int(length.sum()) - 1, len(length)))
    begin = free + np.cumsum(length) - length
    expected = simulated(begin, length, duration, ranks, work, 800_000 if thorough else 200_000)
    # The more ranks, the more of it comes from few steps.
    program = Program(ranks, work, steps=400_000 if thorough or ranks > 32 else 100_000)
    found = cost([node((begin, length), duration_ns=duration)], program, ranks)
    assert found.mean_ns == pytest.approx(expected, rel=0.03)


def test_one_rank_pays_for_its_noise() -> None:
    one = node_of(open_recording(UNLOADED))
    taken = sum(lost_ns([one]).values())
    work = len(one.ranks) * one.duration_ns - taken
    assert taken == 26_040_094
    found = cost([one], Program(1, MS), 1)
    assert found.share(MS) == pytest.approx(taken / work, rel=0.02)


def test_delays_of_a_source_alone_and_without_it_are_all() -> None:
    one = node_of(open_recording(UNLOADED))
    whole = lost_ns([one])
    for source in list(whole)[:3]:
        alone = one.only(np.array([name == source for name in one.sources]))
        rest = one.only(np.array([name != source for name in one.sources]))
        assert sum(lost_ns([alone]).values()) == whole[source]
        assert sum(lost_ns([rest]).values()) == sum(whole.values()) - whole[source]


def test_nested_interruptions_are_laid_one_behind_the_other() -> None:
    start, net = np.array([0, 2, 3, 20]), np.array([7, 2, 1, 5])
    assert disjoint(start, net).tolist() == [0, 7, 9, 20]
    assert disjoint(np.zeros(0, np.int64), np.zeros(0, np.int64)).tolist() == []


def test_a_step_that_begins_inside_of_a_delay_waits_for_its_rest() -> None:
    rank = Delays(np.array([100, 300]), np.array([50, 10]), np.array([0, 0]))
    circle = circle_of(rank, 1000, 200)
    starts = np.array([0, 90, 100, 120, 150, 250, 299, 310, 990])
    assert circle.delays(starts, 200).tolist() == [50, 60, 60, 40, 10, 10, 10, 0, 50]


def test_self_inflicted_and_idle_time_costs_nothing() -> None:
    rows = [interruption(at * MS, 50_000, victim=0 if at % 2 else 100) for at in range(100)]
    one = node_of(recording(table(*rows), cpus=(2,)))
    assert sum(lost_ns([one]).values()) == 50 * 50_000


def test_several_recordings_are_nodes_of_one_program() -> None:
    nothing = np.zeros(0, np.int64)
    quiet = node((nothing, nothing), duration_ns=1000 * MS)
    noisy = node(spread(100, 50_000, 1000 * MS, 3), duration_ns=1000 * MS)
    half = cost([quiet, noisy], Program(1, MS), 1).mean_ns
    whole = cost([noisy], Program(1, MS), 1).mean_ns
    assert half == pytest.approx(whole / 2, rel=0.05)
    both = cost([quiet, noisy], Program(64, MS, aligned=True), 64).mean_ns
    assert both == pytest.approx(whole, rel=0.05)


def test_numbers_of_ranks() -> None:
    assert rank_numbers(1) == [1]
    assert rank_numbers(30) == [1, 2, 5, 10, 20, 30]
    assert rank_numbers(100) == [1, 2, 5, 10, 20, 50, 100]


def test_ten_thousand_ranks_and_a_hundred_thousand_steps_take_seconds(thorough: bool) -> None:
    """A bound for a machine that does other things as well; on an idle one it takes a tenth.
    A tenth of the steps, and of the time, without --thorough."""
    share = 1 if thorough else 10
    nodes = [node_of(open_recording(DATA / "noisy.noisetop"))]
    began = time.process_time()
    found = scale_of(nodes, Program(10_000, MS, steps=100_000 // share), 8)
    assert time.process_time() - began < 30 / share
    assert found.curve[-1].ranks == 10_000


def test_the_command_tells_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chart, answer = tmp_path / "a.svg", tmp_path / "a.json"
    command = ["fleet", "scale", str(UNLOADED), "--ranks", "1000", "--top", "2", "--steps", "5000"]
    assert cli.run([*command, "-o", str(chart), "-o", str(answer)]) == 0
    text = capsys.readouterr().out
    assert "% on one rank and" in text
    assert "Nodes are independent" in text
    assert "1,000" in text
    content = json.loads(answer.read_text())
    assert content["step_ns"] == MS
    assert len(content["sources"]) == 2
    assert ET.fromstring(chart.read_text()).tag.endswith("svg")
    assert cli.run([*command, "--aligned", "--json"]) == 0
    aligned = json.loads(capsys.readouterr().out)
    assert aligned["curve"][-1]["mean_ns"] < content["curve"][-1]["mean_ns"]
    assert any("at the same time" in one for one in aligned["assumptions"])


def test_names_stay_harmless(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, chart = tmp_path / "a.noisetop", tmp_path / "a.svg"
    made = host(1, planted=[(f"irq › {HOSTILE}", 50, 100_000)])
    with check_output(path, force=False).opened() as out:
        noisetop_file.write(made, out)
    command = ["fleet", "scale", str(path), "--ranks", "10", "-o", str(chart)]
    assert cli.run([*command, "--steps", "2000"]) == 0
    assert "\x1b" not in capsys.readouterr().out
    assert ET.fromstring(chart.read_text()).tag.endswith("svg")


def test_a_recording_without_noise_costs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["fleet", "scale", str(DATA / "quiet.noisetop"), "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert {one["mean_ns"] for one in content["curve"]} == {0}
    assert content["sources"] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ranks", "0"], "--ranks takes 1 to"),
        (["--step", "1x"], "is not a duration"),
        (["--step", "1s"], "takes 2.00 s: record 10 steps at least, or use a shorter --step"),
        (["-o", "a.png"], r"what format is a.png\? end its name in .json or .svg"),
        ([str(DATA / "quiet.noisetop")], "watched different numbers of CPUs"),
    ],
)
def test_what_cannot_be_is_one_line(arguments: list[str], message: str) -> None:
    with pytest.raises(NoisetopError, match=message):
        cli.run(["fleet", "scale", str(UNLOADED), *arguments])
    with pytest.raises(UsageError):
        cli.run(["fleet", "scale"])
