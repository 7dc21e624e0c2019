from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop.cli import run as cli_run
from noisetop.commands import export, report
from noisetop.counters.losses import Losses
from noisetop.counters.overhead import Overhead
from noisetop.diagnosis import diagnose
from noisetop.diagnosis.evidence import evidence_of
from noisetop.errors import NoisetopError, UsageError
from noisetop.events.interruption import Interruptions, Source
from noisetop.events.task_directory import Details
from noisetop.events.task_names import TaskInfo
from noisetop.events.waits import TaskWait
from noisetop.machine.cgroup_names import CgroupNames
from noisetop.machine.task_details import ProcessDetails
from noisetop.recording.open import open_recording
from noisetop.recording.recording import Recording
from noisetop.report.text import Report, report_lines
from noisetop.summary.as_dict import summary_as_dict
from noisetop.summary.recorded import summary_of
from noisetop.summary.worst import summarize_with_worst
from tests.builders import side_figures
from tests.recordings import (
    SOURCES,
    START_NS,
    everything,
    interruption,
    nested_tables,
    recording,
    table,
    write_recording,
)


def lines_of(
    recorded: Recording, *, width: int = 1_000, top: int = 20, histogram_of: str = ""
) -> list[str]:
    made = Report(recorded, *summarize_with_worst(recorded, 10), diagnose(evidence_of(recorded)))
    return list(report_lines(made, width=width, top=top, histogram_of=histogram_of))


def section(lines: list[str], title: str) -> list[str]:
    first = lines.index(title) + 1
    rest = lines[first:]
    return rest[: rest.index("")] if "" in rest else rest


def busy() -> Recording:
    return recording(
        table(
            interruption(1_000, 3_000, source=0),
            interruption(9_000, 500, source=1),
            interruption(20_000, 700, source=1),
            interruption(90_000, 12_345, source=2, cpu=3),
            interruption(200_000, 400, source=4, victim=0, tid=9),
        )
    )


def test_the_head_says_what_it_is() -> None:
    recorded = recording(
        metadata={
            "host": "box", "kernel": "6.1.0", "machine": "x86_64", "target": "CPUs 2-3",
            "started": "2026-01-02T03:04:05", "command": "noisetop record -c 2-3",
            "isolated": "2-3", "nohz_full": "",
        },
        counters=side_figures(
            losses=Losses({2: {"ring_full": 3}}, lost_spool=1),
            overhead=Overhead(20_000_000, 50, 100.0, 2_000, "0-1"),
            unavailable=("csd_function_entry",),
        ),
        ended="PID 7 exited",
        damage="it was cut short",
    )  # fmt: skip
    head = lines_of(recorded)[:12]
    assert head == [
        "noise       0.0000 % net of the CPU time: 0 ns in 1.00 s, 0 interruptions",
        "losses      LOST 4 events: ring full 3 (CPU 2), lost spool 1",
        "",
        "recorded    CPUs 2-3  2026-01-02T03:04:05",
        "command     noisetop record -c 2-3",
        "host        box  6.1.0  x86_64",
        "duration    1.00 s, 0 interruptions, 0 events on idle CPUs",
        "CPUs        2-3 watched; isolated 2-3",
        "overhead    20.0 ms CPU time (2.00 %), 50 wake-ups, on CPU 0-1,"
        " BPF on all CPUs about 200 µs (100 ns for each of 2.00k records)",
        "unavailable csd_function_entry",
        "ended       PID 7 exited",
        "damage      it was cut short",
    ]


def test_the_verdict_comes_first() -> None:
    lines = lines_of(busy())
    assert lines[0] == (
        "noise       0.0008 % net of the CPU time: 16.5 µs in 1.00 s, 4 interruptions"
    )
    assert lines[1] == (
        "worst       12.3 µs on CPU 3 at 0.000090 s, mostly irq › 36 virtio1-req.0 (12.3 µs)"
    )
    assert lines[2] == "top source  irq › 36 virtio1-req.0 (unattributed): 74.6 % of the noise"
    assert lines[3].startswith("top cause   ")
    assert lines[4] == "losses      lost 0"


def test_losses_are_told_even_when_there_are_none() -> None:
    assert "losses      lost 0" in lines_of(recording())


def test_cpus_and_their_sum() -> None:
    lines = section(lines_of(busy()), "CPUs")
    assert [line.split()[0] for line in lines] == ["CPU", "2", "3", "all"]
    assert "3.00 µs" in lines[1]
    assert "12.3 µs" in lines[2]


def test_a_class_of_a_new_word_has_a_column() -> None:
    made = recording(table(interruption(0, 70)), sources=[Source(("word", "taken"))])
    assert ["CPU", "word"] in [line.split() for line in lines_of(made)]


def test_sources_by_net_time_with_what_is_left_out() -> None:
    lines = section(lines_of(busy(), top=1), "Sources")
    assert lines[1].endswith("irq › 36 virtio1-req.0")
    assert lines[2] == "and 2 more with 4.20 µs net in total: --top 3"


def test_what_ran_on_an_idle_cpu_is_apart() -> None:
    lines = lines_of(busy())
    assert not any("vmstat_update" in line for line in section(lines, "Sources"))
    idle = section(lines, "On idle CPUs: no task was delayed")
    assert idle[1].split(maxsplit=3) == ["1", "400", "ns", "thread › kworker/2:1 › vmstat_update"]


def test_the_longest_interruptions_with_their_parts() -> None:
    lines = section(lines_of(busy()), "Longest interruptions")
    assert lines[0] == " 1  12.3 µs on CPU 3 at 0.000090 s, victim victim 100"
    assert lines[1].split() == ["+0", "ns", "12.3", "µs", "irq", "›", "36", "virtio1-req.0"]


def caused() -> Recording:
    return recording(
        table(
            interruption(1_000, 3_000, source=0, trigger=1),
            interruption(9_020, 100, source=3, outermost=False, trigger=2, trigger_ns=8_000),
            interruption(9_000, 500, source=3, net_ns=400, trigger=2, trigger_ns=8_000),
            interruption(20_000, 1_500, source=3, trigger=3, trigger_ns=8_000),
            interruption(50_000, 40, source=1),
        ),
        stacks={
            12: ("bpf_prog_1", "__traceiter_csd_queue_cpu", "smp_call_function_many", "membarrier")
        },
        waits={100: TaskWait({"woken": 3, "throttled": 1}, {"woken": 900, "throttled": 100}, 400)},
    )


def test_sources_tell_who_caused_them() -> None:
    lines = section(lines_of(caused()), "Sources")
    assert lines[2] == "     by tick 100 %"
    assert lines[4] == (
        "     by netstamp_clear in kworker/1:2 77 ← tcpdump 99 on CPU 1 75 %,"
        " stress-ng 4711 on CPU 0 25 %"
    )
    assert len(lines) == 6


def test_who_did_it_adds_up_to_the_noise() -> None:
    lines = section(lines_of(caused()), "Triggers")
    assert [[line.split()[1], line[40:].strip()] for line in lines[1:]] == [
        ["3.00", "tick"],
        ["1.50", "netstamp_clear in kworker/1:2 77 ← tcpdump 99 on CPU 1"],
        ["500", "stress-ng 4711 on CPU 0"],
        ["40", "unknown"],
    ]
    assert section(lines_of(caused(), top=1), "Triggers")[2] == "and 3 more with 2.04 µs in total"


def of_programs() -> Recording:
    """A thread of one program delayed that of another, and a script starts two short ones."""
    unit = "/system.slice/redis.service"
    rows = [
        interruption(1_000, 5_000, source=6, tid=10, trigger=2),
        interruption(20_000, 3_000, source=7, tid=50),
        interruption(40_000, 4_000, source=7, tid=51),
    ]
    return recording(
        table(*rows),
        sources=[*SOURCES, Source(("thread", "redis")), Source(("thread", "ls"))],
        tasks={100: "victim", 7: "cronish.sh", 10: "redis", 50: "ls", 51: "ls"},
        infos={
            100: TaskInfo(99, 1, False, 0),
            7: TaskInfo(7, 1, False, 0, 1),
            10: TaskInfo(10, 1, False, 0, 1),
            50: TaskInfo(50, 7, False, 0, START_NS + 1),
            51: TaskInfo(51, 7, False, 0, START_NS + 2),
        },
        details=Details(
            {10: ProcessDetails("redis", "redis \x1b[2J*:6379", 1, unit)},
            {unit: CgroupNames(unit, "redis.service")},
        ),
    )


def test_a_thread_is_told_apart_from_who_woke_it() -> None:
    lines = section(lines_of(of_programs()), "Sources")
    starts = "ls, 2 starts/s by cronish.sh (PID 7)"
    assert [line.strip() for line in lines if line.split()[0] in ("task", "woken", "by")] == [
        f"task {starts} 100 %",
        "task redis 10 (unit redis.service) 100 %",
        "woken by stress-ng 4711 on CPU 0 100 %",
    ]
    culprits = section(lines_of(of_programs()), "Triggers")[1:]
    assert [line.split(" µs ")[-1] for line in culprits] == [
        starts,
        "redis 10 (unit redis.service)",
    ]


def test_short_lived_tasks_have_a_table_with_who_starts_them() -> None:
    (row,) = section(lines_of(of_programs()), "Short-lived tasks")[1:]
    assert row.split() == ["2", "2", "7.00", "µs", "ls", "cronish.sh", "(PID", "7)"]


def test_command_lines_are_listed_when_asked_for() -> None:
    recorded = of_programs()
    made = Report(recorded, *summarize_with_worst(recorded, 10), diagnose(evidence_of(recorded)))
    lines = list(report_lines(made, width=1_000, top=20, histogram_of="", verbose=True))
    processes = {int(row.split()[0]): row for row in section(lines, "Processes")[1:]}
    assert set(processes) == {7, 10}
    assert "redis.service" in processes[10]
    assert "redis \\x1b[2J*:6379" in processes[10]
    assert "Processes" not in lines_of(recorded)


def test_nothing_is_told_of_who_did_it_when_nothing_is_known() -> None:
    lines = lines_of(busy())
    assert "Triggers" not in lines
    assert "Waits: runnable, not running" not in lines
    assert not any(" by " in line for line in lines)


def test_waits_of_victims() -> None:
    (_, line) = section(lines_of(caused()), "Waits: runnable, not running")
    assert " ".join(line.split()) == "1.00 µs 400 ns 3 900 ns 1 100 ns victim 100"


def test_a_long_interruption_tells_who_caused_it_and_from_where() -> None:
    lines = section(lines_of(caused()), "Longest interruptions")
    at = next(i for i, line in enumerate(lines) if "stress-ng" in line)
    assert lines[at].endswith("flush_tlb_func  by stress-ng 4711 on CPU 0")
    assert lines[at + 1].strip() == "from smp_call_function_many ← membarrier"
    assert "stress-ng" in lines[at + 2]
    assert sum("smp_call_function_many" in line for line in lines) == 1


def test_the_histogram_counts_each_interruption_once() -> None:
    lines = section(lines_of(busy()), "Net time per interruption, all sources")
    counts = [int(line.split("…")[1].split()[2]) for line in lines]
    assert counts == [1, 1, 0, 1, 0, 1] == counts[:6]
    assert lines[0].split() == ["256", "ns", "…", "512", "ns", "1", "#" * 40]


@given(nested_tables())
def test_the_histogram_has_all_interruptions(rows: Interruptions) -> None:
    recorded = recording(rows)
    noise = int((rows["victim_tid"] != 0).sum())
    lines = lines_of(recorded)
    title = "Net time per interruption, all sources"
    body = section(lines, title) if title in lines else []
    bars = [line for line in body if "empty rows" not in line]
    assert sum(int(line.split("…")[1].split()[2]) for line in bars) == noise


def test_the_histogram_of_one_source() -> None:
    lines = section(lines_of(busy(), histogram_of="rcu"), "Net time per interruption, rcu")
    assert [line.split()[:6] for line in lines] == [
        ["256", "ns", "…", "512", "ns", "1"],
        ["512", "ns", "…", "1.02", "µs", "1"],
    ]


def test_a_histogram_of_nothing_is_an_error() -> None:
    with pytest.raises(UsageError, match="no source has 'xyz'"):
        lines_of(busy(), histogram_of="xyz")


def test_it_fits_80_columns() -> None:
    assert max(map(len, lines_of(busy(), width=80))) <= 80


@given(st.sampled_from([80, 1_000]))
def test_no_control_character_gets_through(width: int) -> None:
    assert all(line.isprintable() for line in lines_of(everything(), width=width))


def test_an_empty_recording_has_a_report() -> None:
    lines = lines_of(recording(cpus=()))
    assert "Sources" in lines
    assert "Longest interruptions" not in lines


def run(command: Any, *argv: str) -> int:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return int(command.run(parser.parse_args(argv)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.noisetop"
    write_recording(everything(), path, force=False)
    return path


def test_json_has_the_summary(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(report, str(path), "--json") == 0
    content = json.loads(capsys.readouterr().out)
    expected = json.loads(json.dumps(summary_as_dict(summary_of(everything()))))
    assert {key: content[key] for key in expected} == expected
    assert content["lost"] == 6
    assert content["cpus"]["2"]["sources"][0]["path"] == ["timer", "local_timer"]
    assert content["cpus"]["2"]["sources"][0]["net_ns"] == 800
    assert (content["damage"], content["ended"]) == ("it was cut short", "the process ended")
    assert content["worst"][0]["noise_ns"] == 500_000_000


def test_json_of_a_trace_is_that_of_its_recording(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = path.with_name("a.json")
    assert run(export, str(path), "-o", str(trace)) == 0
    run(report, str(path), "--json")
    of_recording = capsys.readouterr().out
    run(report, str(trace), "--json")
    assert capsys.readouterr().out == of_recording


def test_text_goes_to_stdout(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(report, str(path)) == 0
    captured = capsys.readouterr()
    assert "Longest interruptions" in captured.out
    assert captured.err == ""


def test_a_top_that_is_none_is_refused(path: Path) -> None:
    with pytest.raises(UsageError, match="--top"):
        run(report, str(path), "--top", "0")


def test_export_refuses_an_unknown_end_before_it_reads(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="what format"):
        run(export, str(tmp_path / "missing"), "-o", str(tmp_path / "a.txt"))


def test_export_replaces_only_when_told(path: Path) -> None:
    out = path.with_name("a.folded")
    out.write_text("old")
    with pytest.raises(UsageError, match="--force"):
        run(export, str(path), "-o", str(out))
    assert run(export, str(path), "-o", str(out), "--force") == 0
    assert out.read_text() != "old"


def test_export_onto_itself_makes_it_compact(path: Path) -> None:
    before = summary_of(open_recording(path))
    assert run(export, str(path), "-o", str(path), "--force") == 0
    assert summary_of(open_recording(path)) == before


def test_an_export_that_fails_leaves_no_file(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(NoisetopError):
        run(export, str(path), "-o", str(path.with_name("a.json")))
    assert list(path.parent.iterdir()) == [path]


def test_the_command_reads_a_recording_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded = busy()
    begun = []

    def read_chunks() -> Iterator[Interruptions]:
        begun.append(True)
        yield from recorded.read_chunks()

    counted = replace(recorded, read_chunks=read_chunks)
    monkeypatch.setattr(report, "open_recording", lambda path: counted)
    assert cli_run(["report", str(tmp_path / "a.noisetop")]) == 0
    assert "Causes (details: noisetop diagnose)" in capsys.readouterr().out
    assert len(begun) == 1
