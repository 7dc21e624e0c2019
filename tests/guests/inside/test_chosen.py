"""Inside a guest whose BTF is hidden and whose headers are there."""

from __future__ import annotations

import pytest

from noisetop.tracing.backend import choose

pytestmark = pytest.mark.kernel


def test_bcc_is_chosen() -> None:
    assert choose("auto") == "bcc"
