"""The calibration that a traced run uses: a kept one, or a short one made while the run starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from noisetop.counters.calibration import Calibration
from noisetop.errors import NoisetopError
from noisetop.events.symbols import SymbolTable
from noisetop.machine.state_folder import SYSTEM_FOLDER, state_folder
from noisetop.probe.calibrate import CalibrationSettings, measure
from noisetop.probe.entry_costs import entry_costs
from noisetop.probe.stored_calibration import calibration_facts, kept
from noisetop.session.options import unwatched_housekeeping
from noisetop.tracing.stopper import Stopper
from noisetop.tracing.target import Target

_DURATION_NS = 70_000_000
"""With what it takes to trace that, a start gets 0.35 s longer, and 0.4 s at most."""
_COMMAND = "noisetop probe calibrate"


@dataclass(frozen=True, slots=True)
class RunCalibration:
    """What is known of a run before it starts."""

    target: Target
    housekeeping: tuple[int, ...]
    faults: bool
    compiled: bool
    """Whether BCC makes the programs, which takes too long to do it twice."""

    def find(
        self, symbols: SymbolTable, stopper: Stopper, say: Callable[[str], object]
    ) -> Calibration:
        """Says a line for each kept file that is bad."""
        folders = dict.fromkeys([state_folder(), SYSTEM_FOLDER])
        calibration, problems = kept(folders, calibration_facts())
        for problem in problems:
            say(problem)
        return calibration or self._make(symbols, stopper)

    def _make(self, symbols: SymbolTable, stopper: Stopper) -> Calibration:
        cpus = unwatched_housekeeping(self.housekeeping, self.target)
        if self.compiled:
            return Calibration(reason=f"not made beside BCC: {_COMMAND}")
        if not cpus:
            return Calibration(reason=f"no CPU is left to calibrate on: {_COMMAND}")
        settings = CalibrationSettings(cpus[-1], _DURATION_NS, cpus, self.faults, symbols)
        try:
            entries = entry_costs(measure(settings, stopper))
        except NoisetopError as error:
            return Calibration(reason=str(error))
        if not entries:
            return Calibration(reason=f"CPU {cpus[-1]} is too busy to calibrate on: {_COMMAND}")
        return Calibration({kind: entry.cost for kind, entry in entries.items()})
