"""The set of programs that a run attaches, where a budget decides that while the run starts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from noisetop.errors import NoisetopError
from noisetop.events.symbols import SymbolTable
from noisetop.probe.program_costs import program_costs
from noisetop.session.options import unwatched_housekeeping
from noisetop.tracing.budget import MEASURED, SENT, within_budget
from noisetop.tracing.program_sets import ProgramSet
from noisetop.tracing.target import Target

_INSTEAD = "leave out --budget, or give --cheap"


@dataclass(frozen=True, slots=True)
class RunBudget:
    """What is known of a run before it starts."""

    limit_ns: int
    """That may be added to an interruption."""
    options: Iterable[str]
    """As program_set() takes them."""
    target: Target
    housekeeping: tuple[int, ...]
    compiled: bool
    """Whether BCC makes the programs, which takes too long to do it twice."""

    def choose(self, symbols: SymbolTable) -> ProgramSet:
        """Measures on a housekeeping CPU where no victim runs. Raises NoisetopError where that
        cannot be done."""
        cpus = unwatched_housekeeping(self.housekeeping, self.target)
        if self.compiled:
            raise NoisetopError(f"--budget cannot be measured beside BCC: {_INSTEAD}")
        if not cpus:
            raise NoisetopError(
                f"no CPU is left to measure for --budget on: watch fewer with -c, or {_INSTEAD}"
            )
        try:
            costs = program_costs(MEASURED, SENT, cpus[-1], cpus, symbols)
            return within_budget(self.limit_ns, costs, self.options)
        except NoisetopError as error:
            raise NoisetopError(f"--budget: {error}: {_INSTEAD}") from None
