"""``python -m bench.large_recording [--records 10000000]``: how long the dashboard takes to
show a large recording, and each step in it. Fails above 3 s, and above 100 ms for a step."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from bench.made_up_recording import Size, write_made_up
from bench.stills import feed_of
from noisetop.tui.app import Dashboard

_OPEN_S, _STEP_S = 3.0, 0.1
_SIZE = 120, 40
_PATIENCE_S = 120
_STEPS = (
    *(["full_stop"] * 5),
    *(["comma"] * 3),
    *("greater_than_sign", "less_than_sign", "n", "n", "t"),
    *(["full_stop"] * 3),
    *(["comma"] * 3),
    *("greater_than_sign", "t", "a"),
)
"""Keys: periods one by one and by ten, worst moments, figures since the start, the whole."""


async def _shown(app: Dashboard, began: float) -> float:
    """Seconds until what was asked for is on the screen."""
    player, drawn = app.player, asyncio.Event()
    assert player is not None
    while app.latest is None or app.latest.position != player.wanted:
        if time.monotonic() - began > _PATIENCE_S:
            sys.exit("it was not shown")
        await asyncio.sleep(0.001)
    app.screen.call_after_refresh(drawn.set)
    await drawn.wait()
    return time.monotonic() - began


async def _measured(path: Path) -> tuple[float, dict[str, list[float]]]:
    began = time.monotonic()
    feed = feed_of(path)
    app = Dashboard(feed)
    steps: dict[str, list[float]] = {}
    async with app.run_test(size=_SIZE):
        opened = await _shown(app, began)
        while not feed.moments or feed.columns.newest + 1 < len(feed.playback.periods):
            await asyncio.sleep(0.05)
        print(f"all is known after {time.monotonic() - began:.2f} s", flush=True)
        await asyncio.sleep(5)  # the totals since the start are made meanwhile
        for key in _STEPS:
            began, before = time.monotonic(), feed.wanted
            app.simulate_key(key)
            while feed.wanted == before:
                if time.monotonic() - began > _PATIENCE_S:
                    sys.exit(f"key {key} did nothing")
                await asyncio.sleep(0)
            steps.setdefault(key, []).append(await _shown(app, began))
            await asyncio.sleep(0.5)  # the causes follow
    return opened, steps


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[2].strip())
    parser.add_argument("--records", type=int, default=10_000_000)
    records = parser.parse_args().records
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made-up.noisetop"
        count = write_made_up(path, Size(records=records))
        opened, steps = asyncio.run(_measured(path))
    for key, found in steps.items():
        print(f"{key:<20} {' '.join(f'{1000 * one:.0f}' for one in found)} ms")
    worst = max(max(found) for found in steps.values())
    good = opened <= _OPEN_S, worst <= _STEP_S
    said = ["within" if one else "NOT WITHIN" for one in good]
    print(f"{count} records shown after {opened:.2f} s: {said[0]} {_OPEN_S} s")
    print(f"longest step {1000 * worst:.0f} ms: {said[1]} {1000 * _STEP_S:.0f} ms")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
