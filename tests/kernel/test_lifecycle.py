"""However a run ends, nothing of ours stays in the kernel and the recording can be read."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from noisetop.recording.open import open_recording
from tests.kernel import forked
from tests.kernel.loads import RESTS, workload
from tests.kernel.own_cpu import OTHER, OWN
from tests.kernel.program import (
    PROGRAM,
    ended_at_last,
    is_loaded_by,
    left_in_kernel,
    read,
    run,
    started,
    wait_for,
    wait_for_line,
)

pytestmark = [pytest.mark.kernel, pytest.mark.side_by_side]

CPU = str(OWN)
QUIET_TRIES = 5


def test_a_signal_ends_the_recording(tmp_path: Path) -> None:
    paths = {
        number: tmp_path / f"{number.name}.json"
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    with contextlib.ExitStack() as stack:
        running = {
            number: stack.enter_context(started("record", "-c", CPU, "-o", path, until="recording"))
            for number, path in paths.items()
        }
        for number, process in running.items():
            assert is_loaded_by(process.pid)
            process.send_signal(number)
        for process in running.values():
            assert process.wait(timeout=30) == 0
    wait_for(lambda: not left_in_kernel(), "the programs to be gone")
    assert all(open_recording(path).damage == "" for path in paths.values())
    assert {file.name for file in tmp_path.iterdir()} == {path.name for path in paths.values()}


def events_and_names(path: Path) -> tuple[int, set[str]]:
    """How many events a recording has, and what they are steps of."""
    recording = open_recording(path)
    count = sum(len(chunk) for chunk in recording.chunks())
    return count, {step for source in recording.sources for step in source.path}


def test_kill_leaves_a_file_that_can_be_exported(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    partial = tmp_path / "trace.json.partial"
    with (
        workload("membarrier", OWN, OTHER, 4000),
        forked.started("record", "-c", CPU, "-o", path, until="recording") as process,
    ):
        wait_for(lambda: partial.stat().st_size > 500_000, "events on disk")
        wait_for(lambda: "ipi_mb" in events_and_names(partial)[1], "names, which come later")
        process.kill()
        process.wait()
    wait_for(lambda: not left_in_kernel(), "the programs to be gone")
    exported = read("export", partial, "-o", path)
    assert "cut short" in exported.stderr
    count, names = events_and_names(path)
    assert count > 1000
    assert "ipi_mb" in names


def test_the_end_of_the_process_ends_the_recording(tmp_path: Path) -> None:
    victim = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    path = tmp_path / "trace.json"
    with forked.started("record", "-p", str(victim.pid), "-o", path, until="recording") as process:
        victim.communicate(b"\n")
        assert process.wait(timeout=30) == 0
        assert process.stderr
        assert f"PID {victim.pid} (python) exited" in process.stderr.read().replace(
            "python3", "python"
        )
    assert "exited" in open_recording(path).ended


@pytest.mark.parametrize(("script", "status"), [("exit 7", 7), ("kill -9 $$", 137), ("true", 0)])
def test_the_command_gives_its_exit_status(tmp_path: Path, script: str, status: int) -> None:
    done = forked.run("record", "-o", tmp_path / "run.noisetop", "--", "sh", "-c", script)
    assert done.returncode == status, done.stderr
    assert (tmp_path / "run.noisetop").exists()


def test_the_command_runs_where_it_would_without_us(tmp_path: Path) -> None:
    print_affinity = "import os; print(sorted(os.sched_getaffinity(0)))"
    path = tmp_path / "r.noisetop"
    done = forked.run("record", "-c", CPU, "-o", path, "--", sys.executable, "-c", print_affinity)
    assert done.stdout.strip() == str(sorted(os.sched_getaffinity(0)))


def test_the_command_runs_as_who_called_with_nothing_of_ours(tmp_path: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    look = """
        echo $HOME
        id -u; id -g; id -G
        grep -E '^Cap(Prm|Eff)' /proc/self/status | cut -f 2
        ls /proc/$$/fd
    """
    path = tmp_path / "r.noisetop"
    done = run(
        *("record", "-c", CPU, "--as-user", "-o", path, "--"),
        *("sh", "-c", look),
        env={**os.environ, "SUDO_UID": str(nobody.pw_uid), "SUDO_GID": str(nobody.pw_gid)},
        stdin=subprocess.DEVNULL,
        cwd="/",
    )
    assert done.returncode == 0, done.stderr
    home, uid, gid, groups, permitted, effective, *files = done.stdout.splitlines()
    assert (home, int(uid), int(gid)) == (nobody.pw_dir, nobody.pw_uid, nobody.pw_gid)
    assert groups.split() == [gid]
    assert int(permitted, 16) == int(effective, 16) == 0
    assert files == ["0", "1", "2"]


def test_the_command_has_the_environment_and_signals_that_it_has_without_us(
    tmp_path: Path,
) -> None:
    look = ["sh", "-c", "env -u _; grep '^Sig[BI]' /proc/self/status; ulimit -a; umask"]
    ours = {name: value for name, value in os.environ.items() if "BLAS" not in name}
    alone = subprocess.run(look, capture_output=True, text=True, check=True, env=ours)
    done = run("record", "-c", CPU, "-o", tmp_path / "r.noisetop", "--", *look, env=ours)
    assert done.returncode == 0, done.stderr
    assert done.stdout == alone.stdout


@pytest.mark.parametrize(
    ("command", "status", "reason"),
    [("/does/not/exist", 127, "No such file"), ("/etc/passwd", 126, "Permission denied")],
)
def test_a_command_that_cannot_be_run(
    tmp_path: Path, command: str, status: int, reason: str
) -> None:
    done = forked.run("record", "-o", tmp_path / "run.noisetop", "--", command)
    assert done.returncode == status
    assert done.stderr.splitlines()[-1].startswith(f"noisetop: cannot run {command}: {reason}")
    assert not list(tmp_path.iterdir())
    wait_for(lambda: not left_in_kernel(), "the programs to be gone")


@pytest.mark.parametrize("script", ["exit 7", pytest.param("true", marks=pytest.mark.thorough)])
def test_a_recording_outlives_the_reader_of_its_messages(tmp_path: Path, script: str) -> None:
    """As in ``noisetop record … 2>&1 | true``."""
    reader, writer = os.pipe()
    os.close(reader)
    path = tmp_path / "run.noisetop"
    command = [str(PROGRAM), "record", "-c", CPU, "-o", str(path), "--", "sh", "-c", script]
    done = subprocess.run(command, stdout=writer, stderr=writer, timeout=60, check=False)
    os.close(writer)
    assert done.returncode == (7 if script == "exit 7" else 0)
    assert open_recording(path).damage == ""
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_kill_at_the_start_leaves_no_file_or_one_that_can_be_read(tmp_path: Path) -> None:
    """The programs are loaded, and the window has hardly begun."""
    path = tmp_path / "run.noisetop"
    process = subprocess.Popen([PROGRAM, "record", "-c", CPU, "-o", path])
    wait_for(lambda: is_loaded_by(process.pid), "a program in the kernel")
    process.kill()
    process.wait()
    for left in tmp_path.iterdir():
        assert open_recording(left).damage == "it was cut short"


def test_the_second_of_two_recordings_into_one_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.noisetop"
    with forked.started("record", "--force", "-c", CPU, "-o", path, until="recording") as first:
        second = forked.run("record", "--force", "-c", CPU, "-d", "100ms", "-o", path)
        assert second.returncode == 2
        assert "another noisetop is writing" in second.stderr
        first.send_signal(signal.SIGINT)
        assert first.wait(timeout=30) == 0
    assert open_recording(path).damage == ""
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_command_that_ignores_sigterm_is_told(tmp_path: Path) -> None:
    script = "trap '' TERM; echo ready; sleep 4"
    path = tmp_path / "run.noisetop"
    done = forked.run("record", "-d", "500ms", "-o", path, "--", "sh", "-c", script)
    assert "the command goes on after SIGTERM: kill -KILL " in done.stderr


def test_a_full_disk_ends_the_recording_in_one_line(tmp_path: Path) -> None:
    """It holds two of the largest blocks that are written at once."""
    script = f"""
        mount -t tmpfs -o size=3m none {tmp_path} || exit 99
        {PROGRAM} record -c {CPU} -d 20s -o {tmp_path}/run.noisetop
        echo "status $?"
        {PROGRAM} report --json {tmp_path}/run.noisetop.partial
    """
    process = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with ended_at_last(process):
        wait_for_line(process, "recording")
        assert process.stdout
        assert process.stderr
        with workload("membarrier", OWN, OTHER, 0):
            assert process.stdout.readline() == "status 1\n"
        # communicate() would not have what readline() has read ahead.
        report, said = process.stdout.read(), process.stderr.read()
        assert process.wait(timeout=60) == 0, said
    assert "No space left on device" in said
    assert "Traceback" not in said
    assert json.loads(report)["cpus"][CPU]["count"] > 1000


def test_plain_text_and_json_lines() -> None:
    done = forked.run("-c", CPU, "--json", "0.3", "3")
    assert done.returncode == 0, done.stderr
    samples = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(samples) == 3
    assert all(set(sample["cpus"]) == {CPU} for sample in samples)
    assert all(200e6 < sample["duration_ns"] < 5e9 for sample in samples)


def test_a_closed_pipe_is_no_error() -> None:
    done = subprocess.run(
        f"{PROGRAM} -c {CPU} 0.2 20 | head -n 1",
        shell=True,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr
    wait_for(lambda: not left_in_kernel(), "the programs to be gone")


def test_live_and_recorded_at_once_say_the_same(tmp_path: Path) -> None:
    path = tmp_path / "run.noisetop"
    with workload("membarrier", OWN, OTHER, 1000, rest_us=RESTS):
        done = forked.run("top", "-c", CPU, "--json", "-d", "1s", "-o", path, "5")
    assert done.returncode == 0, done.stderr
    live = json.loads(done.stdout.splitlines()[-1])
    recorded = json.loads(read("report", path, "--json").stdout)
    assert live["duration_ns"] == recorded["duration_ns"]
    assert live["cpus"] == recorded["cpus"]


def test_the_last_sample_ends_the_recording(tmp_path: Path) -> None:
    # A thread whose end is not reported was told live while it ran, and there is no record of it.
    for number in range(QUIET_TRIES):
        path = tmp_path / f"{number}.noisetop"
        with workload("membarrier", OWN, OTHER, 1000, rest_us=RESTS):
            done = forked.run("top", "-c", CPU, "--json", "-o", path, "0.3", "2")
        assert done.returncode == 0, done.stderr
        recorded = json.loads(read("report", path, "--json").stdout)
        if not recorded["losses"]["unpaired"]:
            break
    samples = [json.loads(line) for line in done.stdout.splitlines()]
    assert recorded["duration_ns"] == sum(one["duration_ns"] for one in samples)
    live = {
        figure: sum(one["cpus"][CPU][figure] for one in samples) for figure in ("count", "noise_ns")
    }
    noise_ns, unpaired = recorded["cpus"][CPU]["noise_ns"], recorded["losses"]["unpaired"]
    assert noise_ns == live["noise_ns"] or (unpaired and noise_ns < live["noise_ns"])
    # A thread that goes on when a period ends, and its work item, have a part in both periods.
    twice = live["count"] - recorded["cpus"][CPU]["count"]
    assert 0 <= twice <= 2 * (len(samples) - 1)


@pytest.mark.parametrize(
    ("redirection", "output"),
    [
        (">/dev/full", "--plain"),
        (">&-", "--json"),
        pytest.param(">/dev/full", "--json", marks=pytest.mark.thorough),
        pytest.param(">&-", "--plain", marks=pytest.mark.thorough),
    ],
)
def test_a_live_output_that_takes_nothing_is_one_line(redirection: str, output: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"$@" {redirection}', "sh", PROGRAM, "-c", CPU, output, "0.2", "2"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr.splitlines()[-1].startswith("noisetop: cannot write to stdout: ")
    assert "Traceback" not in done.stderr
    assert done.returncode == 1
    wait_for(lambda: not left_in_kernel(), "the programs to be gone")


def test_without_a_folder_for_temporary_files() -> None:
    bound = "mount --bind $d $d && mount -o remount,bind,ro $d"
    shut = (
        f"for d in /tmp /var/tmp /usr/tmp; do [ ! -d $d ] || ({bound}) || exit 99; done; cd /proc"
    )
    for words, status in (("--plain 0.2 1", 0), ("--json 0.2 1", 0), ("diagnose -d 300ms", 1)):
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", f"{shut} && exec {PROGRAM} {words}"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert "Traceback" not in done.stderr
        assert done.returncode == status, done.stderr
    assert done.stderr.splitlines()[-1].startswith("noisetop: no folder takes temporary files: ")
