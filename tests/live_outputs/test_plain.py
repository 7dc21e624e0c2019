import io
import json
from datetime import datetime

from noisetop.counters.hardware_figures import STEAL, HardwareFigure
from noisetop.counters.losses import Losses
from noisetop.live.output import Settings
from noisetop.live.sample import Sample
from noisetop.live_outputs.json_lines import json_line
from noisetop.live_outputs.plain import OUTPUT, text_block
from tests.builders import START_NS, FakeFeed, cpu, growing, sample, side_figures, source, summary

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


def test_a_block_tells_the_time_the_cpus_and_the_sources() -> None:
    lines = text_block("CPUs 1-2", _sample(), NOW).splitlines()
    assert lines[0] == ("2026-11-21 08:10:01  CPUs 1-2  elapsed 1.000 s  interval 1.00 s  lost 0")
    assert lines[1].split()[:2] == ["CPU", "≈Cost"]
    assert [line.split()[0] for line in lines[2:5]] == ["1", "2", "all"]
    assert lines[5] == ""
    assert lines[6].split()[0] == "CPU"
    assert [line.split()[0] for line in lines[7:10]] == ["1", "2", "1"]
    assert lines[7].endswith("timer › local_timer › tick_nohz_handler")


def test_attempts_to_stop_the_tick_follow_the_tables() -> None:
    counters = side_figures(tick_stops={1: {"stopped": 5, "rcu": 1}, 2: {"stopped": 0}})
    lines = text_block("", sample(summary(cpu(1), cpu(2), counters=counters)), NOW).splitlines()
    assert "CPU 1: the tick was stopped 5 times; kept on by RCU once" in lines


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
    losses = Losses(by_cpu={1: {"ring_full": 7, "nesting": 0}, 2: {"ring_full": 1}}, lost_batch=2)
    text = text_block("", sample(summary(cpu(1), counters=side_figures(losses=losses))), NOW)
    assert "LOST 10 events: ring full 8 (CPU 1-2), lost batch 2" in text


def test_text_and_json_tell_the_same() -> None:
    one = _sample()
    tick = json.loads(json_line(one))["cpus"]["1"]["sources"][0]
    assert (tick["count"], tick["net_ns"], tick["max_ns"]) == (250, 500_000, 2_000)
    row = text_block("", one, NOW).splitlines()[7].split()
    assert row[:7] == ["1", "-", "500", "µs", "99.80%", "250", "250"]


def test_what_the_hardware_admits_ends_the_block() -> None:
    hardware = (HardwareFigure(1, STEAL, 12_000_000, None, "steps of 10.0 ms", 10_000_000),)
    one = sample(summary(cpu(1, source(*TICK)), counters=side_figures(hardware=hardware)))
    *_, last = filter(None, text_block("", one, NOW).splitlines())
    assert last.startswith("hardware:")
    assert "steal 12.0 ms/s" in last


def test_names_are_escaped() -> None:
    hostile = "\x1b]0;x\x07[red]\u202e\x7f\n"
    one = sample(summary(cpu(1, source("thread", hostile))), ended=hostile)
    assert not set("\x1b\x07\u202e\x7f") & set(text_block(hostile, one, NOW))


def test_a_block_per_interval_until_the_end() -> None:
    out = io.StringIO()
    ended = sample(summary(cpu(1)), ended="process 5 exited")
    OUTPUT.run(FakeFeed(*growing((1,), [TICK], 2), ended), out, Settings())
    assert out.getvalue().count("elapsed") == 3
    assert out.getvalue().endswith("finished (process 5 exited)\n\n")
