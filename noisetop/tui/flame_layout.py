"""Where the frames of a flame graph lie on a screen of cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from noisetop.summary.noise_stacks import Frame, Stack


@dataclass(frozen=True, slots=True, eq=False)
class FlameCell:
    """One frame that is at least a cell wide."""

    path: Stack
    """Names from the root, which is the empty path."""
    frame: Frame
    x: int
    width: int


def frame_at(root: Frame, path: Stack) -> Frame | None:
    """None: there is no such frame."""
    frame: Frame | None = root
    for name in path:
        frame = frame.above.get(name) if frame else None
    return frame


def nearest(root: Frame, path: Stack) -> Stack:
    """The path, or as much of it as there is."""
    while frame_at(root, path) is None:
        path = path[:-1]
    return path


def flame_levels(root: Frame, zoom: Stack, width: int) -> list[list[FlameCell]]:
    """By level from the root down, left to right. What lies between the root and ``zoom`` has the
    whole width; what would be narrower than half a cell is left out."""
    levels: list[list[FlameCell]] = []
    frame = root
    for depth in range(len(zoom) + 1):
        frame = frame.above[zoom[depth - 1]] if depth else root
        levels.append([FlameCell(zoom[:depth], frame, 0, width)])
    scale = width / max(frame.net_ns, 1)
    level = [(zoom, frame, 0)]
    while level:
        level = [
            ((*path, above.name), above, begins_ns)
            for path, below, first_ns in level
            for above, begins_ns in _side_by_side(below, first_ns)
        ]
        cells = [_cell(path, one, begins_ns, scale) for path, one, begins_ns in level]
        if shown := [cell for cell in cells if cell.width]:
            levels.append(shown)
    return levels


def _side_by_side(below: Frame, first_ns: int) -> list[tuple[Frame, int]]:
    found = []
    for above in below.largest_first:
        found.append((above, first_ns))
        first_ns += above.net_ns
    return found


def _cell(path: Stack, frame: Frame, begins_ns: int, scale: float) -> FlameCell:
    x = round(begins_ns * scale)
    return FlameCell(path, frame, x, round((begins_ns + frame.net_ns) * scale) - x)


def found_in(root: Frame, matches: Callable[[str], bool]) -> tuple[set[Stack], int]:
    """Paths of the frames whose name matches, and their net time in ns, which counts once where
    one lies above another."""
    paths: set[Stack] = set()
    net_ns = 0
    waiting: list[tuple[Stack, Frame, bool]] = [((), root, False)]
    while waiting:
        path, frame, counted = waiting.pop()
        for above in frame.above.values():
            is_found = matches(above.name)
            if is_found:
                paths.add((*path, above.name))
                net_ns += 0 if counted else above.net_ns
            waiting.append(((*path, above.name), above, counted or is_found))
    return paths, net_ns
