"""Who listens to tracepoints, on made-up machines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from noisetop.machine.files import Files
from noisetop.machine.tracepoint_users import (
    TracepointUser,
    perf_event_is_tracepoint,
    tracepoint_users,
)

OWN = 10
TRACING = "sys/kernel/tracing"


def machine(
    root: Path,
    *,
    links: dict[int, list[str]] | None = None,
    files: dict[str, str] | None = None,
) -> Files:
    """``links``: by process what its descriptors lead to; a BPF link is told by its tracepoint."""
    everything = {f"{TRACING}/set_event": "", f"{TRACING}/current_tracer": "nop", **(files or {})}
    for pid, targets in (links or {}).items():
        everything[f"proc/{pid}/comm"] = f"app-{pid}"
        (root / f"proc/{pid}/fd").mkdir(parents=True)
        for fd, target in enumerate(targets):
            is_file = target.startswith(("/", "anon"))
            where = target if is_file else "anon_inode:bpf_link"
            (root / f"proc/{pid}/fd/{fd}").symlink_to(where)
            lines = "pos:\t0" if is_file else f"link_type:\traw_tracepoint\ntp_name:\t{target}"
            everything[f"proc/{pid}/fdinfo/{fd}"] = lines
    for name, text in everything.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    namespace = root / "proc/self/ns"
    namespace.mkdir(parents=True)
    (namespace / "pid").symlink_to("pid:[4026531836]")
    return Files(root)


def never(pid: int, fd: int) -> bool:
    raise AssertionError((pid, fd))


def test_alone_nothing_is_said(tmp_path: Path) -> None:
    files = machine(tmp_path, links={OWN: ["softirq_entry"], 11: ["/dev/null"]})
    assert tracepoint_users(OWN, files, never) == ((), ())


def test_links_are_told_with_their_process(tmp_path: Path) -> None:
    links = {11: ["softirq_exit", "/dev/null", "softirq_entry", "softirq_exit"], 12: ["x"]}
    users, hidden = tracepoint_users(OWN, machine(tmp_path, links=links), never)
    assert users == (
        TracepointUser("bpf", "app-11", 11, ("softirq_entry", "softirq_exit")),
        TracepointUser("bpf", "app-12", 12, ("x",)),
    )
    assert not hidden


def test_of_very_many_files_the_newest_processes_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noisetop.machine.tracepoint_users._MOST_DESCRIPTORS", 3)
    links = {11: ["/dev/null"] * 2, 12: ["softirq_entry"], 13: ["x", "/dev/null"]}
    users, hidden = tracepoint_users(OWN, machine(tmp_path, links=links), never)
    assert [one.pid for one in users] == [12, 13]
    assert hidden == ("processes that were started long ago, as there are too many open files",)


@pytest.mark.parametrize(("told", "count", "kept"), [(True, 1, 0), (False, 0, 0), (None, 0, 1)])
def test_perf_events_count_where_they_are_tracepoints(
    tmp_path: Path, told: bool | None, count: int, kept: int
) -> None:
    files = machine(tmp_path, links={11: ["anon_inode:[perf_event]"]})
    users, hidden = tracepoint_users(OWN, files, lambda pid, fd: told)
    assert users == (TracepointUser("perf", "app-11", 11, ()),) * count
    assert len(hidden) == kept


def test_ftrace_by_instance(tmp_path: Path) -> None:
    """Tasks are named by listening to the scheduler, whatever is traced."""
    files = {
        f"{TRACING}/set_event": "irq:softirq_entry\nsched:sched_stat_wait",
        f"{TRACING}/instances/mine/set_event": "irq:softirq_raise",
        f"{TRACING}/instances/mine/options/record-cmd": "1",
        f"{TRACING}/instances/noise/set_event": "",
        f"{TRACING}/instances/noise/current_tracer": "osnoise",
        f"{TRACING}/instances/idle/set_event": "",
    }
    users, hidden = tracepoint_users(OWN, machine(tmp_path, files=files), never)
    found = {user.name: set(user.tracepoints) for user in users}
    assert not hidden
    assert found["top level"] == {"softirq_entry", "sched_stat_wait"}
    assert found["mine"] == {"softirq_raise", "sched_switch", "sched_wakeup", "sched_wakeup_new"}
    assert found["noise"] >= {"softirq_entry", "irq_handler_exit", "sched_switch"}
    assert found.keys() == {"top level", "mine", "noise"}


def test_what_is_hidden_is_said(tmp_path: Path) -> None:
    files = machine(tmp_path)
    (tmp_path / TRACING / "set_event").unlink()
    (tmp_path / "proc/self/ns/pid").unlink()
    (tmp_path / "proc/self/ns/pid").symlink_to("pid:[4026532999]")
    users, hidden = tracepoint_users(OWN, files, never)
    assert not users
    words = " ".join(hidden)
    assert "tracefs is not mounted" in words
    assert "container" in words


@pytest.mark.parametrize(
    ("effective", "said"),
    [("0", "need CAP_SYS_PTRACE"), ("80000", "app-11 (PID 11), which the kernel")],
    ids=["none", "CAP_SYS_PTRACE"],
)
def test_a_process_that_may_not_be_read_is_said(effective: str, said: str, tmp_path: Path) -> None:
    """Descriptors are listed, but nothing says where they lead to."""
    status = {"proc/self/status": f"CapEff:\t{effective:0>16}"}
    files = machine(tmp_path, links={11: ["softirq_entry"]}, files=status)
    (tmp_path / "proc/11/fd/0").unlink()
    (tmp_path / "proc/11/fd/0").write_text("")
    users, hidden = tracepoint_users(OWN, files, never)
    assert not users
    assert said in " ".join(hidden)


def test_a_descriptor_that_is_no_event_is_none() -> None:
    with Path("/dev/null").open() as file:
        assert perf_event_is_tracepoint(os.getpid(), file.fileno()) is False
    assert perf_event_is_tracepoint(os.getpid(), 1 << 20) is False
