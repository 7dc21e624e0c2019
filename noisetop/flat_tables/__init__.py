"""A recording as flat tables: one module each, with a FlatTable in TABLE."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from noisetop.errors import UsageError
from noisetop.flat_tables.schema import FlatTable

EVENTS = "events"
"""The table that is written where none is named."""


@cache
def all_tables() -> Mapping[str, FlatTable]:
    """Every table by its name, in the order of the names."""
    modules = sorted(module.name for module in pkgutil.iter_modules(__path__))
    loaded = (importlib.import_module(f"{__name__}.{name}") for name in modules)
    tables: list[FlatTable] = [one.TABLE for one in loaded if hasattr(one, "TABLE")]
    return MappingProxyType({table.name: table for table in tables})


def table_named(name: str) -> FlatTable:
    """The table of that name. Raises UsageError when there is none."""
    tables = all_tables()
    if name not in tables:
        raise UsageError(f"there is no table {name!r}: choose one of {', '.join(tables)}")
    return tables[name]
