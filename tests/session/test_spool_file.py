"""The file that a recording grows in: never somebody else's, and never without content."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from noisetop.errors import NoisetopError, UsageError
from noisetop.session.spool_file import SpoolFile
from tests.recordings import events, write_spool


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.noisetop.partial"


def opened(path: Path, *, force: bool = False) -> SpoolFile:
    spool = SpoolFile(path, force)
    spool.open()
    return spool


def test_it_gets_its_name_when_it_holds_something(path: Path) -> None:
    spool = opened(path)
    os.write(spool.fd, b"head")
    assert not list(path.parent.iterdir())
    spool.name()
    spool.close()
    assert path.read_bytes() == b"head"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_is_closed_or_discarded_before_leaves_nothing(path: Path) -> None:
    opened(path).close()
    spool = opened(path)
    spool.name()
    spool.discard()
    spool.close()
    assert not list(path.parent.iterdir())


def test_a_file_system_without_unnamed_files(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open

    def refuse(name: Path, flags: int, *more: int) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        return real(name, flags, *more)

    monkeypatch.setattr(os, "open", refuse)
    spool = opened(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(UsageError, match="another noisetop is writing"):
        opened(path, force=True)
    spool.name()
    spool.discard()
    spool.close()
    assert not list(path.parent.iterdir())


@pytest.mark.parametrize("force", [True, False])
def test_nobody_takes_the_file_of_a_recording_that_goes_on(path: Path, force: bool) -> None:
    """It would publish the unfinished file of another."""
    first, second = opened(path, force=force), opened(path, force=force)
    os.write(first.fd, b"first")
    first.name()
    for late in (second.name, lambda: opened(path, force=force)):
        with pytest.raises(UsageError, match="another noisetop is writing"):
            late()
    assert path.read_bytes() == b"first"
    first.close()
    second.close()


@pytest.mark.parametrize("content", ["nothing", "a head"])
def test_what_was_killed_before_it_began_is_replaced(path: Path, content: str) -> None:
    whole = write_spool(path, end_ns=None)
    path.write_bytes(whole[: whole.index(b"\n", 40) + 1] if content == "a head" else b"")
    spool = opened(path)
    spool.name()
    spool.close()
    assert path.read_bytes() == b""


def test_a_recording_that_was_cut_short_is_replaced_by_force_alone(path: Path) -> None:
    whole = write_spool(path, [events({"source": "softirq", "id": 1})], end_ns=None)
    with pytest.raises(UsageError, match=r"cut short: noisetop export \S+ -o FILE, or add --force"):
        opened(path)
    assert path.read_bytes() == whole
    spool = opened(path, force=True)
    assert not path.exists()
    spool.close()


def test_what_is_no_recording_is_replaced_by_force_alone(path: Path) -> None:
    path.write_bytes(b"my notes")
    with pytest.raises(UsageError, match="not a noisetop recording; move it away, or add --force"):
        opened(path)
    opened(path, force=True).close()
    assert not path.exists()


def test_a_pipe_or_a_link_in_its_place_is_left_alone(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(UsageError, match="is not a file"):
        opened(path, force=True)
    path.unlink()
    path.symlink_to("/dev/null")
    with pytest.raises(UsageError, match="is not a file"):
        opened(path, force=True)
    assert path.is_symlink()


def test_a_name_that_is_too_long(path: Path) -> None:
    with pytest.raises(NoisetopError, match="File name too long"):
        opened(path.with_name("a" * 300))
