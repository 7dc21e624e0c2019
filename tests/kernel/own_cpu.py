"""Tests that run side by side watch a CPU each: noisetop works on those that it does not watch, and
all of it would be done on one."""

from __future__ import annotations

import os

from noisetop.machine import system

_WORKER = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
_CPUS = system.online_cpus()

OWN = _CPUS[-1 - int(_WORKER.removeprefix("gw")) % len(_CPUS)]
"""The last one for the first worker, and where there is one only."""
OTHER = next((cpu for cpu in _CPUS if cpu != OWN), OWN)
"""One for what acts on it."""
