"""Runs of BPF programs of other processes, on a made-up machine."""

from __future__ import annotations

from pathlib import Path

from noisetop.machine.files import Files
from noisetop.machine.program_runs import ProgramRuns, mean_since, runs_of

RAW_TRACEPOINT, XDP = 17, 6
PID = 11


def hold(root: Path, fd: int, *, number: int, runs: int, ns: int, kind: int = 17) -> None:
    """Has the process hold a program under a descriptor."""
    for folder in ("fd", "fdinfo"):
        (root / f"proc/{PID}/{folder}").mkdir(parents=True, exist_ok=True)
    link = root / f"proc/{PID}/fd/{fd}"
    if not link.is_symlink():
        link.symlink_to("anon_inode:bpf-prog")
    fields = {"prog_type": kind, "prog_id": number, "run_time_ns": ns, "run_cnt": runs}
    lines = (f"{name}:\t{value}\n" for name, value in fields.items())
    (root / f"proc/{PID}/fdinfo/{fd}").write_text("pos:\t0\n" + "".join(lines))


def test_each_program_of_a_tracepoint_counts_once(tmp_path: Path) -> None:
    hold(tmp_path, 3, number=70, runs=10, ns=900)
    hold(tmp_path, 4, number=70, runs=10, ns=900)
    hold(tmp_path, 5, number=71, runs=1, ns=50)
    hold(tmp_path, 6, number=72, runs=1_000, ns=9_000, kind=XDP)
    (tmp_path / f"proc/{PID}/fd/7").symlink_to("anon_inode:bpf-map")
    assert runs_of([PID], Files(tmp_path)) == {PID: ProgramRuns(11, 950)}


def test_the_mean_is_that_of_the_runs_since(tmp_path: Path) -> None:
    files = Files(tmp_path)
    hold(tmp_path, 3, number=70, runs=10, ns=5_000)
    before = runs_of([PID], files)
    hold(tmp_path, 3, number=70, runs=110, ns=15_000)
    assert mean_since(before, 100, files) == {PID: 100.0}
    assert mean_since(before, 101, files) == {}


def test_who_is_gone_or_tells_nothing_has_no_mean(tmp_path: Path) -> None:
    hold(tmp_path, 3, number=70, runs=0, ns=0)
    (tmp_path / f"proc/{PID}/fdinfo/3").write_text("prog_type:\t17\nprog_id:\t70\n")
    before = runs_of([PID, 12], Files(tmp_path))
    assert before == {PID: ProgramRuns(0, 0), 12: ProgramRuns(0, 0)}
    assert mean_since(before, 1, Files(tmp_path)) == {}
