"""Programs of the bench in C: compiled into a folder, and asked over pipes."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from noisetop.errors import NoisetopError

_TIMEOUT_S = 60


def compiled(source: Path, folder: Path, name: str = "", options: Sequence[str] = ()) -> Path:
    """The program, in the folder under a name; without one it is that of the source. One that is
    there is not compiled again. ``options`` come last in the compiler's command. Raises
    NoisetopError without a C compiler."""
    binary = folder / (name or source.stem)
    if binary.exists():
        return binary
    command = ["cc", "-O2", "-pthread", "-o", str(binary), str(source), *options]
    try:
        subprocess.run(command, check=True, timeout=_TIMEOUT_S)
    except (OSError, subprocess.SubprocessError) as error:
        raise NoisetopError(
            f"cannot compile {source.name}, install a C compiler: {error}"
        ) from error
    return binary


@dataclass(frozen=True, slots=True)
class Asked:
    """One that takes orders on stdin and answers with numbers on stdout; it tells on stderr why it
    ends."""

    name: str
    process: subprocess.Popen[bytes]

    def order(self, line: str) -> None:
        """Has it begin. Raises NoisetopError when it has ended."""
        stdin = self.process.stdin
        assert stdin
        try:
            stdin.write(f"{line}\n".encode())
            stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None

    def answer(self, size: int) -> bytes:
        """So many bytes of what it says. Raises NoisetopError when it ends before that."""
        stdout = self.process.stdout
        assert stdout
        data = stdout.read(size)
        if len(data) != size:
            raise self._ended()
        return data

    def _ended(self) -> NoisetopError:
        return NoisetopError(f"{self.name} ended early: see its message above")
