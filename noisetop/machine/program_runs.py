"""How often the BPF programs of other processes ran, and for how long, as /proc tells while the
kernel counts that (BPF_ENABLE_STATS)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from noisetop.machine.files import Files

_OF_TRACEPOINTS = ("5", "17", "24", "26")
"""Program types of tracepoints, raw and writable ones and BTF: include/uapi/linux/bpf.h."""


class ProgramRuns(NamedTuple):
    """Of all programs of a process."""

    runs: int
    total_ns: int


def runs_of(pids: Iterable[int], files: Files) -> dict[int, ProgramRuns]:
    """Of the programs that each process holds and that tracepoints run; no runs, where it is gone,
    may not be read or holds none."""
    return {pid: _runs_in(pid, files) for pid in pids}


def mean_since(before: Mapping[int, ProgramRuns], least: int, files: Files) -> dict[int, float]:
    """ns that one run of a program takes, by process, for those with ``least`` runs since then."""
    found = {}
    for pid, after in runs_of(before, files).items():
        runs = after.runs - before[pid].runs
        if runs >= least:
            found[pid] = (after.total_ns - before[pid].total_ns) / runs
    return found


def _runs_in(pid: int, files: Files) -> ProgramRuns:
    # By the program's id: a process may hold several descriptors of one.
    runs: dict[str, ProgramRuns] = {}
    for number in files.names(f"/proc/{pid}/fd"):
        if "bpf-prog" not in files.link(f"/proc/{pid}/fd/{number}"):
            continue
        lines = files.read_again(f"/proc/{pid}/fdinfo/{number}").text.splitlines()
        fields = {name: value.strip() for name, _, value in (one.partition(":") for one in lines)}
        told = fields.get("run_cnt", ""), fields.get("run_time_ns", "")
        if fields.get("prog_type") in _OF_TRACEPOINTS and all(map(str.isdecimal, told)):
            runs[fields.get("prog_id", number)] = ProgramRuns(*map(int, told))
    return ProgramRuns(*map(sum, zip(*runs.values(), strict=True))) if runs else ProgramRuns(0, 0)
