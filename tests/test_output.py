from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from noisetop import output
from noisetop.errors import NoisetopError, UsageError


def write(path: Path, how: Callable[[BinaryIO], object], *, force: bool = False) -> None:
    with output.check_output(path, force=force).opened() as file:
        how(file)


def fail_after(file: BinaryIO, error: Exception) -> None:
    file.write(b"half")
    raise error


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_file_appears_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with output.check_output(path, force=False).opened() as file:
        file.write(b"whole")
        assert not path.exists()
    assert path.read_bytes() == b"whole"
    assert names_in(tmp_path) == ["a"]


def test_an_error_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        write(tmp_path / "a", lambda file: fail_after(file, RuntimeError()))
    assert names_in(tmp_path) == []


def test_an_error_with_force_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(RuntimeError):
        write(path, lambda file: fail_after(file, RuntimeError()), force=True)
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["a"]


def test_force_replaces_and_without_it_nothing_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(UsageError, match="--force"):
        write(path, lambda file: None)
    with output.check_output(path, force=True).opened() as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"


def test_a_file_that_appears_meanwhile_is_kept_and_so_is_the_result(tmp_path: Path) -> None:
    path = tmp_path / "a"

    def race(file: BinaryIO) -> None:
        file.write(b"result")
        path.write_bytes(b"other")

    with pytest.raises(NoisetopError, match="appeared meanwhile") as error:
        write(path, race)
    assert path.read_bytes() == b"other"
    kept = [one for one in tmp_path.iterdir() if one != path]
    assert [one.read_bytes() for one in kept] == [b"result"]
    assert str(kept[0]) in str(error.value)


def test_a_full_disk_is_told_in_one_line(tmp_path: Path) -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(NoisetopError, match=r"^cannot write \S+: No space left on device$"):
        write(tmp_path / "a", lambda file: fail_after(file, full))
    assert names_in(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [("missing/a", "does not exist: mkdir -p"), (".", "is a folder"), ("file/a", "does not exist")],
)
def test_places_where_no_file_can_be(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=message):
        output.check_output(tmp_path / name, force=False)


def test_a_link_in_a_shared_folder_is_refused_even_with_force(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_bytes(b"keep")
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    (shared / "a").symlink_to(target)
    with pytest.raises(UsageError, match="symbolic link"):
        output.check_output(shared / "a", force=True)
    assert target.read_bytes() == b"keep"


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_elsewhere_is_replaced_and_never_written_through(
    tmp_path: Path, exists: bool
) -> None:
    target = tmp_path / "target"
    if exists:
        target.write_bytes(b"keep")
    link = tmp_path / "a"
    link.symlink_to(target)
    with output.check_output(link, force=True).opened() as file:
        file.write(b"new")
    assert not link.is_symlink()
    assert link.read_bytes() == b"new"
    assert target.exists() is exists


def test_a_dangling_link_counts_as_taken(tmp_path: Path) -> None:
    link = tmp_path / "a"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="exists"):
        output.check_output(link, force=False)


def test_nobody_can_know_the_temporary_name(tmp_path: Path) -> None:
    seen = set()
    for _ in range(3):
        write(tmp_path / "a", lambda file: seen.update(names_in(tmp_path)), force=True)
    assert len(seen - {"a"}) == 3


def test_without_hard_links_a_file_is_renamed_and_still_never_replaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    path = tmp_path / "a"
    write(path, lambda file: file.write(b"new"))
    assert path.read_bytes() == b"new"
    other = tmp_path / "b"
    with pytest.raises(NoisetopError, match="appeared meanwhile"):
        write(other, lambda file: other.write_bytes(b"other"))
    assert other.read_bytes() == b"other"


def test_the_mode_follows_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with output.check_output(tmp_path / "a", force=False).opened():
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_under_sudo_the_file_belongs_to_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUDO_UID", "12345")
    monkeypatch.setenv("SUDO_GID", "54321")
    with output.check_output(tmp_path / "a", force=False).opened():
        pass
    found = (tmp_path / "a").stat()
    assert (found.st_uid, found.st_gid) == (12345, 54321)


def test_force_does_not_replace_what_is_no_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    os.mkfifo(path)
    with pytest.raises(UsageError, match="is not a file"):
        output.check_output(path, force=True)
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_name_that_is_too_long_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="File name too long"):
        output.check_output(tmp_path / ("a" * 300), force=False)
