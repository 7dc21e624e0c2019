"""Calibrations that were kept: a JSON file for each kind of machine, as what it holds depends on
CPU, kernel, mitigations, microcode and hypervisor, and on the tracer's programs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from noisetop.counters.calibration import CALIBRATION, Calibration
from noisetop.errors import NoisetopError
from noisetop.machine.entry_facts import entry_facts
from noisetop.machine.system import ROOT
from noisetop.output import check_output
from noisetop.probe.sampler import native_digest
from noisetop.text.sanitize import printable

FORMAT = "noisetop calibration"
_MAX_BYTES = 1 << 20


def calibration_facts(root: Path = ROOT) -> dict[str, str]:
    """What a calibration made here and now holds for."""
    return {**entry_facts(root), "programs": native_digest()}


def calibration_path(folder: Path, facts: Mapping[str, str]) -> Path:
    """The file of machines like this."""
    key = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
    return folder / f"calibration-{key}.json"


def keep(folder: Path, facts: Mapping[str, str], calibration: Calibration) -> Path:
    """Writes the file in place of an older one, and makes the folder. Raises NoisetopError."""
    path = calibration_path(folder, facts)
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    except OSError as error:
        raise NoisetopError(f"cannot keep the calibration in {folder}: {error.strerror}") from None
    content = {"format": FORMAT, "machine": dict(facts), **CALIBRATION.to_file(calibration)}
    with check_output(path, force=True).opened() as file:
        file.write(json.dumps(content).encode() + b"\n")
    return path


def kept(folders: Iterable[Path], facts: Mapping[str, str]) -> tuple[Calibration | None, list[str]]:
    """The calibration in the first folder that has a good one, and a line about each bad file."""
    problems: list[str] = []
    for folder in folders:
        path = calibration_path(folder, facts)
        try:
            return _read(path, facts), problems
        except FileNotFoundError:
            continue
        except OSError as error:
            problems.append(f"ignored {printable(str(path))}: {error.strerror}")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            problems.append(f"ignored {printable(str(path))}: it holds no calibration: remove it")
    return None, problems


def _read(path: Path, facts: Mapping[str, str]) -> Calibration:
    if path.exists() and not path.is_file():
        raise ValueError("a pipe would be waited for")
    with path.open("rb") as file:
        content: Any = json.loads(file.read(_MAX_BYTES))
    if content["format"] != FORMAT or content["machine"] != facts:
        raise ValueError("of something else")
    calibration = CALIBRATION.from_file(content)
    if not calibration.kinds:
        raise ValueError("empty")
    return calibration
