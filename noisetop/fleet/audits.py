"""Isolation audits of hosts, as ``noisetop check --json`` prints them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from noisetop.checked_json import parse_json
from noisetop.errors import NoisetopError
from noisetop.fleet.run import Anonymity
from noisetop.input import open_input

_LARGEST = 8 << 20
_TEXTS = ("id", "name", "status", "cause")
FAIL, WARN, PASS = "fail", "warn", "pass"


@dataclass(frozen=True, slots=True)
class AuditedCheck:
    """What one check found on one host. Its texts are untrusted."""

    id: str
    name: str
    status: str
    cause: str
    explains: tuple[tuple[str, ...], ...]
    """First steps of the sources that it can be the cause of, with wildcards."""

    def explains_source(self, path: tuple[str, ...]) -> bool:
        """Whether a source begins like one of these."""
        return any(
            0 < len(steps) <= len(path) and all(map(fnmatchcase, path, steps))
            for steps in self.explains
        )


@dataclass(frozen=True, slots=True)
class Audit:
    """All checks of one host."""

    host: str
    checks: tuple[AuditedCheck, ...]


def read_audits(paths: Iterable[Path], anonymity: Anonymity) -> dict[str, Audit]:
    """By the host as the fleet calls it; of two of a host the last one. Raises NoisetopError."""
    found = (_read(path) for path in paths)
    return {anonymity.host(one.host): one for one in found}


def _read(path: Path) -> Audit:
    try:
        with open_input(path, "what noisetop check --json printed") as file:
            content = parse_json(file.read(_LARGEST))
        audit = Audit(_text(content["host"]), tuple(map(_check, content["checks"])))
    except OSError as error:
        raise NoisetopError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise NoisetopError(
            f"{path} is no audit with a host: write it with noisetop check --json"
        ) from None
    if not audit.host:
        raise NoisetopError(f"{path} does not name its host: write it with noisetop check --json")
    return audit


def _check(content: Any) -> AuditedCheck:
    explains = tuple(tuple(map(_text, steps)) for steps in content["explains"])
    number, name, status, cause = (_text(content[key]) for key in _TEXTS)
    return AuditedCheck(number, name, status, cause, explains)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
