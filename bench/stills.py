"""Makes the pictures of the dashboard in the README; needs no privileges.

python -m bench.stills docs/stills [--recording FILE]

The heat map is of tests/data/noisy.noisetop: two busy CPUs, no triggers. The others are of FILE,
which python -m bench.record_for_stills made on an idle machine, and without it they stay as they
are. FILE is not kept, as a recording holds command lines.
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

BUSY = Path("tests/data/noisy.noisetop")
SIZE = 120, 40
STILLS = {
    "overview": (),
    "heat-map": ("m", "left", "left"),
    "playback": ("n",),
    "flame": ("f", "down", "down"),
}
"""Keys for each picture."""
OF_BUSY = "heat-map"


def feed_of(path: Path) -> PlaybackFeed:
    """As ``noisetop view`` has it."""
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
    feed = feed_of(path)
    app = Dashboard(feed)
    async with app.run_test(size=SIZE) as pilot:
        await _until(pilot, lambda: feed.columns.newest + 1 == len(feed.playback.periods))
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
        await _until(pilot, lambda: app.latest is not None and app.latest.position == feed.wanted)
        if feed.is_diagnosing:
            await _until(pilot, lambda: app.latest is not None and bool(app.latest.diagnosis))
        return app.export_screenshot(title=f"noisetop view {path.name}")


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--recording", type=Path)
    args = parser.parse_args()
    args.folder.mkdir(exist_ok=True)
    for name, keys in STILLS.items():
        recording = BUSY if name == OF_BUSY else args.recording
        if recording is None:
            print(f"{name}: stays, as no --recording is given")
            continue
        content = asyncio.run(picture(recording, keys))
        (args.folder / f"{name}.svg").write_text(content)


if __name__ == "__main__":
    main()
