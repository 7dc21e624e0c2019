"""Reading files that may hold anything."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from noisetop.machine.files import Files, hex_mask
from tests.checks.trees import Directory, write_tree


@pytest.fixture
def files(tmp_path: Path) -> Files:
    write_tree(
        tmp_path,
        {
            "/proc/2/comm": "kthreadd\n",
            "/number": "42",
            "/negative": "-1\n",
            "/huge": "9" * 5000,
            "/words": "1 2",
            "/list": "2-3,6\n",
            "/backwards": "3-2",
            "/null": "(null)\n",
            "/wide": "0-99999999999",
            "/mask": "00000001,0000000c\n",
            "/binary": bytes(range(256)),
            "/folder": Directory(),
            "/long": "x" * 100_000,
        },
    )
    return Files(tmp_path)


@pytest.mark.parametrize(
    ("name", "number"),
    [("number", 42), ("negative", -1), ("huge", None), ("words", None), ("binary", None)],
)
def test_numbers(files: Files, name: str, number: int | None) -> None:
    assert files.read(f"/{name}").number() == number


@pytest.mark.parametrize(
    ("name", "cpus"),
    [
        ("list", {2, 3, 6}),
        ("null", set()),
        ("backwards", None),
        ("wide", None),
        ("huge", None),
        ("binary", None),
        ("folder", None),
        ("absent", None),
    ],
)
def test_lists(files: Files, name: str, cpus: set[int] | None) -> None:
    seen = files.read(f"/{name}").cpus()
    assert (None if seen is None else set(seen)) == cpus


def test_masks(files: Files) -> None:
    assert set(files.read("/mask").mask() or ()) == {2, 3, 32}
    assert files.read("/binary").mask() is None
    assert files.read("/huge").mask() is None


@pytest.mark.parametrize("cpus", [(), (0,), (2, 3), (31,), (32,), (3, 64, 100)])
def test_mask_survives_the_way_through_text(tmp_path: Path, cpus: tuple[int, ...]) -> None:
    write_tree(tmp_path, {"/mask": hex_mask(cpus)})
    assert Files(tmp_path).read("/mask").mask() == frozenset(cpus)


def test_why_nothing_was_read(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    assert files.read("/folder").why == "is a directory"
    assert files.read("/absent").why == "does not exist"

    def deny(*arguments: object) -> int:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "open", deny)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert files.read("/number2").why == "needs root"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert files.read("/number3").why == "not even root may read it"


def test_lockdown_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tree(tmp_path, {"/sys/kernel/security/lockdown": "none [integrity] confidentiality"})
    files = Files(tmp_path)
    assert files.lockdown

    def deny(*arguments: object) -> int:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "open", deny)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert files.read("/x").why == "kernel lockdown forbids it"


def test_fifo_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert Files(tmp_path).read("/fifo").text == ""


def test_evidence_is_short(files: Files) -> None:
    assert len(files.read("/long").reading.value) < 200


def test_container_is_known_by_hidden_kernel_threads(tmp_path: Path) -> None:
    write_tree(tmp_path, {"/proc/2/comm": "bash\n"})
    assert Files(tmp_path).container


def test_hidepid_is_no_container(tmp_path: Path) -> None:
    write_tree(tmp_path, {"/proc/mounts": "proc /proc proc rw,hidepid=2 0 0\n"})
    assert not Files(tmp_path).container


@pytest.mark.parametrize(("device", "is_container"), [("/dev/vda", False), ("overlay", True)])
def test_machine_booted_from_an_image(tmp_path: Path, device: str, is_container: bool) -> None:
    files = {
        "/.dockerenv": "",
        "/proc/2/comm": "kthreadd",
        "/proc/mounts": f"{device} / ext4 rw 0 0",
    }
    write_tree(tmp_path, files)
    assert bool(Files(tmp_path).container) is is_container


@pytest.mark.skipif(os.geteuid() != 0, reason="it takes root to become another user")
@pytest.mark.skipif(not shutil.which("setpriv"), reason="setpriv is missing")
def test_what_another_user_may_see_by_a_capability_exists(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o700)
    (tmp_path / "closed/file").touch()
    tmp_path.chmod(0o755)
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from noisetop.machine.files import Files\n"
        "print(Files(Path(sys.argv[1])).exists('/closed/file'))\n"
    )
    user = ["--reuid=65534", "--regid=65534", "--clear-groups"]
    caps = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    done = subprocess.run(
        ["setpriv", *user, *caps, sys.executable, "-c", code, tmp_path],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "True\n"
