import io
import json
from datetime import datetime

import pytest

from noisetop.errors import NoisetopError
from noisetop.hardware_figures import STEAL, HardwareFigure
from noisetop.live import Sample
from noisetop.plain import json_line, run_plain, text_block
from noisetop.report_json import summary_as_dict
from noisetop.summary import Losses
from tests.builders import SECOND_NS, START_NS, FakeFeed, cpu, growing, sample, source, summary

NOW = datetime(2026, 11, 21, 8, 10, 1)
TICK = ("timer", "local_timer", "tick_nohz_handler")


def _sample() -> Sample:
    return sample(
        summary(
            cpu(1, source(*TICK, durations_ns=[2_000] * 250), source("thread", "kworker/1:1")),
            cpu(2, source(*TICK, durations_ns=[9_000], idle_count=3, idle_ns=50)),
            start_ns=START_NS,
        )
    )


def _run(feed: FakeFeed, *, count: int | None = None, json_lines: bool = False) -> str:
    out = io.StringIO()
    run_plain(feed, out, count=count, json_lines=json_lines)
    return out.getvalue()


def test_a_block_tells_the_time_the_cpus_and_the_sources() -> None:
    lines = text_block("CPUs 1-2", _sample(), NOW).splitlines()
    assert lines[0] == ("2026-11-21 08:10:01  CPUs 1-2  elapsed 1.000 s  interval 1.00 s  lost 0")
    assert lines[1].split()[:2] == ["CPU", "Noise"]
    assert [line.split()[0] for line in lines[2:5]] == ["1", "2", "all"]
    assert lines[5] == ""
    assert lines[6].split()[0] == "CPU"
    assert [line.split()[0] for line in lines[7:10]] == ["1", "2", "1"]
    assert lines[7].endswith("timer › local_timer › tick_nohz_handler")


def test_attempts_to_stop_the_tick_follow_the_cpus() -> None:
    cpus = (cpu(1, tick_stops={"stopped": 5, "rcu": 1}), cpu(2, tick_stops={"stopped": 0}))
    lines = text_block("", sample(summary(*cpus)), NOW).splitlines()
    assert lines[5:7] == ["CPU 1: the tick was stopped 5 times; kept running by RCU once", ""]


def test_columns_stay_where_they_are() -> None:
    blocks = [
        text_block("", one, NOW).splitlines() for one in growing((1, 20), [TICK, ("irq", "5 x")], 3)
    ]
    titles = {block[1] for block in blocks}
    assert len(titles) == 1
    at = blocks[0][6].index("Source")
    for block in blocks:
        assert block[6].index("Source") == at
        assert all(row[at - 1] == " " and row[at] != " " for row in block[7:-1] if row)


def test_losses_are_told_with_their_reasons() -> None:
    losses = Losses(by_cpu={1: {"ring_full": 7, "nesting": 0}, 2: {"ring_full": 1}}, unread=2)
    text = text_block("", sample(summary(cpu(1), losses=losses)), NOW)
    assert "LOST 10 events: ring full 8 (CPU 1-2), unread 2" in text


def test_count_ends_the_run_and_so_does_the_feed() -> None:
    samples = growing((1,), [TICK], 5)
    assert _run(FakeFeed(*samples), count=2).count("elapsed") == 2
    ended = sample(summary(cpu(1)), ended="process 5 exited")
    text = _run(FakeFeed(samples[0], ended))
    assert text.count("elapsed") == 2
    assert "ended: process 5 exited" in text


def test_an_error_of_the_feed_passes_through() -> None:
    with pytest.raises(NoisetopError, match="gone"):
        _run(FakeFeed(_sample(), NoisetopError("gone")))


def test_a_line_of_json_per_interval() -> None:
    samples = growing((1, 2), [TICK], 3)
    lines = _run(FakeFeed(*samples), count=3, json_lines=True).splitlines()
    parsed = [json.loads(line) for line in lines]
    assert [one["time_ns"] for one in parsed] == [START_NS + n * SECOND_NS for n in (1, 2, 3)]
    assert parsed[0] == {"time_ns": START_NS + SECOND_NS, **summary_as_dict(samples[0].interval)}
    assert all("ended" not in one for one in parsed)
    assert json.loads(json_line(sample(summary(), ended="done")))["ended"] == "done"


def test_names_reach_the_output_escaped() -> None:
    hostile = "\x1b]0;x\x07[red]\u202e\x7f\n"
    one = sample(summary(cpu(1, source("thread", hostile))), ended=hostile)
    for text in (text_block(hostile, one, NOW), json_line(one)):
        assert not set("\x1b\x07\u202e\x7f") & set(text)
    assert json_line(one).count("\n") == 1
    assert json.loads(json_line(one))["cpus"]["1"]["sources"][0]["path"] == ["thread", hostile]


def test_a_locale_without_the_letters_does_not_end_the_run() -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    run_plain(FakeFeed(_sample()), out, count=1, json_lines=False)
    assert b"timer \\u203a local_timer" in raw.getvalue()


def test_a_closed_pipe_ends_the_run_quietly() -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    run_plain(FakeFeed(_sample(), _sample()), Closed(), count=None, json_lines=False)


def test_text_and_json_tell_the_same() -> None:
    one = _sample()
    tick = json.loads(json_line(one))["cpus"]["1"]["sources"][0]
    assert (tick["count"], tick["net_ns"], tick["max_ns"]) == (250, 500_000, 2_000)
    row = text_block("", one, NOW).splitlines()[7].split()
    assert row[:6] == ["1", "500", "µs", "99.80%", "250", "250"]


def test_what_the_hardware_admits_ends_the_block() -> None:
    hardware = (HardwareFigure(1, STEAL, 12_000_000, None, "steps of 10.0 ms", 10_000_000),)
    one = sample(summary(cpu(1, source(*TICK)), hardware=hardware))
    lines = text_block("", one, NOW).splitlines()
    assert lines[-3:] == ["", "hardware: steal 12.0 ms/s (±10.0 ms)", ""]
    told = json.loads(json_line(one))["hardware"]
    assert told["cpus"]["1"][0] | {"resolution": ""} == {
        "path": ["hardware", "steal"],
        "ns": 12_000_000,
        "count": None,
        "resolution": "",
        "step_ns": 10_000_000,
    }
