"""``python -m bench.ranks [RECORDING]``: time of ``fleet scale`` for 10,000 ranks."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from bench.run_once import run_once
from bench.verdict import Limit, conclude

_RECORDING = Path(__file__).parents[1] / "tests/data/noisy.noisetop"
_RANKS, _STEPS = 10_000, 100_000
_LONGEST_S = 30


def main() -> int:
    """0 where it is quick enough."""
    recording = Path(sys.argv[1]) if len(sys.argv) > 1 else _RECORDING
    words = ("--ranks", str(_RANKS), "--steps", str(_STEPS), "--json")
    command = (sys.executable, "-m", "noisetop", "fleet", "scale", str(recording), *words)
    with tempfile.NamedTemporaryFile() as said:
        took = run_once(command, Path(said.name))
        answer = json.loads(Path(said.name).read_text())
    last = answer["curve"][-1]
    print(
        f"{last['ranks']} ranks, {_STEPS} steps: {100 * last['mean_ns'] / answer['step_ns']:.2f} % "
        f"longer, {len(answer['sources'])} sources"
    )
    return conclude(
        [
            Limit("time", took.seconds, _LONGEST_S, "s"),
            Limit("ranks that are missing", _RANKS - last["ranks"], 0),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
