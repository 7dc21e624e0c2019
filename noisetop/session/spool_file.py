"""The file beside an output in which a recording grows.

It is locked as long as somebody writes it, and has no name until it holds something: what is killed
before that leaves nothing behind.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import stat
from dataclasses import dataclass
from pathlib import Path

from noisetop.errors import NoisetopError, UsageError
from noisetop.output import PRIVATE, create, create_unnamed, give_name
from noisetop.recording.raw_file import NothingRecordedError, read_spool

_TRIES = 8


@dataclass(slots=True)
class SpoolFile:
    """Call open(), name(), then close()."""

    path: Path
    force: bool
    """Whether it may take the place of a recording that was cut short."""
    fd: int = -1
    _named: bool = False

    def open(self) -> None:
        """Raises UsageError where another recording is in the way, NoisetopError where no file can
        be."""
        self._make_room()
        self.fd = create_unnamed(self.path.parent, PRIVATE)
        if self.fd < 0:
            self.fd = create(self.path, PRIVATE)
            self._named = True
        fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def name(self) -> None:
        """From now on it outlives the process. Raises as open() does."""
        for _ in range(_TRIES):
            if self._named:
                return
            self._named = give_name(self.fd, self.path)
            if not self._named:
                self._make_room()
        raise self._in_use()

    def discard(self) -> None:
        """Removes it, if it has a name."""
        if self._named:
            self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Whoever comes next may do with it what they want."""
        os.close(self.fd)

    def _make_room(self) -> None:
        """Removes what may be removed from the place of this file, unless somebody writes it."""
        try:
            there = self.path.lstat()
            if not stat.S_ISREG(there.st_mode):
                raise UsageError(f"{self.path} is not a file: choose another output")
            fd = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        except OSError as error:
            raise NoisetopError(f"cannot write {self.path}: {error.strerror}") from None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not self.force:
                self._check_worthless()
            self.path.unlink(missing_ok=True)
        except BlockingIOError:
            raise self._in_use() from None
        finally:
            os.close(fd)

    def _in_use(self) -> UsageError:
        return UsageError(f"another noisetop is writing {self.path}: choose another output")

    def _check_worthless(self) -> None:
        """Raises UsageError where something is in it."""
        try:
            read_spool(self.path)
        except NothingRecordedError:
            return
        except NoisetopError as error:
            raise UsageError(f"{error}; move it away, or add --force") from None
        raise UsageError(
            f"{self.path} holds a recording that was cut short: "
            f"noisetop export {shlex.quote(str(self.path))} -o FILE, or add --force"
        )
