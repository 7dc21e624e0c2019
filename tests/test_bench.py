"""The parts of the bench that need no machine: statistics, parsers, comparison, tables."""

from __future__ import annotations

import json
import math
import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from bench.__main__ import check_arguments, finite, main, parse_arguments, read_ratios
from bench.bpf_stats import ProgramRuns, parse_fdinfo, parse_names
from bench.estimate import (
    Estimate,
    estimate,
    median,
    median_difference,
    ratio_of_differences,
    relative_difference,
)
from bench.machine import cpu_model, is_guest, machine_line
from bench.made_up_recording import Size, write_made_up
from bench.parts import OwnPart, PartResult, PeriodPart, Plan, all_parts, run_parts
from bench.parts.added_interrupts import ALL_LOCAL, rates_of
from bench.parts.added_time import LOADS, Gap, Gaps, check_seen, ratios_of, series_of, targets_of
from bench.parts.after_the_fact import REPORT, SCRIPT, TRACE, Job, Reading, own_jobs
from bench.parts.after_the_fact import result_of as reading_result
from bench.parts.capacity import FULL_SPEED, FULL_SPEED_TRIALS, STEP, Staircase, Trial
from bench.parts.capacity import result_of as capacity_result
from bench.parts.growth import SIZES
from bench.parts.growth import result_of as growth_result
from bench.parts.programs import Measured, by_name
from bench.parts.sender_cost import setting_of
from bench.proc_interrupts import added, is_device, parse_interrupts
from bench.process import ToolProcess
from bench.regression import compare
from bench.rounds import Rounds, Turn, order_of, take_rounds
from bench.run_once import RunOnce, run_once
from bench.table import Table, markers_of, replace_part, with_interval
from bench.terminal import on_terminal, take_for
from bench.tools import Seen, Session, Setting, Tool, all_tools, is_ours, missing_tools
from bench.tools.bpftrace import parse_printed, parse_sums, script_for
from bench.tools.libbpf_tools import parse_rows
from bench.tools.noisetop import commit_of, other_checkout, parse_closing, parse_samples
from bench.tools.perf import parse_perf
from bench.tools.trace_cmd import parse_ring_stats
from bench.tracepoints import Tracepoint, available, pairs, sampled, used_names
from bench.victim import Victim
from noisetop.errors import NoisetopError, UsageError
from noisetop.exporters import exporters_by_suffix
from noisetop.spool import read_spool

SETTING = Setting(1, 0, Path(), ())


@dataclass(frozen=True, slots=True)
class FakeSession:
    events: int

    @property
    def process(self) -> ToolProcess:
        raise AssertionError("a fake has no process")

    def seen(self) -> Seen:
        return Seen(self.events)


@dataclass(frozen=True, slots=True)
class FakeTool:
    name: str
    program: str = "true"
    install: str = "apt install it"
    blind_to: frozenset[str] = frozenset()
    per_interruption: float = 1.0
    events: int = 1_000_000

    def run(self, setting: Setting) -> AbstractContextManager[Session]:
        return nullcontext(FakeSession(self.events))


def gap(steady_ns: float) -> Gap:
    return Gap(steady_ns, steady_ns + 100, interruptions=10, sent=10, spun_ns=1_000_000_000)


def rounds_of(added_ns: dict[str, float], count: int = 8) -> Rounds[Gaps]:
    """Every tool adds its own to a gap that drifts from round to round."""
    rounds: Rounds[Gaps] = Rounds()
    for number in range(count):
        base = 7000.0 + 50 * number
        for tool, more in added_ns.items():
            before, during, after = (
                {load.name: gap(value) for load in LOADS}
                for value in (base - 10, base + more, base + 10)
            )
            rounds.add(Turn(tool, before, during, after, Seen(1_000_000)))
    return rounds


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
        ratio = estimate(ratio_of_differences, base + 1, base, base + 4, base)
        assert (ratio.low, ratio.value, ratio.high) == (0.25, 0.25, 0.25)

    def test_ratio_to_nothing_is_infinite_and_null_in_json(self) -> None:
        base = np.arange(5.0)
        ratio = estimate(ratio_of_differences, base + 1, base, base, base)
        assert math.isinf(ratio.value)
        assert ratio.as_json() == {"value": None, "low": None, "high": None}

    def test_relative_difference(self) -> None:
        assert estimate(relative_difference, [11.0] * 3, [10.0] * 3).value == pytest.approx(0.1)

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
        text = "noisetop: recording CPU 1\nnoisetop: 2.68k events in 2.00 s, 3 lost: /x\n"
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


class TestAddedTime:
    def test_added_time_is_what_comes_on_top_of_the_neighbours(self) -> None:
        series = series_of(rounds_of({"noisetop record": 250}), "noisetop record", LOADS[0].name)
        assert series.added_ns().value == pytest.approx(250)
        assert series.growth().value == pytest.approx(250 / 7175)

    def test_ratios_and_targets(self) -> None:
        ours = cast(Tool, FakeTool("noisetop record"))
        peer = cast(Tool, FakeTool("perf record"))
        blind = cast(Tool, FakeTool("blind", blind_to=frozenset({"ipi", "timer"})))
        rounds = rounds_of({"noisetop record": 400, "perf record": 1000, "blind": 10})
        ratios = ratios_of(rounds, (ours, peer, blind))
        assert [ratio.value for ratio in ratios.values()] == pytest.approx([0.4] * len(LOADS))
        targets = targets_of(rounds, ratios, ["noisetop record", "perf record"])
        assert {t.name.rsplit("/", 1)[1]: t.held for t in targets} == {
            "noisetop record : perf record": True,
            "noisetop record growth": False,
        }

    def test_a_tool_that_missed_events_is_refused(self) -> None:
        rounds = rounds_of({"half": 10})
        sent = 10 * len(LOADS)
        few = [Turn(t.tool, t.before, t.during, t.after, Seen(sent)) for t in rounds.turns["half"]]
        rounds.turns["half"] = few
        with pytest.raises(NoisetopError, match=r"half recorded 1\.00 events per interruption"):
            check_seen(rounds, [cast(Tool, FakeTool("half", per_interruption=2))])
        seen = check_seen(rounds, [cast(Tool, FakeTool("half"))])
        assert seen["half"]["events_per_interruption"] == 1


class TestSharedRounds:
    def test_parts_that_measure_periods_get_their_own_figures(self) -> None:
        @dataclass(frozen=True, slots=True)
        class Letters:
            number: int
            name: str
            needs_root: bool = True

            def measure(self, plan: Plan) -> str:
                return self.name * 2

            def evaluate(self, plan: Plan, rounds: Rounds[str]) -> PartResult:
                return PartResult({"all": [t.during for t in rounds.turns["tool"]]}, ())

        plan = Plan((cast(Tool, FakeTool("tool")),), SETTING, cast(Victim, None), rounds=2)
        said: list[str] = []
        results = run_parts((Letters(1, "a"), Letters(2, "b")), plan, said.append)
        assert {name: one.figures for name, one in results.items()} == {
            "a": {"all": ["aa", "aa"]},
            "b": {"all": ["bb", "bb"]},
        }
        assert said == ["parts a, b: 2 rounds"]

    def test_every_part_measures_in_one_of_two_ways(self) -> None:
        for part in all_parts():
            assert isinstance(part, OwnPart) != isinstance(part, PeriodPart)

    def test_tools_can_differ_in_their_setting(self) -> None:
        seen = []

        def setting_for(tool: Tool) -> Setting:
            seen.append(tool.name)
            return SETTING

        take_rounds([cast(Tool, FakeTool("a"))], setting_for, 2, lambda: 0)
        assert seen == ["a", "a"]


class TestSetting:
    def test_cpus_in_the_kernels_format(self) -> None:
        assert SETTING.cpu_list == "1"
        assert replace(SETTING, everywhere=True).cpu_list == "0,1"

    def test_senders_are_looked_for_everywhere_by_peers(self) -> None:
        points = (Tracepoint("csd", "csd_queue_cpu"), Tracepoint("irq", "softirq_entry"))
        setting = replace(SETTING, tracepoints=points)
        assert setting_of(setting, cast(Tool, FakeTool("noisetop record"))) is setting
        peers = setting_of(setting, cast(Tool, FakeTool("perf record")))
        assert (peers.everywhere, peers.tracepoints) == (True, points[:1])


def trial(per_second: float, lost: int, full_speed: bool = False) -> Trial:
    return Trial(per_second, Seen(1_000, lost, 64_000), full_speed)


class TestCapacity:
    def test_the_rate_goes_up_without_loss_and_down_with(self) -> None:
        stair = Staircase()
        for _ in range(FULL_SPEED_TRIALS):
            assert stair.next_rate() == FULL_SPEED
            stair.add(trial(900_000, 5, full_speed=True), cpus=2)
        assert stair.next_rate() == 450_000 / STEP
        stair.add(trial(600_000, 5), cpus=2)
        assert stair.next_rate() == 300_000 / STEP
        stair.add(trial(400_000, 0), cpus=2)
        assert stair.next_rate() == 300_000
        assert stair.bounds() == [600_000, 400_000, 400_000]

    def test_without_any_loss_it_stays_at_full_speed(self) -> None:
        stair = Staircase()
        for _ in range(FULL_SPEED_TRIALS + 2):
            assert stair.next_rate() == FULL_SPEED
            stair.add(trial(900_000, 0, full_speed=True), cpus=2)
        assert set(stair.bounds()) == {900_000}

    def test_ratio_is_the_peers_rate_over_ours(self) -> None:
        stairs = {"noisetop record": Staircase(), "perf record": Staircase()}
        for name, rate in (("noisetop record", 800_000), ("perf record", 200_000)):
            for _ in range(5):
                stairs[name].add(trial(rate, 0, full_speed=True), cpus=2)
        result = capacity_result(stairs)
        assert result.ratios["capacity/perf record : noisetop record"].value == 0.25
        assert [target.held for target in result.targets] == [True]
        assert "| 64 (64 to 64) |" in result.tables[1].markdown()

    def test_what_bpftrace_printed_and_lost(self) -> None:
        assert parse_printed("Attaching 1 probe...\n@ 5 0 77\nLost 12 events\n") == Seen(1, 12, 45)


class TestMadeUpRecording:
    def test_it_is_as_large_as_asked_and_can_be_read(self, tmp_path: Path) -> None:
        path = tmp_path / "x.noisetop"
        records = write_made_up(path, Size(records=20_000, cpus=3, functions=5, victims=4))
        recorded = read_spool(path)
        summary = recorded.summary()
        assert records >= 20_000
        assert not recorded.damage
        assert [cpu.cpu for cpu in summary.cpus] == [0, 1, 2]
        events = sum(one.count for cpu in summary.cpus for one in cpu.sources)
        assert events == records * 7 // 11
        assert len(summary.waits) == 4

    def test_net_time_and_causes_are_those_of_a_kernel(self, tmp_path: Path) -> None:
        """Callbacks lie inside of their interrupts, and what is armed, sent and woken has its
        cause."""
        path = tmp_path / "x.noisetop"
        write_made_up(path, Size(records=12_000))
        recorded = read_spool(path)
        for chunk in recorded.chunks():
            for cpu in np.unique(chunk["cpu"]):
                one = chunk[chunk["cpu"] == cpu]
                assert one["net_ns"].sum() == one["gross_ns"][one["flags"] & 1 != 0].sum()
        known = {
            source.source.label
            for cpu in recorded.summary().cpus
            for source in cpu.sources
            if all(part.trigger.label for part in source.triggers)
        }
        assert {"timer › local_timer › function_3", "ipi › reschedule"} <= known
        assert "ipi › call_function_single › function_3" in known

    def test_the_same_sizes_give_the_same_bytes(self, tmp_path: Path) -> None:
        paths = tmp_path / "a", tmp_path / "b"
        for path in paths:
            write_made_up(path, Size(records=5_000))
        assert paths[0].read_bytes() == paths[1].read_bytes()


class TestReadingRecordings:
    def reading(self, name: str, events: int, seconds: float) -> Reading:
        return Reading(Job(name, (), events), [RunOnce(seconds, 1 << 28)] * 3)

    def test_time_per_event_against_peers_that_read_fewer(self) -> None:
        readings = {
            REPORT: self.reading(REPORT, 10_000_000, 4.0),
            TRACE: self.reading(TRACE, 10_000_000, 20.0),
            SCRIPT: self.reading(SCRIPT, 100_000, 0.5),
        }
        result = reading_result(readings)
        assert result.ratios[f"after_the_fact/{REPORT} : {SCRIPT}"].value == pytest.approx(0.08)
        assert [target.held for target in result.targets] == [True, True, False, True, False]

    def test_every_format_is_exported(self, tmp_path: Path) -> None:
        events = {tmp_path: 5}
        suffixes = {job.argv[-2] for job in own_jobs(tmp_path, tmp_path, tmp_path, events)}
        assert {str(tmp_path / f"out{one}") for one in exporters_by_suffix()} <= suffixes

    def test_a_command_and_what_it_took(self, tmp_path: Path) -> None:
        took = run_once(["echo", "hello"], tmp_path / "out")
        assert (tmp_path / "out").read_text() == "hello\n"
        assert took.seconds > 0
        assert took.peak_bytes > 0
        with pytest.raises(NoisetopError, match="no such file"):
            run_once(["sh", "-c", "echo no such file >&2; exit 3"], tmp_path / "out")


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


class TestGrowth:
    def test_everything_is_held_against_the_smallest(self) -> None:
        reading = {name: [100.0 + 10 * n] * 3 for n, name in enumerate(SIZES)}
        result = growth_result({}, reading, 3)
        assert [one.value for one in result.ratios.values()] == pytest.approx(
            [1.1, 1.2, 1.3, 1.4, 1.5, 1.6]
        )
        assert [target.held for target in result.targets] == [True] * 5 + [False]
        assert len(result.tables) == 1


class TestPrograms:
    def test_fdinfo_of_a_program(self) -> None:
        text = "pos:\t0\nprog_id:\t7\nrun_time_ns:\t900\nrun_cnt:\t9\n"
        assert parse_fdinfo(text) == (7, ProgramRuns(9, 900))
        assert parse_fdinfo("pos:\t0\nflags:\t02\n") is None

    def test_names(self) -> None:
        assert parse_names('[{"id": 7, "name": "csd_entry"}, {"id": 8}]') == {
            7: "csd_entry",
            8: "?",
        }

    def test_programs_that_share_a_cut_name_are_added_up(self) -> None:
        before = {1: ProgramRuns(10, 100), 2: ProgramRuns(0, 0), 3: ProgramRuns(5, 5)}
        after = {1: ProgramRuns(12, 150), 2: ProgramRuns(3, 30), 4: ProgramRuns(9, 9)}
        found = by_name(before, after, {1: "call_function_s", 2: "call_function_s", 4: "new"})
        assert found == {"call_function_s": ProgramRuns(5, 80)}

    def test_only_programs_of_the_disturbance_count(self) -> None:
        delta = {"often": ProgramRuns(100, 5000), "rare": ProgramRuns(1, 100_000)}
        measured = Measured(sent=[100, 100], programs=[delta, delta])
        assert measured.names() == ["often"]
        assert measured.per_run("often").value == 50
        assert measured.per_disturbance().value == 50


class TestRegression:
    def test_more_than_the_tolerance_is_worse(self) -> None:
        now = {
            "a": {"value": 0.56, "low": 0.54, "high": 0.58},
            "b": {"value": 0.54, "low": 0.53, "high": 0.55},
            "c": {"value": 0.80, "low": 0.40, "high": 1.40},
            "new": {"value": 9.0, "low": 9.0, "high": 9.0},
        }
        before = {"value": 0.50, "low": 0.48, "high": 0.52}
        found = compare(dict.fromkeys(("a", "b", "c", "gone"), before), now)
        assert found.worse == ("a: 0.56 (0.54 to 0.58), was 0.50 (0.48 to 0.52)",)
        assert found.unsure == ("c: 0.80 (0.40 to 1.40), was 0.50 (0.48 to 0.52)",)
        assert found.compared == 3
        assert found.left_out == ("gone",)

    def test_a_ratio_that_is_no_ratio_is_left_out(self) -> None:
        good = {"value": 0.5, "low": 0.4, "high": 0.6}
        entries: dict[str, dict[str, float | None]] = {
            "good": {**good},
            "infinite": {**good, "high": None},
            "below": {**good, "value": -0.1},
        }
        assert finite(entries) == {"good": good}


class TestTables:
    TABLE = Table("Title", ("tool", "µs"), (("a", "1"), ("b", "2")), "A note.")

    def test_markdown(self) -> None:
        assert self.TABLE.markdown() == (
            "### Title\n\nA note.\n\n| tool | µs |\n| --- | ---: |\n| a | 1 |\n| b | 2 |\n"
        )

    def test_interval(self) -> None:
        assert with_interval(Estimate(610, 550, 700), 1000) == "0.61 (0.55 to 0.70)"
        assert with_interval(Estimate(0.04, 0.03, 0.05), 0.01, 1, "%") == "4.0 (3.0 to 5.0) %"

    def test_a_part_is_replaced_and_nothing_else(self) -> None:
        first, last = markers_of("x")
        text = f"head\n{first}\nold\n{last}\ntail\n"
        assert replace_part(text, "x", "new\n") == f"head\n{first}\n\nnew\n\n{last}\ntail\n"
        with pytest.raises(NoisetopError, match="no place"):
            replace_part(f"{first} but no end", "x", "new")

    def test_the_document_has_a_place_for_every_part(self) -> None:
        document = (Path(__file__).parent.parent / "docs" / "performance.md").read_text()
        for part in all_parts():
            assert "new tables" in replace_part(document, part.name, "new tables")


class TestMachine:
    CPUINFO = "processor\t: 0\nmodel name\t: AMD EPYC\nflags\t\t: fpu hypervisor sse\n"

    def test_model_and_guest(self) -> None:
        assert cpu_model(self.CPUINFO) == "AMD EPYC"
        assert is_guest(self.CPUINFO)
        assert cpu_model("CPU implementer : 0x41\n") == ""

    def test_line(self) -> None:
        machine: dict[str, object] = {
            "cpu": "X",
            "cpus": 4,
            "guest": True,
            "kernel": "6.1",
            "date": "2026-01-02",
        }
        assert machine_line(machine) == "4 CPUs of X, a virtual machine; Linux 6.1; 2026-01-02."


def ratios(name: str, value: float) -> dict[str, object]:
    return {"ratios": {name: {"value": value, "low": value - 0.01, "high": value + 0.01}}}


class TestCommandLine:
    def test_parts_are_numbered_from_one(self) -> None:
        numbers = [part.number for part in all_parts()]
        assert numbers == list(range(1, len(numbers) + 1))

    @pytest.mark.parametrize(
        "argv",
        [
            ["--part", "99"],
            ["--tool", "no such"],
            ["--rounds", "0"],
            ["--results", "x.json"],
            ["--publish", "--tool", "perf record"],
        ],
    )
    def test_refuses(self, argv: list[str]) -> None:
        with pytest.raises(UsageError):
            parse_arguments(argv)
        assert main(argv) == 2

    def test_accepts(self) -> None:
        check_arguments(parse_arguments(["--quick", "--part", "1", "--part", "3"]))

    def test_results_of_another_kind(self, tmp_path: Path) -> None:
        path = tmp_path / "x.json"
        path.write_text("[]")
        with pytest.raises(NoisetopError, match="no results of the bench"):
            read_ratios(path)

    def test_check_of_a_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        baseline, results = tmp_path / "baseline.json", tmp_path / "results.json"
        monkeypatch.setattr("bench.__main__.BASELINE", baseline)
        baseline.write_text(json.dumps(ratios("a", 0.5)))
        results.write_text(json.dumps(ratios("a", 0.54)))
        assert main(["--check", "--results", str(results)]) == 0
        results.write_text(json.dumps(ratios("a", 0.6)))
        assert main(["--check", "--results", str(results)]) == 1
        assert "worse: a: 0.60 (0.59 to 0.61), was 0.50 (0.49 to 0.51)" in capsys.readouterr().err
        results.write_text(json.dumps(ratios("other", 0.6)))
        assert main(["--check", "--results", str(results)]) == 1
