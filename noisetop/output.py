"""Output files that appear whole or not at all, and never take the place of another by accident."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from noisetop.errors import NoisetopError, UsageError

PUBLIC, PRIVATE = 0o644, 0o600
"""Modes of files; a recording holds what only root may know of the kernel and of other users."""


@dataclass(frozen=True, slots=True)
class Output:
    """A file that can be written. Made by check_output(), before any work is done."""

    path: Path
    force: bool
    """Whether it may take the place of another file."""
    mode: int = PUBLIC

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """A file that gets its name only when the block ends without an error.

        Raises NoisetopError when it cannot be written.
        """
        # Nobody can know the name beforehand and take it.
        temporary = self.path.with_name(f".{self.path.name}.{os.urandom(8).hex()}")
        fd = create(temporary, self.mode)
        try:
            with os.fdopen(fd, "wb") as file:
                yield file
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise NoisetopError(f"cannot write {self.path}: {error.strerror}") from None
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        self.publish(temporary)

    def publish(self, temporary: Path) -> None:
        """Moves a finished file to its name; without ``force`` never over another one, not even one
        that appeared since check_output().

        Raises NoisetopError, and leaves the file where it is.
        """
        try:
            if self.force:
                temporary.replace(self.path)
            else:
                _move_if_absent(temporary, self.path)
        except FileExistsError:
            raise NoisetopError(
                f"{self.path} appeared meanwhile: the result is in {temporary}, move it"
            ) from None
        except OSError as error:
            raise NoisetopError(
                f"cannot write {self.path}: {error.strerror}: the result is in {temporary}, move it"
            ) from None


def check_output(path: Path, *, force: bool, mode: int = PUBLIC) -> Output:
    """The output of that name. Raises UsageError when ``path`` cannot become one."""
    try:
        _check_place(path, force=force)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}: choose another name") from None
    return Output(path, force, mode)


def _check_place(path: Path, *, force: bool) -> None:
    """Raises UsageError, and OSError where the place cannot even be looked at."""
    folder = path.parent
    if not folder.is_dir():
        raise UsageError(f"folder {folder} does not exist: mkdir -p {folder}")
    if path.is_dir():
        raise UsageError(f"{path} is a folder: give a file name")
    if _is_shared(folder) and path.is_symlink():
        raise UsageError(f"{path} is a symbolic link in a shared folder: choose another name")
    if os.path.lexists(path):
        if stat.S_IFMT(path.lstat().st_mode) not in (stat.S_IFREG, stat.S_IFLNK):
            raise UsageError(f"{path} is not a file: choose another name")
        if not force:
            raise UsageError(f"{path} exists: choose another name or add --force")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"no permission to write to {folder}: choose another folder")


def _is_shared(folder: Path) -> bool:
    return bool(folder.stat().st_mode & stat.S_IWOTH)


def create(path: Path, mode: int = PUBLIC) -> int:
    """Descriptor of a new file that belongs to the user who called, through sudo or not.

    Never follows a link and never opens what is there already. Raises NoisetopError.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(path, flags, mode)
    except OSError as error:
        raise NoisetopError(f"cannot write {path}: {error.strerror}") from None
    give_to_caller(fd)
    return fd


def create_unnamed(folder: Path, mode: int) -> int:
    """The same without a name: the file goes with its last descriptor, unless give_name() is
    called. -1 where the file system has no such files. Raises NoisetopError."""
    try:
        fd = os.open(folder, os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC, mode)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
            return -1
        raise NoisetopError(f"cannot write to {folder}: {error.strerror}") from None
    give_to_caller(fd)
    return fd


def give_name(fd: int, path: Path) -> bool:
    """Names a file of create_unnamed(); False where something of that name is there already.
    Raises NoisetopError."""
    try:
        folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.link(f"/proc/self/fd/{fd}", path.name, dst_dir_fd=folder)
        finally:
            os.close(folder)
    except FileExistsError:
        return False
    except OSError as error:
        raise NoisetopError(f"cannot write {path}: {error.strerror}") from None
    return True


def give_to_caller(fd: int) -> None:
    """Under sudo, files belong to the user who typed the command."""
    if os.geteuid() == 0 and "SUDO_UID" in os.environ and "SUDO_GID" in os.environ:
        os.fchown(fd, int(os.environ["SUDO_UID"]), int(os.environ["SUDO_GID"]))


def _move_if_absent(temporary: Path, path: Path) -> None:
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:  # file systems without hard links
        if os.path.lexists(path):
            raise FileExistsError from None
        temporary.rename(path)
        return
    temporary.unlink()
