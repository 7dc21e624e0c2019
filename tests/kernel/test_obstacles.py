"""Where nothing is in the way of these tests, bpf(2) is allowed."""

from __future__ import annotations

import pytest

from tests.test_conftest import load_conftest

pytestmark = [pytest.mark.kernel, pytest.mark.side_by_side]


def test_bpf_is_allowed_to_who_may_trace() -> None:
    assert load_conftest()._bpf_is_allowed()
