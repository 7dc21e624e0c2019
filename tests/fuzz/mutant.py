"""One mutant, made from a number: which file, how it is changed, and what the commands say."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz import commands
from tests.fuzz.byte_mutants import damaged
from tests.fuzz.commands import Call, Finding, Ran
from tests.fuzz.format_mutants import forged
from tests.fuzz.once import pieces_of
from tests.fuzz.originals import BUSY, Original
from tests.fuzz.read import Read, read

_CALLS: dict[str, Callable[[Path, Path, Path, Random], list[Call]]] = {
    "result": commands.of_result,
    "saved": commands.of_saved,
}
WITH_ALL = 64
"""Of one of so many mutants all commands are run, refused or not; else one that the number
chooses, where the file can be opened."""
READ_AGAIN = ".json", ".gz", ".noisetop"
_LARGE = 32
"""One of so many mutants is one of a large file."""
_PLAIN_JSON = json.JSONEncoder(sort_keys=True).encode


@dataclass(frozen=True, slots=True)
class Mutant:
    """``number`` and the originals decide everything."""

    number: int
    original: Original
    content: bytes
    is_forged: bool
    """Whether its checksums fit: then nobody can know that it was changed."""


def mutant(number: int, originals: dict[str, Original]) -> Mutant:
    """The mutant of this number."""
    random = Random(number)
    large = random.randrange(_LARGE) == 0
    of_size = sorted(name for name, one in originals.items() if one.is_large == large)
    original = originals[random.choice(of_size)]
    is_forged = random.random() < 0.6
    change = forged(original.format, original.content, random) if is_forged else b""
    if not is_forged:
        change = damaged(original.content, random)
    return Mutant(number, original, change, is_forged)


@dataclass(slots=True)
class Judge:
    """Reads mutants and runs the commands on them; keeps what undamaged files say."""

    originals: dict[str, Original]
    folder: Path
    count: int = 0
    """Commands so far."""
    refused: int = 0
    """Mutants so far that could not be opened."""
    _totals: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    _places: dict[str, Path] = field(default_factory=dict)
    _outputs: Path = field(init=False)

    def __post_init__(self) -> None:
        self._outputs = self.folder / "outputs"
        self._outputs.mkdir(exist_ok=True)
        for place, one in enumerate(self.originals.values()):
            path = self.folder / f"whole{place}"
            path.write_bytes(one.content)
            self._places[one.name] = path

    def findings(self, one: Mutant) -> Iterator[Finding]:
        """What is wrong with how it is read, and with what the commands do."""
        path = self.folder / "mutant"
        path.write_bytes(one.content)
        with pieces_of(one.number):
            found, finding = self._read(path, one.original.format)
            if finding:
                yield finding
            elif found.totals:
                yield from self._silent(one, found.totals)
            self.refused += bool(found.refused)
            if one.number % WITH_ALL == 0 or not (finding or found.refused):
                yield from self._ran(one, path, found)

    def _read(self, path: Path, format: str) -> tuple[Read, Finding | None]:
        found = Read(None)

        def call() -> None:
            nonlocal found
            found = read(path, format)

        with commands.strict():
            finding = commands.watched(call, "read")
        return found, finding

    def _ran(self, one: Mutant, path: Path, found: Read) -> Iterator[Finding]:
        """What the commands do that this number chooses."""
        random = Random(-one.number - 1)
        kind = one.original.format
        whole = self._places[one.original.name if kind != "saved" else f"compact, {BUSY}"]
        calls = _CALLS.get(kind, commands.of_recording)(path, whole, self._outputs, random)
        for call in calls if one.number % WITH_ALL == 0 else [random.choice(calls)]:
            self.count += 1
            ran = commands.run(*call.argv)
            if ran.finding:
                yield ran.finding
                continue
            yield from _other_words(one, found, ran)
            if call.argv[:2] == ("report", "--json") and found.totals:
                yield from _other_totals(one, found.totals, ran)
            if call.output and call.output.exists():
                if kind != "result" and call.output.name.endswith(READ_AGAIN) and found.totals:
                    yield from self._exported(one, found.totals, call.output)
                commands.clear(self._outputs)

    def _silent(self, one: Mutant, totals: dict[str, Any]) -> Iterator[Finding]:
        """Totals that are others, or that cannot be, without a word."""
        kind = one.original.format
        if kind in ("result", "saved"):
            if not one.is_forged and totals != self._of_original(one.original):
                yield Finding("silent", kind, "another content")
            return
        if not totals["damage"] and _is_impossible(totals):
            yield Finding("silent", kind, "more noise than time")
        if one.is_forged or not one.original.is_checked:
            return
        of_whole = self._of_original(one.original)
        assert of_whole
        if totals["damage"] == of_whole["damage"] and totals != of_whole:
            yield Finding("silent", kind, "other totals")

    def _of_original(self, original: Original) -> dict[str, Any] | None:
        if original.name not in self._totals:
            self._totals[original.name] = read(self._places[original.name], original.format).totals
        return self._totals[original.name]

    def _exported(self, one: Mutant, before: dict[str, Any], output: Path) -> Iterator[Finding]:
        """An export says the same as what it was made from."""
        if before["damage"]:
            return
        after, finding = self._read(output, one.original.format)
        if finding:
            yield finding
        if not after.totals:
            yield Finding("export", one.original.format, "an export cannot be read")
            return
        if _is_impossible(after.totals):
            yield Finding("silent", one.original.format, "more noise than time after an export")
        for key in _KEPT:
            if before[key] != after.totals[key]:
                yield Finding("export", one.original.format, f"{key} is another after an export")


_KEPT = "duration_ns", "cpus", "lost"


def _other_words(one: Mutant, found: Read, ran: Ran) -> Iterator[Finding]:
    """A file that cannot be opened is refused by each command in the words of its reader."""
    is_known = found.refused in ran.err or "of different kinds" in ran.err
    if found.refused and not (ran.status and is_known):
        yield Finding("words", one.original.format, f"{ran.argv}: {ran.err} for {found.refused}")


def _other_totals(one: Mutant, totals: dict[str, Any], ran: Ran) -> Iterator[Finding]:
    """The report says what the reader adds up to."""
    said = commands.totals(ran)
    keys = _KEPT if one.original.format != "result" else tuple(totals)
    for key in keys:
        if said is None or _PLAIN_JSON(said[key]) != _PLAIN_JSON(totals[key]):
            yield Finding("silent", one.original.format, f"{key} is another in the report")


def _is_impossible(content: dict[str, Any]) -> bool:
    duration_ns = content["duration_ns"]
    return any(
        cpu["noise_ns"] < 0 or cpu["idle_ns"] < 0 or cpu["noise_ns"] > duration_ns
        for cpu in content["cpus"].values()
    )
