"""Makes the pictures of the dashboard in the README from a recording; needs no privileges.

python -m bench.stills docs/stills [--recording FILE]
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from textual.pilot import Pilot

from noisetop.live.periods import Periods, usual_length_ns
from noisetop.live.playback import Playback
from noisetop.live.playback_feed import PlaybackFeed
from noisetop.recording.open import open_recording
from noisetop.text.cpu_list import format_cpu_list
from noisetop.tui.app import Dashboard

RECORDING = Path("tests/data/noisy.noisetop")
SIZE = 120, 30
STILLS = {
    "overview": (),
    "heat-map": ("m", "left", "left"),
    "playback": ("n",),
    "flame": ("f", "down", "down"),
}
"""Keys for each picture."""


def _feed(path: Path) -> PlaybackFeed:
    recording = open_recording(path)
    length_ns = usual_length_ns(recording.duration_ns)
    periods = Periods.of(recording.start_ns, recording.end_ns, length_ns)
    target = recording.metadata.get("target") or f"CPUs {format_cpu_list(recording.cpus)}"
    return PlaybackFeed(Playback(recording, periods), f"{path.name}  {target}")


async def _until(pilot: Pilot[bool], ready: Callable[[], bool]) -> None:
    while not ready():
        await pilot.pause(0.02)
    await pilot.pause()


async def picture(path: Path, keys: Sequence[str]) -> str:
    """What the dashboard over a recording shows after these keys, as SVG."""
    feed = _feed(path)
    app = Dashboard(feed)
    async with app.run_test(size=SIZE) as pilot:
        await _until(pilot, lambda: feed.columns.newest + 1 == len(feed.playback.periods))
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
        await _until(pilot, lambda: app.latest is not None and app.latest.position == feed.wanted)
        return app.export_screenshot(title=f"noisetop view {path.name}")


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--recording", type=Path, default=RECORDING)
    args = parser.parse_args()
    args.folder.mkdir(exist_ok=True)
    for name, keys in STILLS.items():
        content = asyncio.run(picture(args.recording, keys))
        (args.folder / f"{name}.svg").write_text(content)


if __name__ == "__main__":
    main()
