"""Part 4: events per second before the first loss, what is lost beyond, bytes per event on disk."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from bench.c_program import compiled
from bench.estimate import Estimate, Floats, estimate, median
from bench.parts import Part, PartResult, Plan, Target
from bench.rounds import announced, order_of
from bench.table import Table, with_interval
from bench.tools import Seen, Setting, is_ours, missing_tools
from bench.tools.bpftrace import PRINT
from bench.tools.noisetop import TOOLS as NOISETOP
from bench.tools.perf import TOOLS as PERF
from bench.tools.trace_cmd import TOOLS as TRACE_CMD

SOURCE = Path(__file__).parent.parent / "flood.c"
TOOLS = (NOISETOP[0], PRINT, PERF[0], TRACE_CMD[0])
TRACEPOINT = "hrtimer_start"
"""What the flood makes: a record for every tool."""
BUFFER_KIB = 4096
"""noisetop's default for each CPU, given to all."""
THREADS = 32
"""Of the flood on each CPU: the readers of the buffers have to compete, as on a busy machine."""
FLOOD_MS = 400
STEP = 1.5
FULL_SPEED = 0
FULL_SPEED_TRIALS = 3
LIMIT = 1 / 3


@dataclass(frozen=True, slots=True)
class Trial:
    """A flood under a tool."""

    per_second: float
    """Events that there were, on all CPUs."""
    seen: Seen
    full_speed: bool

    @property
    def lossless(self) -> bool:
        """Whether all of them were kept."""
        return not self.seen.lost

    @property
    def lost_share(self) -> float:
        """Of all events."""
        lost = self.seen.lost or 0
        return lost / max(lost + self.seen.events, 1)


@dataclass(slots=True)
class Staircase:
    """The next rate to try: up after a flood without loss, down after one with."""

    trials: list[Trial] = field(default_factory=list)
    _rate: float = 0.0

    def next_rate(self) -> int:
        """Per CPU, or FULL_SPEED in the first trials and wherever the flood cannot do more."""
        if len(self.trials) < FULL_SPEED_TRIALS:
            return FULL_SPEED
        fastest = max(trial.per_second for trial in self.trials)
        return FULL_SPEED if self._rate * STEP > fastest else round(self._rate)

    def add(self, trial: Trial, cpus: int) -> None:
        """Takes the outcome."""
        self.trials.append(trial)
        per_cpu = trial.per_second / cpus
        self._rate = per_cpu * STEP if trial.lossless else per_cpu / STEP

    def bounds(self) -> list[float]:
        """One estimate of the loss-free rate per trial: its own rate where nothing was lost, what
        lies a step below where something was, from the first trial at which the rate was near."""
        settled = self.trials[FULL_SPEED_TRIALS - 1 :]
        return [t.per_second if t.lossless else t.per_second / STEP for t in settled]


def flood(binary: Path, per_second: int, setting: Setting) -> float:
    """Runs it; events per second that it made, on all CPUs."""
    argv = [str(binary), str(per_second), str(FLOOD_MS), str(THREADS)]
    argv += map(str, setting.recorded)
    done = subprocess.run(argv, capture_output=True, check=True, timeout=60).stdout.split()
    return int(done[0]) / (int(done[1]) / 1e9)


@dataclass(frozen=True, slots=True)
class Capacity:
    """The part."""

    number: int = 4
    name: str = "capacity"
    needs_root: bool = True

    def run(self, plan: Plan) -> PartResult:
        """One flood per tool and round, the rate by what the last one gave."""
        missing = missing_tools(TOOLS)
        tools = tuple(tool for tool in TOOLS if tool.name not in missing)
        points = tuple(t for t in plan.setting.tracepoints if t.name == TRACEPOINT)
        setting = replace(plan.setting, everywhere=True, buffer_kib=BUFFER_KIB, tracepoints=points)
        binary = compiled(SOURCE, plan.setting.folder)
        stairs = {tool.name: Staircase() for tool in tools}
        for number in announced(max(plan.rounds, FULL_SPEED_TRIALS)):
            for tool in order_of(tools, number):
                stair = stairs[tool.name]
                rate = stair.next_rate()
                with tool.run(setting) as session:
                    reached = flood(binary, rate, setting)
                trial = Trial(reached, session.seen(), full_speed=rate == FULL_SPEED)
                stair.add(trial, len(setting.recorded))
        return result_of(stairs)


def result_of(stairs: dict[str, Staircase]) -> PartResult:
    """Peer's loss-free rate over ours, so that a larger ratio is a worse one."""
    ours = next(name for name in stairs if is_ours(name))

    def ratio(peer: Floats, own: Floats) -> Floats:
        return np.asarray(np.median(peer, axis=-1) / np.median(own, axis=-1))

    ratios = {
        f"capacity/{peer} : {ours}": estimate(ratio, stairs[peer].bounds(), stairs[ours].bounds())
        for peer in stairs
        if peer != ours
    }
    targets = tuple(
        Target(name, ratio, LIMIT) for name, ratio in ratios.items() if "perf record" in name
    )
    figures: dict[str, object] = {
        name: {
            "loss_free_per_second": estimate(median, stair.bounds()).as_json(),
            "trials": [
                {
                    "per_second": round(trial.per_second),
                    "full_speed": trial.full_speed,
                    "recorded": trial.seen.events,
                    "lost": trial.seen.lost,
                    "bytes": trial.seen.written_bytes,
                }
                for trial in stair.trials
            ],
        }
        for name, stair in stairs.items()
    }
    return PartResult(figures, tables_of(stairs, ratios), ratios, targets)


def tables_of(stairs: dict[str, Staircase], ratios: dict[str, Estimate]) -> tuple[Table, ...]:
    """The ratios, then each tool."""
    pairs = tuple((name.split("/", 1)[1], with_interval(one)) for name, one in ratios.items())
    rows = tuple((name, *cells_of(stair)) for name, stair in stairs.items())
    return (
        Table("Loss-free events per second, peer : noisetop", ("ratio", "value"), pairs),
        Table(
            "Events per second before the first loss",
            (
                "tool",
                "loss-free, thousands per s",
                "full speed, thousands per s",
                "lost at full speed, %",
                "bytes per event on disk",
            ),
            rows,
            f"{THREADS} threads on each of two CPUs, that of the readers included, arm timers, "
            f"which is a record for every tool; {BUFFER_KIB} KiB of buffer per CPU for all; "
            f"after a flood of {FLOOD_MS} ms without loss the rate goes {STEP:g} times up, after "
            "one with loss down. Where the fastest flood lost nothing, the loss-free rate is what "
            "the flood reached.",
        ),
    )


def cells_of(stair: Staircase) -> tuple[str, ...]:
    """Of one tool."""
    full = [trial for trial in stair.trials if trial.full_speed]
    sizes = [t.seen.written_bytes / t.seen.events for t in full if t.seen.written_bytes]
    return (
        with_interval(estimate(median, stair.bounds()), 1000, 0),
        with_interval(estimate(median, [trial.per_second for trial in full]), 1000, 0),
        with_interval(estimate(median, [100 * trial.lost_share for trial in full]), 1, 1),
        with_interval(estimate(median, sizes), 1, 0) if sizes else "-",
    )


PART: Part = Capacity()
