"""Panels of the dashboard: one module each, which lists them in PANELS."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any, Protocol, cast

from noisetop.tui.keys import ViewKind
from noisetop.tui.panel import Panel


class PanelModule(Protocol):
    """What a module in this package offers."""

    PANELS: tuple[type[Panel[Any]], ...]
    """One; two where a line of the main column has an overlay with the details."""


def panel_modules() -> list[str]:
    """Names of the modules."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


@cache
def load_panels() -> tuple[type[Panel[Any]], ...]:
    """All panels in their order."""
    modules = [importlib.import_module(f"{__name__}.{name}") for name in panel_modules()]
    found = [panel for module in modules for panel in cast(PanelModule, module).PANELS]
    return tuple(sorted(found, key=lambda panel: (panel.ORDER, panel.__name__)))


def panels_of(kind: ViewKind) -> tuple[type[Panel[Any]], ...]:
    """The panels of such a view."""
    return tuple(panel for panel in load_panels() if kind in panel.VIEWS)
