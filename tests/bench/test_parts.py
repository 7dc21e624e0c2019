"""What the parts of the bench make of what was measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from bench.bpf_stats import ProgramRuns, parse_fdinfo, parse_names
from bench.exchanges import KINDS, running_exchanges
from bench.made_up_recording import Size, write_made_up
from bench.parts import OwnPart, PartResult, PeriodPart, Plan, all_parts, run_parts
from bench.parts.added_time import LOADS, check_seen, ratios_of, series_of, targets_of
from bench.parts.after_the_fact import REPORT, SCRIPT, TRACE, Job, Reading, own_jobs
from bench.parts.after_the_fact import result_of as reading_result
from bench.parts.capacity import FULL_SPEED, FULL_SPEED_TRIALS, STEP, Staircase, Trial
from bench.parts.capacity import result_of as capacity_result
from bench.parts.exchanges import PLACES
from bench.parts.exchanges import result_of as exchanges_result
from bench.parts.growth import SIZES
from bench.parts.growth import result_of as growth_result
from bench.parts.program_sets import CHEAP, COMPARED, LIMITS, SETS
from bench.parts.program_sets import result_of as sets_result
from bench.parts.programs import Measured, by_name
from bench.parts.sender_cost import setting_of
from bench.parts.unwatched import elsewhere
from bench.parts.unwatched import result_of as unwatched_result
from bench.rounds import Rounds, Turn, take_rounds
from bench.run_once import RunOnce, run_once
from bench.starts import Costs
from bench.tools import Seen, Setting, Tool
from bench.tools.bpftrace import parse_printed
from bench.tools.empty_programs import CHEAP_FLOOR, FLOOR, source_for
from bench.tools.noisetop import OTHER, RECORD
from bench.tracepoints import Tracepoint
from bench.victim import Victim
from noisetop import _native
from noisetop.errors import NoisetopError
from noisetop.exporters import exporters_by_suffix
from noisetop.machine.system import online_cpus
from noisetop.recording.raw_file import read_spool
from noisetop.summary.recorded import summary_of
from noisetop.tracing.program_sets import program_set
from tests.bench.made import SETTING, FakeTool, costs_of, rounds_of


class TestAddedTime:
    def test_added_time_is_what_comes_on_top_of_the_neighbours(self) -> None:
        series = series_of(rounds_of({"noisetop record": 250}), "noisetop record", LOADS[0].name)
        assert series.added_ns().value == pytest.approx(250)
        assert series.growth().value == pytest.approx(250 / 7035)

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


class TestUnwatched:
    def test_tools_watch_the_other_cpu(self) -> None:
        assert elsewhere(SETTING).cpu_list == "0"
        assert elsewhere(SETTING).housekeeping == SETTING.housekeeping

    def test_how_much_longer_gaps_get(self) -> None:
        rounds: Rounds[float] = Rounds()
        for number in range(8):
            base = 7000.0 + number
            for tool, more in {"noisetop record": 350.0, "perf record": 0.0}.items():
                rounds.add(Turn(tool, base - 1, base + more, base + 1, Seen(1)))
        result = unwatched_result(rounds)
        (target,) = result.targets
        assert target.name == "unwatched/noisetop record : nothing"
        assert target.estimate.value == pytest.approx(1.05, abs=1e-3)
        assert not target.held
        assert set(result.ratios) == {target.name}
        assert [row[0] for row in result.tables[0].rows] == ["noisetop record", "perf record"]


class TestExchanges:
    def test_what_is_added_beside_the_peers(self) -> None:
        rounds: Rounds[dict[str, float]] = Rounds()
        added = {"softirqs": 9.0, "noisetop record": 260.0, "perf record": 2000.0}
        for number in range(8):
            for tool, more in added.items():
                before, during, after = (
                    dict.fromkeys(PLACES, 3000.0 + number + some) for some in (-1, more, 1)
                )
                rounds.add(Turn(tool, before, during, after, Seen(1)))
        blind = cast(Tool, FakeTool("softirqs", blind_to=frozenset({"pipe"})))
        tools = (blind, *(cast(Tool, FakeTool(name)) for name in list(added)[1:]))
        result = exchanges_result(rounds, tools)
        assert not result.targets
        assert result.ratios["exchanges/pipe-watched/noisetop record : perf record"].value == (
            pytest.approx(0.13)
        )
        assert [row[0] for row in result.tables[0].rows[1:]] == list(added)
        row = next(row for row in result.tables[1].rows if row[0].endswith("softirqs"))
        pipes = [place.startswith("pipe") for place in ("", *PLACES)]
        assert [cell == "cannot see it" for cell in row] == pipes

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_program_tells_what_a_round_trip_takes(self, kind: str, tmp_path: Path) -> None:
        with running_exchanges(max(online_cpus()), tmp_path) as program:
            assert program.round_trip_ns(kind) > 0

    def test_a_program_that_has_ended_is_told(self, tmp_path: Path) -> None:
        with running_exchanges(max(online_cpus()), tmp_path) as program:
            program.asked.process.kill()
            program.asked.process.wait()
            with pytest.raises(NoisetopError, match="exchanges ended early"):
                program.round_trip_ns(KINDS[0])


class TestProgramSets:
    ADDED = {one.name: 400.0 for one in SETS} | {CHEAP: 300.0, FLOOR.name: 300.0}

    def made(self, **more: float) -> Costs:
        loads = (*dict.fromkeys(load for load, *_ in LIMITS), "redis GET")
        return costs_of(loads, self.ADDED | {CHEAP_FLOOR.name: 250.0} | more)

    def test_a_figure_is_the_median_of_the_starts(self) -> None:
        result = sets_result(self.made())
        figures = cast(dict[str, dict[str, dict[str, Any]]], result.figures)
        mine = figures["ipi-20k"][RECORD]
        assert mine["by_start_ns"] == [400, 900, 400, 380, 400]
        assert mine["added_ns"] == {"value": 400, "low": 380, "high": 900}
        first, *rows = result.tables[0].rows
        assert first[1] == "5000 (5000 to 5000)"
        assert [row[0] for row in rows] == [one.name for one in SETS]
        assert result.tables[0].columns == ("programs", *figures)

    def test_sets_against_empty_ones_and_the_complete_one(self) -> None:
        result = sets_result(self.made())
        name = f"program_sets/redis GET/{CHEAP} : {CHEAP_FLOOR.name}"
        assert result.ratios[name].value == pytest.approx(1.2)
        assert len(result.tables[1].rows) == len(COMPARED) - 1
        assert result.tables[1].rows[-1][1].startswith("0.62")

    def test_another_checkout_is_compared_where_there_is_one(self) -> None:
        result = sets_result(self.made(**{OTHER: 500.0}))
        assert result.ratios[f"program_sets/datagram/{RECORD} : {OTHER}"].value == 0.8
        assert result.tables[1].rows[-1][0] == f"{RECORD} : {OTHER}"
        assert not [name for name in sets_result(self.made()).ratios if OTHER in name]

    @pytest.mark.parametrize(("cheap", "floor", "held"), [(300, 300, False), (270, 330, True)])
    def test_targets(self, cheap: float, floor: float, held: bool) -> None:
        result = sets_result(self.made(**{CHEAP: cheap, FLOOR.name: floor}))
        assert {target.name: target.held for target in result.targets} == {
            "program_sets/ipi-20k/noisetop record : empty programs": held,
            "program_sets/datagram/noisetop record : empty programs": held,
            "program_sets/unwatched datagram/noisetop record : empty programs": held,
            "program_sets/unwatched timer/noisetop record : empty programs": held,
            "program_sets/timer/noisetop record : empty programs": held,
            "program_sets/ipi-20k/noisetop record --cheap : noisetop record": held,
        }

    def test_the_floor_of_cheap_lacks_what_cheap_leaves_out(self) -> None:
        source = source_for(3, program_set(("cheap",)).programs)
        assert "int call_function_single_exit(" in source
        assert "int csd_entry(" not in source

    def test_the_floor_is_on_every_tracepoint_of_the_complete_set(self) -> None:
        source = source_for(3)
        attached = {name for name in _native.programs() if f"int {name}(" in source}
        assert {"softirq_exit", "csd_entry", "hrtimer_entry_twin_1", "wait_wakeup"} <= attached
        others = {"wait_waking", "softirq_raise", "entry_begin", "fault_begin", "wait_find"}
        assert attached.isdisjoint({*others, "hrtimer_entry_twin_2"})
        (first,) = [line for line in source.splitlines() if "int hrtimer_entry_twin_1(" in line]
        assert "== 3) bpf_ktime_get_ns()" in first
        (arming,) = [line for line in source.splitlines() if "int hrtimer_start(" in line]
        assert "== 3) bpf_ktime_get_ns()" in arming


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
        summary = summary_of(recorded)
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
            for cpu in summary_of(recorded).cpus
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

    def test_programs_that_share_a_cut_name_are_told_apart(self) -> None:
        """Else two that run once for a disturbance would cost as much as one."""
        before = {1: ProgramRuns(10, 100), 2: ProgramRuns(0, 0), 3: ProgramRuns(5, 5)}
        after = {2: ProgramRuns(2, 30), 1: ProgramRuns(12, 150), 4: ProgramRuns(9, 9)}
        found = by_name(before, after, {1: "call_function_s", 2: "call_function_s", 4: "new"})
        assert found == {
            "call_function_s": ProgramRuns(2, 50),
            "call_function_s 2": ProgramRuns(2, 30),
        }
        assert Measured(sent=[2], programs=[found]).costs() == [40]

    def test_only_programs_of_the_disturbance_count(self) -> None:
        delta = {"often": ProgramRuns(100, 5000), "rare": ProgramRuns(1, 100_000)}
        measured = Measured(sent=[100, 100], programs=[delta, delta])
        assert measured.names() == ["often"]
        assert measured.per_run("often").value == 50
        assert measured.costs() == [50, 50]
