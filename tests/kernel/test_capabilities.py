"""What a running noisetop may still do: the sets of capabilities of each of its threads, and that
what comes after attaching works with them."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from noisetop.recording.open import open_recording
from noisetop.tracing.capabilities import (
    ATTACH,
    AUDIT,
    FILES,
    NONE,
    SIGNALS,
    STACKS,
    Capability,
)
from tests.kernel.own_cpu import OWN
from tests.kernel.program import PATIENCE_S, PROGRAM, is_loaded_by, read, run, wait_for
from tests.kernel.test_dashboard import terminal

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.side_by_side,
    pytest.mark.skipif(os.geteuid() != 0, reason="has capabilities to give up as root only"),
]

CPU = str(OWN)
NAMES_OF_CONTAINERS = Capability.DAC_READ_SEARCH
SETS = ("Inh", "Prm", "Eff", "Bnd", "Amb")
NOBODY = pwd.getpwnam("nobody")


def sets_in(status: str) -> dict[str, Capability]:
    """The sets in the text of /proc/PID/status."""
    found = {name: re.search(rf"(?m)^Cap{name}:\s+(\S+)$", status) for name in SETS}
    return {name: Capability(int(match[1], 16)) for name, match in found.items() if match}


def threads(pid: int) -> dict[str, str]:
    """The text of the status of each thread."""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            found[task.name] = (task / "status").read_text()
    return found


def is_left_with(text: str, kept: Capability, effective: Capability = NONE) -> bool:
    """Whether a thread has given up all but these. The native drain thread keeps none."""
    sets = sets_in(text)
    if not re.search(r"(?m)^NoNewPrivs:\s+1$", text) or sets["Inh"] or sets["Amb"]:
        return False
    if not sets["Prm"]:
        return not sets["Eff"]
    return (sets["Prm"], sets["Eff"], sets["Bnd"]) == (kept, effective, kept)


def wait_until_left_with(pid: int, kept: Capability, effective: Capability = NONE) -> None:
    """Until all threads are: a step that takes one has it in effect for a moment."""
    seen: dict[str, str] = {}

    def all_are() -> bool:
        seen.clear()
        seen.update(threads(pid))
        # One alone is that of the start.
        return len(seen) > 2 and all(is_left_with(one, kept, effective) for one in seen.values())

    try:
        wait_for(all_are, f"{kept!r} alone")
    except AssertionError:
        raise AssertionError([sets_in(text) for text in seen.values()]) from None
    of_python = [text for text in seen.values() if sets_in(text)["Bnd"] == kept]
    assert len(of_python) >= len(seen) - 1


@contextlib.contextmanager
def running(*arguments: str | Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Starts a command that says nothing; ends when its programs are attached."""
    process = subprocess.Popen(
        [PROGRAM, *arguments], env={**os.environ, **environment},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        wait_for(lambda: is_loaded_by(process.pid), "a program in the kernel")
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str], number: signal.Signals = signal.SIGINT) -> str:
    process.send_signal(number)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, said
    return said


def test_record_keeps_what_names_containers(tmp_path: Path) -> None:
    path = tmp_path / "a.noisetop"
    with running("record", "-c", CPU, "-o", path) as process:
        wait_until_left_with(process.pid, NAMES_OF_CONTAINERS)
        ended(process)
    assert open_recording(path).damage == ""
    assert path.stat().st_mode & 0o777 == 0o600


def test_record_with_stacks_keeps_what_names_the_functions_of_programs(tmp_path: Path) -> None:
    with running("record", "-c", CPU, "--stacks", "-o", tmp_path / "a.noisetop") as process:
        wait_until_left_with(process.pid, NAMES_OF_CONTAINERS | STACKS)
        ended(process)


def test_top_keeps_what_names_containers() -> None:
    with running("top", "-c", CPU, "--plain", "0.2") as process:
        wait_until_left_with(process.pid, NAMES_OF_CONTAINERS)
        ended(process)


def test_the_dashboard_keeps_what_finds_causes() -> None:
    """Its terminal has threads before the programs are attached."""
    with terminal("-c", CPU) as dashboard:
        wait_for(lambda: is_loaded_by(dashboard.pid), "a program in the kernel")
        wait_until_left_with(dashboard.pid, NAMES_OF_CONTAINERS | AUDIT)
        assert len(threads(dashboard.pid)) > 4


def test_diagnose_keeps_what_finds_causes() -> None:
    with running("diagnose", "-c", CPU, "-d", "30s", "--json") as process:
        wait_until_left_with(process.pid, STACKS | AUDIT)
        ended(process)


@pytest.mark.parametrize("probe", ["spin", "switch"])
def test_a_probe_keeps_nothing(probe: str) -> None:
    with running("probe", probe, "-d", "1s", "-c", CPU) as process:
        wait_until_left_with(process.pid, NONE)
        assert process.wait(timeout=PATIENCE_S) == 0


def test_a_probe_attaches_for_each_share_and_keeps_nothing_for_the_last() -> None:
    shares = ("--busy", "100,50", "-d", "600ms", "--json")
    with running("probe", "spin", *shares, "-c", CPU) as process:
        wait_until_left_with(process.pid, NONE)
        assert process.wait(timeout=PATIENCE_S) == 0


def test_a_calibration_keeps_what_attaching_takes(tmp_path: Path) -> None:
    with running(
        "probe", "calibrate", "-c", CPU, "-d", "200ms", XDG_STATE_HOME=str(tmp_path)
    ) as process:
        has = sets_in(Path("/proc/self/status").read_text())["Prm"]
        for text in threads(process.pid).values():
            assert is_left_with(text, ATTACH & has, ATTACH & has)
        assert process.wait(timeout=PATIENCE_S) == 0
    assert list(tmp_path.rglob("calibration*"))


def test_a_command_has_all_that_the_caller_has(tmp_path: Path) -> None:
    """And noisetop keeps what ends one that became another user."""
    look = "grep -E '^(Cap|NoNewPrivs|Seccomp)' /proc/self/status; exec sleep 60"
    process = subprocess.Popen(
        [PROGRAM, "record", "-o", tmp_path / "a.noisetop", "--", "sh", "-c", look],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        mine = re.findall(
            r"(?m)^(?:Cap|NoNewPrivs|Seccomp).*$", Path("/proc/self/status").read_text()
        )
        assert process.stdout
        told = [process.stdout.readline().rstrip("\n") for _ in mine]
        assert told == mine
        wait_until_left_with(process.pid, NAMES_OF_CONTAINERS | SIGNALS)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 128 + signal.SIGTERM


def test_a_command_of_another_user_is_ended(tmp_path: Path) -> None:
    done = run(
        "record", "-d", "500ms", "--as-user", "-o", tmp_path / "a.noisetop", "--", "sleep", "60",
        env={**os.environ, "SUDO_UID": str(NOBODY.pw_uid), "SUDO_GID": str(NOBODY.pw_gid)},
        cwd="/",
    )  # fmt: skip
    assert done.returncode == 128 + signal.SIGTERM, done.stderr


@pytest.fixture
def private_folder() -> Iterator[Path]:
    """Of another user."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        os.chown(folder, NOBODY.pw_uid, NOBODY.pw_gid)
        yield folder


@pytest.mark.parametrize("suffix", ["noisetop", "json"])
def test_under_sudo_the_output_is_that_of_who_called(private_folder: Path, suffix: str) -> None:
    """In a folder where nobody else may look."""
    path = private_folder / f"a.{suffix}"
    sudo = {"SUDO_UID": str(NOBODY.pw_uid), "SUDO_GID": str(NOBODY.pw_gid)}
    with running("record", "-c", CPU, "-o", path, **sudo) as process:
        wait_until_left_with(process.pid, NAMES_OF_CONTAINERS | FILES)
        ended(process)
    assert [one.name for one in private_folder.iterdir()] == [path.name]
    assert path.stat().st_uid == NOBODY.pw_uid
    assert open_recording(path).damage == ""


def test_without_sudo_a_folder_of_another_user_takes_the_output(private_folder: Path) -> None:
    path = private_folder / "a.noisetop"
    with running("record", "-c", CPU, "-o", path) as process:
        wait_until_left_with(process.pid, NAMES_OF_CONTAINERS | FILES)
        ended(process)
    assert open_recording(path).damage == ""


def test_diagnose_and_its_files_under_sudo(private_folder: Path) -> None:
    path = private_folder / "a.json"
    done = run(
        "diagnose", "-c", CPU, "-d", "500ms", "--json", "--save", path,
        env={**os.environ, "SUDO_UID": str(NOBODY.pw_uid), "SUDO_GID": str(NOBODY.pw_gid)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)
    assert path.stat().st_uid == NOBODY.pw_uid


def test_a_program_that_only_its_owner_may_read_can_be_read_all_the_time(
    private_folder: Path, tmp_path: Path
) -> None:
    """Installed in a home folder, and run by sudo: modules are imported when they are needed."""
    with running(
        "record", "-c", CPU, "-o", tmp_path / "a.noisetop", PYTHONPATH=str(private_folder)
    ) as process:
        wait_until_left_with(process.pid, NAMES_OF_CONTAINERS, Capability.DAC_READ_SEARCH)
        ended(process)


def test_names_where_proc_hides_tasks_of_others(tmp_path: Path) -> None:
    path = tmp_path / "a.noisetop"
    busy = "while :; do :; done"
    command = ["setpriv", "--reuid=65534", "--clear-groups", "taskset", "-c", CPU, "sh", "-c"]
    with subprocess.Popen([*command, busy], cwd="/") as victim:
        try:
            script = f"""
                mount -t proc -o hidepid=2 proc /proc || exit 99
                exec {PROGRAM} record -c {CPU} -d 300ms -o {path}
            """
            done = subprocess.run(
                ["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True,
                timeout=60, check=False,
            )  # fmt: skip
        finally:
            victim.kill()
    assert done.returncode == 0, done.stderr
    told = json.loads(read("report", path, "--json").stdout)
    commands = {one["command"] for one in told["victims"]}
    assert any(busy in one for one in commands), commands


def test_a_command_of_an_action_has_all_that_the_caller_has(tmp_path: Path) -> None:
    told, output = tmp_path / "told", tmp_path / "a.noisetop"
    look = f"shell,command=grep -E '^(Cap|NoNewPrivs)' /proc/self/status > {told}; id -u >> {told}"
    with running(
        "record", "-c", CPU, "--keep", "1s", "--on-end", "trace", "--on-end", look, "-o", output
    ) as process:
        wait_until_left_with(process.pid, NAMES_OF_CONTAINERS)
        ended(process)
    mine = re.findall(r"(?m)^(?:Cap|NoNewPrivs).*$", Path("/proc/self/status").read_text())
    assert told.read_text().splitlines() == [*mine, "0"]


def test_a_command_of_an_action_is_run_as_who_called(private_folder: Path) -> None:
    told = private_folder / "told"
    look = f"shell,command=id -u > {told}; grep ^CapEff /proc/self/status >> {told}"
    sudo = {"SUDO_UID": str(NOBODY.pw_uid), "SUDO_GID": str(NOBODY.pw_gid)}
    with running(
        "record", "-c", CPU, "--keep", "1s", "--on-end", look,
        "-o", private_folder / "a.noisetop", **sudo,
    ) as process:  # fmt: skip
        wait_until_left_with(process.pid, NAMES_OF_CONTAINERS | FILES)
        ended(process)
    assert told.read_text().split() == [str(NOBODY.pw_uid), "CapEff:", "0" * 16]


def test_no_process_outlives_a_recorder_with_commands_that_is_killed(tmp_path: Path) -> None:
    look = "shell,command=true"
    with running(
        "record", "-c", CPU, "--keep", "1s", "--on-end", look, "-o", tmp_path / "a.noisetop"
    ) as process:
        wait_until_left_with(process.pid, NAMES_OF_CONTAINERS)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert len(children) == 1
        process.kill()
        process.wait()
        wait_for(lambda: not Path(f"/proc/{children[0]}").exists(), "its end")


def test_a_signal_of_an_action_reaches_another_user(tmp_path: Path) -> None:
    command = ["setpriv", "--reuid=65534", "--clear-groups", "sleep", "60"]
    with subprocess.Popen(command, cwd="/") as victim:
        try:
            with running(
                "record", "-c", CPU, "--keep", "1s",
                "--on-end", f"signal,num=USR1,pid={victim.pid}", "-o", tmp_path / "a.noisetop",
            ) as process:  # fmt: skip
                wait_until_left_with(process.pid, NAMES_OF_CONTAINERS | SIGNALS)
                ended(process)
            assert victim.wait(timeout=PATIENCE_S) == -signal.SIGUSR1
        finally:
            victim.kill()


@pytest.mark.skipif(not shutil.which("setpriv"), reason="needs setpriv of util-linux")
def test_bpf_and_perfmon_are_enough_without_setpcap(tmp_path: Path) -> None:
    """The bounding set stays as it is then, which is no error."""
    path = tmp_path / "a.noisetop"
    tmp_path.chmod(0o777)
    names = "+bpf,+perfmon"
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o777)
        path = Path(folder) / "a.noisetop"
        done = subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", f"--inh-caps={names}",
             f"--ambient-caps={names}", f"--bounding-set=-all,{names}", PROGRAM, "record",
             "-c", CPU, "-d", "1s", "-o", path, "--", "grep", "CapAmb", "/proc/self/status"],
            env={**os.environ, "XDG_STATE_HOME": folder, "HOME": folder}, cwd=folder,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        kept = Capability.BPF | Capability.PERFMON
        assert sets_in(done.stdout) == {"Amb": kept}
        assert open_recording(path).damage == ""


def test_a_daemon_writes_beside_its_output(private_folder: Path) -> None:
    output = private_folder / "a.noisetop"
    sudo = {"SUDO_UID": str(NOBODY.pw_uid), "SUDO_GID": str(NOBODY.pw_gid)}
    done = run("record", "-D", "-c", CPU, "-o", output, env={**os.environ, **sudo})
    assert done.returncode == 0, done.stderr
    pid_file = private_folder / "a.noisetop.pid"
    os.kill(int(pid_file.read_text()), signal.SIGTERM)
    wait_for(lambda: not pid_file.exists(), "its end")
    assert open_recording(output).damage == ""


def test_the_worst_moments_are_kept_in_a_folder_of_another_user(private_folder: Path) -> None:
    sudo = {"SUDO_UID": str(NOBODY.pw_uid), "SUDO_GID": str(NOBODY.pw_gid)}
    folder = private_folder / "worst"
    with running("record", "-c", CPU, "--worst", "3", "-o", folder, **sudo) as process:
        wait_for(lambda: bool(list(folder.glob("*.noisetop"))), "a file")
        ended(process)
    told = json.loads((folder / "index.json").read_text())
    assert {one["file"] for one in told} == {one.name for one in folder.glob("*.noisetop")}


def test_what_is_kept_is_in_effect_for_a_moment_only() -> None:
    """As the names of processes are read, again and again."""
    with running("top", "-c", CPU, "--json", "0.1") as process:
        wait_until_left_with(process.pid, NAMES_OF_CONTAINERS)
        for _ in range(50):
            for text in threads(process.pid).values():
                assert sets_in(text)["Eff"] in (NONE, NAMES_OF_CONTAINERS)
            time.sleep(0.01)
