"""One mutant, made from a number: which file, how it is changed, and what the commands say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz import commands
from tests.fuzz.byte_mutants import damaged
from tests.fuzz.commands import Finding, Ran
from tests.fuzz.format_mutants import forged
from tests.fuzz.originals import Original

_RUNS: dict[str, Callable[[Path, Path, Path, Random], Iterator[Ran]]] = {
    "result": commands.of_result,
    "saved": commands.of_saved,
}


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
    original = originals[random.choice(sorted(originals))]
    is_forged = random.random() < 0.6
    change = forged(original.format, original.content, random) if is_forged else b""
    if not is_forged:
        change = damaged(original.content, random)
    return Mutant(number, original, change, is_forged)


@dataclass(slots=True)
class Judge:
    """Runs the commands on mutants; keeps what undamaged files say."""

    originals: dict[str, Original]
    folder: Path
    count: int = 0
    """Commands so far."""
    _said: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    _places: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for place, one in enumerate(self.originals.values()):
            self._places[one.name] = f"whole{place}"
            (self.folder / f"whole{place}").write_bytes(one.content)

    def findings(self, one: Mutant) -> Iterator[Finding]:
        """What is wrong with what the commands do."""
        random = Random(-one.number - 1)
        path, outputs = self.folder / "mutant", self.folder / "outputs"
        path.write_bytes(one.content)
        outputs.mkdir(exist_ok=True)
        kind = one.original.format
        whole = one.original.name if kind != "saved" else "compact of 0.1"
        run = _RUNS.get(kind, commands.of_recording)
        said = []
        for ran in run(path, self.folder / self._places[whole], outputs, random):
            self.count += 1
            if ran.finding:
                yield ran.finding
            if ran.argv[:2] == ("report", "--json"):
                said.append(commands.totals(ran))
        commands.clear(outputs)
        yield from self._silent(one, said)

    def _silent(self, one: Mutant, said: list[dict[str, Any] | None]) -> Iterator[Finding]:
        """Totals that are others, or that cannot be, without a word."""
        if not said or said[0] is None:
            return
        if one.original.format == "result":
            if not one.is_forged and said[0] != self._of_original(one.original):
                yield Finding("silent", one.original.format, "another result")
            return
        for content in filter(None, said):
            if not content["damage"] and _is_impossible(content):
                yield Finding("silent", one.original.format, "more noise than time")
        changed = said[0] != self._of_original(one.original)
        if one.original.is_checked and changed and not (one.is_forged or said[0]["damage"]):
            yield Finding("silent", one.original.format, "other totals")
        if said[1:] and not (said[0]["damage"] or said[1] is None):
            yield from _exported(one, said[0], said[1])

    def _of_original(self, original: Original) -> dict[str, Any] | None:
        if original.name not in self._said:
            ran = commands.run("report", "--json", str(self.folder / self._places[original.name]))
            self._said[original.name] = commands.totals(ran)
        return self._said[original.name]


def _exported(one: Mutant, before: dict[str, Any], after: dict[str, Any]) -> Iterator[Finding]:
    """An export says the same as what it was made from."""
    for key in ("duration_ns", "cpus", "lost"):
        if before[key] != after[key]:
            yield Finding("export", one.original.format, f"{key} is another after an export")


def _is_impossible(content: dict[str, Any]) -> bool:
    duration_ns = content["duration_ns"]
    return any(
        cpu["noise_ns"] < 0 or cpu["idle_ns"] < 0 or cpu["noise_ns"] > duration_ns
        for cpu in content["cpus"].values()
    )
