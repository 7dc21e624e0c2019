"""A hue for each class of noise, for flame graphs and swim lanes; black text is legible on all."""

from __future__ import annotations

import zlib

CLASS_COLOURS = {
    "nmi": "#d9a0d9",
    "irq": "#e88a7d",
    "ipi": "#f0b070",
    "timer": "#ecd46c",
    "softirq": "#9fcf86",
    "thread": "#8cbde0",
    "fault": "#b9b0e8",
    "entry": "#a5d3cf",
    "hardware": "#c9b59f",
}
_OTHER = "#cfd3d8"


def class_colour(noise_class: str, name: str) -> str:
    """The hue of a class, a little lighter or darker by name, as ``#rrggbb``."""
    base = CLASS_COLOURS.get(noise_class, _OTHER)
    shade = zlib.crc32(name.encode(errors="replace")) % 21 - 10
    parts = (int(base[at : at + 2], 16) + shade for at in (1, 3, 5))
    return "#" + "".join(f"{min(max(part, 0), 255):02x}" for part in parts)
