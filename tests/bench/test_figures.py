"""What the bench reads and how it counts: statistics, parsers, rounds."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from bench.estimate import (
    estimate,
    median,
    median_difference,
    quiet_difference,
    ratio_of_differences,
    relative_difference,
)
from bench.parts.added_interrupts import ALL_LOCAL, rates_of
from bench.proc_interrupts import added, is_device, parse_interrupts
from bench.rounds import order_of, take_rounds
from bench.terminal import on_terminal, take_for
from bench.tools import Seen, Tool, all_tools, is_ours, missing_tools
from bench.tools.bpftrace import parse_sums, script_for
from bench.tools.libbpf_tools import parse_rows
from bench.tools.noisetop import commit_of, other_checkout, parse_closing, parse_samples
from bench.tools.perf import parse_perf
from bench.tools.trace_cmd import parse_ring_stats
from bench.tracepoints import Tracepoint, available, pairs, sampled, used_names
from noisetop.errors import NoisetopError, UsageError
from tests.bench.made import SETTING, FakeTool


class TestEstimate:
    def test_interval_holds_the_value_and_is_repeatable(self) -> None:
        sample = np.random.default_rng(1).normal(10, 1, 40)
        first = estimate(median, sample)
        assert first.low < first.value < first.high
        assert first == estimate(median, sample)

    def test_drift_common_to_both_cancels(self) -> None:
        base = np.linspace(0, 1000, 20)
        assert estimate(median_difference, base + 5, base).low == pytest.approx(5)
        assert estimate(median_difference, base + 5, base).high == pytest.approx(5)

    def test_ratio_of_differences(self) -> None:
        base = np.arange(5.0)
        ratio = estimate(ratio_of_differences, base + 1, base, base, base + 4, base, base)
        assert ratio.value == pytest.approx(0.25)

    def test_ratio_to_nothing_is_infinite_and_null_in_json(self) -> None:
        base = np.arange(5.0)
        ratio = estimate(ratio_of_differences, base + 1, base, base, base, base, base)
        assert math.isinf(ratio.value)
        assert ratio.as_json() == {"value": None, "low": None, "high": None}

    def test_relative_difference(self) -> None:
        base = [10.0] * 3
        assert estimate(relative_difference, [11.0] * 3, base, base).value == pytest.approx(0.1)

    def test_rounds_in_another_state_of_the_machine_do_not_count(self) -> None:
        """A fifth of the rounds is enough to tell, however the others are mixed."""
        before, after = np.full(20, 6.0), np.full(20, 6.0)
        before[4:] = after[4:] = 7.4
        during = np.full(20, 7.9)
        during[5:9] = 6.5
        added = estimate(quiet_difference, during, before, after)
        assert added.value == pytest.approx(0.5)
        assert added.low <= 0.5 <= added.high

    @pytest.mark.parametrize("samples", [((),), ((1.0,), (1.0, 2.0))])
    def test_refuses_samples_that_do_not_match(self, samples: tuple[tuple[float, ...]]) -> None:
        with pytest.raises(ValueError, match="equal length"):
            estimate(median_difference, *samples)


class TestProcInterrupts:
    TEXT = (
        "           CPU0       CPU1       \n"
        " 36:          3     100992 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0\n"
        "LOC:     125313     149562   Local timer interrupts\n"
        "ERR:          0\n"
    )

    def test_column_of_the_cpu(self) -> None:
        assert parse_interrupts(self.TEXT, 1) == {"36 virtio1-req.0": 100992, "LOC": 149562}
        assert parse_interrupts(self.TEXT, 0)["LOC"] == 125313

    def test_unknown_cpu(self) -> None:
        with pytest.raises(KeyError, match="CPU7"):
            parse_interrupts(self.TEXT, 7)

    def test_added_counts_new_rows_from_zero(self) -> None:
        assert added({"LOC": 5}, {"LOC": 7, "RES": 2}) == {"LOC": 2, "RES": 2}

    def test_devices_are_told_apart(self) -> None:
        assert is_device("36 virtio1-req.0")
        assert not is_device("LOC")

    def test_rates_leave_out_the_load_itself_and_devices(self) -> None:
        rates = rates_of({"CAL": 105, "LOC": 50, "36 disk": 1000}, hits=100, seconds=0.5)
        assert rates["CAL"] == 10
        assert rates[ALL_LOCAL] == 110


class TestTracepoints:
    def test_names_come_from_the_bpf_sources(self, tmp_path: Path) -> None:
        (tmp_path / "a.bpf.c").write_text('SEC("tp_btf/irq_handler_entry")\nNOISE_VECTOR(x, IPI)\n')
        (tmp_path / "b.bpf.c").write_text('SEC("raw_tp/csd_function_entry")\nSEC(".maps")\n')
        expected = ("csd_function_entry", "irq_handler_entry", "x_entry", "x_exit")
        assert used_names(tmp_path) == expected

    def test_the_hot_ones_are_found_in_the_real_sources(self) -> None:
        hot = {"call_function_single_entry", "csd_function_entry", "local_timer_entry"}
        assert hot <= set(used_names())

    def test_available_are_those_of_tracefs(self, tmp_path: Path) -> None:
        (tmp_path / "events/irq/irq_handler_entry").mkdir(parents=True)
        found = available(("irq_handler_entry", "not_there"), tmp_path)
        assert [str(tracepoint) for tracepoint in found] == ["irq:irq_handler_entry"]

    def test_pairs(self) -> None:
        points = tuple(Tracepoint("s", n) for n in ("a_entry", "a_exit", "b_start", "b_end", "c"))
        assert [(a.name, b.name) for a, b in pairs(points)] == [
            ("a_entry", "a_exit"),
            ("b_start", "b_end"),
        ]

    def test_what_perf_must_not_sample(self) -> None:
        points = (Tracepoint("irq_vectors", "irq_work_exit"), Tracepoint("irq", "softirq_exit"))
        assert sampled(points) == points[1:]


class TestTools:
    def test_names_are_unique_and_ours_come_first(self) -> None:
        names = [tool.name for tool in all_tools()]
        assert len(names) == len(set(names)) >= 6
        ours = [is_ours(name) for name in names]
        assert ours == sorted(ours, reverse=True)

    def test_missing_ones_come_with_what_to_type(self) -> None:
        absent = FakeTool("absent", program="no-such-program-here")
        tools = (cast(Tool, FakeTool("here")), cast(Tool, absent))
        assert missing_tools(tools) == {"absent": "apt install it"}

    def test_noisetop_closing_line(self) -> None:
        text = "noisetop: recording CPU 1\nnoisetop: 2.68k events in 2.00 s, 3 dropped: /x\n"
        assert parse_closing(text) == Seen(2680, 3)
        with pytest.raises(ValueError, match="closing line"):
            parse_closing("noisetop: recording CPU 1\n")

    def test_noisetop_samples_add_up(self) -> None:
        line = json.dumps({"lost": 1, "cpus": {"1": {"count": 10}, "2": {"count": 5}}})
        assert parse_samples(f"{line}\n{line}\n") == Seen(30, 2)

    def test_perf_tells_what_it_lost(self) -> None:
        text = (
            "Processed 100 events and lost 2 chunks!\n"
            "[ perf record: Captured and wrote 0.074 MB /x/perf.data (258 samples) ]\n"
        )
        assert parse_perf(text) == Seen(258, 2)
        with pytest.raises(ValueError, match="samples"):
            parse_perf("[ perf record: Woken up 1 times to write data ]")

    def test_perf_tells_the_share_that_it_lost(self) -> None:
        text = (
            "Processed 1000 samples and lost 25.00%!\n"
            "[ perf record: Captured and wrote 1.0 MB /x/perf.data (750 samples) ]\n"
        )
        assert parse_perf(text) == Seen(750, 250)

    def test_another_checkout_has_to_be_built(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="make build"):
            other_checkout(tmp_path)
        program = tmp_path / ".venv/bin/noisetop"
        program.parent.mkdir(parents=True)
        program.write_text("")
        program.chmod(0o755)
        other = other_checkout(tmp_path)
        assert commit_of(tmp_path) == str(tmp_path)
        assert not is_ours(other.name)
        assert other.program == str(program)

    def test_trace_cmd_counts_what_was_overwritten(self) -> None:
        text = (
            "entries: 3\noverrun: 4\ncommit overrun: 0\nbytes: 52\n"
            "oldest event ts:  3346.7\ndropped events: 1\nread events: 10\n"
        )
        assert parse_ring_stats(text) == Seen(13, 5)

    def test_bpftrace_script_sums_every_pair_on_one_cpu(self) -> None:
        points = (Tracepoint("csd", "f_entry"), Tracepoint("csd", "f_exit"))
        script = script_for(points, 3)
        assert "tracepoint:csd:f_entry /cpu == 3/ { @f_start = nsecs; }" in script
        assert "{ @f_ns = sum(nsecs - @f_start); }" in script
        assert parse_sums("@f_ns: 123\n@g_ns: 0\n") == {"f": 123, "g": 0}

    def test_libbpf_tools_rows(self) -> None:
        text = "HARDIRQ                    TOTAL_usecs\nvirtio3-rx                  45\n"
        assert parse_rows(text) == 1


class TestRounds:
    def test_order_rotates(self) -> None:
        tools = tuple(cast(Tool, FakeTool(name)) for name in "abc")
        orders = ["".join(tool.name for tool in order_of(tools, n)) for n in range(4)]
        assert orders == ["abc", "bca", "cab", "abc"]

    def test_every_turn_lies_between_two_periods_without_a_tool(self) -> None:
        tools = tuple(cast(Tool, FakeTool(name)) for name in "ab")
        measured = iter(range(100))
        rounds = take_rounds(tools, SETTING, 2, lambda: next(measured))
        assert rounds.complete() == 2
        first, second = rounds.turns["a"][0], rounds.turns["b"][0]
        assert (first.before, first.during, first.after) == (0, 1, 2)
        assert (second.before, second.during, second.after) == (2, 3, 4)


class TestTerminal:
    def test_what_a_program_uses_and_when_it_first_draws(self) -> None:
        argv = ["sh", "-c", "echo ready; while :; do sleep 0.01; done"]
        with on_terminal(argv, min(os.sched_getaffinity(0))) as program:
            while program.first_frame_ns is None:
                take_for([program], 0.05, b"ready")
            used = program.used()
            assert used.written_bytes >= len("ready")
            assert used.cpu_ns > 0
            assert program.peak_bytes() > 0
        with pytest.raises(NoisetopError, match="ended early"):
            program.used()
