"""What identifies a run in a fleet: its number, its host, its day. Made from a recording's head."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from noisetop.errors import UsageError
from noisetop.recording.recording import Recording

UNKNOWN = "unknown"
"""Host or day that a recording does not tell."""
_DIGITS = 20
_LONGEST = 64
"""A host name of Linux has at most so many characters; a forged one may have more."""
_NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Anonymity:
    """Whether the names of hosts are replaced by keyed hashes."""

    hashed: bool = False
    key: bytes = b""
    """Without a key, who guesses a name can check the guess."""

    def host(self, name: str) -> str:
        """What stands for a host."""
        return self._hash(name) if self.hashed else name

    def number(self, identity: str) -> str:
        """The number of a run."""
        return self._hash(identity)

    @property
    def mark(self) -> str:
        """Tells folders apart whose hosts are not called alike; does not give the key away."""
        return self._hash("mark of the key") if self.hashed else "names"

    def _hash(self, text: str) -> str:
        key = self.key if self.hashed else b""
        content = text.encode(errors="replace")
        return hmac.new(key, content, hashlib.sha256).hexdigest()[:_DIGITS]


@dataclass(frozen=True, slots=True)
class RunHead:
    """What the rows of all tables of a run have in common, and what only its own row has."""

    run: str
    """Its number: 20 hexadecimal digits, the same for every copy of the recording."""
    day: str
    """UTC, as in 2026-01-31, or UNKNOWN."""
    host: str
    started_ns: int
    """Start of the recording, ns since 1970; 0: not known."""
    cpu_model: str
    labels: Mapping[str, str] = field(default_factory=dict)
    anonymous: bool = False


def run_head(
    recording: Recording, labels: Mapping[str, str], anonymity: Anonymity | None = None
) -> RunHead:
    """The head of a recording; what it does not tell is UNKNOWN, empty or 0."""
    anonymity = anonymity or Anonymity()
    metadata = recording.metadata
    name = str(metadata.get("host") or UNKNOWN)[:_LONGEST]
    started = str(metadata.get("started") or "")
    moment = _moment(started)
    # Not its end nor its length: a recording that was recovered has another one.
    identity = [name, started, recording.start_ns, list(recording.cpus), metadata.get("target")]
    return RunHead(
        run=anonymity.number(json.dumps(identity, default=str)),
        day=moment.date().isoformat() if moment else UNKNOWN,
        host=anonymity.host(name),
        started_ns=round(moment.timestamp() * 1000) * (_NS_PER_S // 1000) if moment else 0,
        cpu_model=str(metadata.get("cpu_model") or ""),
        labels=labels,
        anonymous=anonymity.hashed,
    )


def _moment(text: str) -> datetime | None:
    """A date and time with a zone; None for anything else."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo and moment.year >= 1970 else None
    except (ValueError, OverflowError):
        return None


def parse_label(text: str) -> tuple[str, str]:
    """Key and value of ``env=production``. Raises UsageError for anything else."""
    key, separator, value = text.partition("=")
    if not separator or not key.replace("_", "").replace("-", "").isalnum() or not value:
        raise UsageError(f"'{text}' is no label: write KEY=VALUE, as in env=production")
    return key, value
