"""What a file of a table says beside its rows, where its format has a place for that."""

from __future__ import annotations

from collections.abc import Mapping

from noisetop.counters.losses import LOSSES, describe_losses
from noisetop.recording.recording import Recording

PREFIX = "noisetop_"


def of_table(name: str, version: int) -> dict[str, str]:
    """Which table it is; ``version``: of its columns."""
    return {f"{PREFIX}schema_version": str(version), f"{PREFIX}table": name}


def of_recording(name: str, version: int, recording: Recording) -> Mapping[str, str]:
    """The same, and what its rows lack."""
    losses = describe_losses(recording.counters.of(LOSSES))
    lacks = {f"{PREFIX}losses": losses, f"{PREFIX}damage": recording.damage}
    return of_table(name, version) | lacks
