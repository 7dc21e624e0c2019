"""Kernel tests are skipped with a reason where they cannot run, and fail where they must."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import settings

pytest_plugins = ["pytester"]

CONFTEST = Path(__file__).with_name("conftest.py")

INNER_TESTS = """
import pytest

@pytest.mark.kernel
def test_of_kernel():
    {kernel}

def test_of_summary():
    pytest.skip("no recording")
"""


def load_conftest() -> ModuleType:
    spec = importlib.util.spec_from_file_location("conftest_under_test", CONFTEST)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def inner(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A test suite with this project's conftest; its tests are the test's to write."""
    monkeypatch.delenv("NOISETOP_MUST_RUN", raising=False)
    pytester.makeini(
        "[pytest]\nmarkers =\n kernel: on the real kernel\n viewer: in a browser\n"
        " generated: made up\n thorough: one more draw\n"
    )
    return pytester


def run(inner: pytest.Pytester, *options: str, obstacle: str | None) -> pytest.RunResult:
    """Runs the inner suite on a machine with that obstacle."""
    inner.makeconftest(f"{CONFTEST.read_text()}\nkernel_obstacle = lambda: {obstacle!r}\n")
    # Pictures go into a folder that the end of any run removes, an inner one as well.
    left_out = ("cacheprovider", "asyncio", "textual-snapshot")
    words = (*(word for name in left_out for word in ("-p", f"no:{name}")), "-rs", *options)
    if "-n" in options:
        return inner.runpytest_subprocess(*words)
    kept = settings.get_profile("noisetop")
    try:
        return inner.runpytest_inprocess(*words)
    finally:
        settings.register_profile("noisetop", kept)
        settings.load_profile("noisetop")


def test_obstacle_skips_kernel_tests_only(inner: pytest.Pytester) -> None:
    inner.makepyfile(INNER_TESTS.format(kernel="assert False"))
    result = run(inner, obstacle="tracing needs root")
    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(["*tracing needs root*"])


def test_kernel_tests_run_where_nothing_is_in_the_way(inner: pytest.Pytester) -> None:
    inner.makepyfile(INNER_TESTS.format(kernel="pass"))
    run(inner, obstacle=None).assert_outcomes(passed=1, skipped=1)


@pytest.mark.parametrize(
    ("obstacle", "options"),
    [(None, ()), ("tracing needs root", ()), (None, ("-n", "1"))],
    ids=["of-itself", "obstacle", "in-a-worker"],
)
def test_skipped_kernel_test_fails_where_it_must_run(
    inner: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    obstacle: str | None,
    options: tuple[str, ...],
) -> None:
    monkeypatch.setenv("NOISETOP_MUST_RUN", "kernel")
    inner.makepyfile(INNER_TESTS.format(kernel="pytest.skip('not today')"))
    result = run(inner, *options, obstacle=obstacle)
    # A skip by a mark comes up when the test is set up, which pytest counts as an error.
    result.assert_outcomes(
        failed=int(obstacle is None), errors=int(obstacle is not None), skipped=1
    )
    reason = obstacle or "not today"
    result.stdout.fnmatch_lines([f"*skipped although NOISETOP_MUST_RUN names it: *{reason}*"])


def test_any_other_test_that_is_skipped_fails_where_all_must_run(
    inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOISETOP_MUST_RUN", "viewer pure")
    inner.makepyfile(INNER_TESTS.format(kernel="pytest.skip('not today')"))
    result = run(inner, obstacle=None)
    result.assert_outcomes(failed=1, skipped=1)
    result.stdout.fnmatch_lines(["*skipped although NOISETOP_MUST_RUN names it: *no recording*"])


def test_any_other_file_that_is_skipped_fails_where_all_must_run(
    inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner.makepyfile("import pytest\npytest.importorskip('is_not_installed')\n")
    run(inner, obstacle=None).assert_outcomes(skipped=1)
    monkeypatch.setenv("NOISETOP_MUST_RUN", "pure")
    run(inner, obstacle=None).assert_outcomes(errors=1)


def test_skipped_kernel_file_fails_where_it_must_run(
    inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = inner.mkdir("kernel")
    (folder / "test_irq.py").write_text(
        "import pytest\npytest.skip('not this file', allow_module_level=True)\n"
    )
    run(inner, obstacle=None).assert_outcomes(skipped=1)
    monkeypatch.setenv("NOISETOP_MUST_RUN", "kernel")
    run(inner, obstacle=None).assert_outcomes(errors=1)


HOSTILE_TESTS = """
from hypothesis import given, settings, strategies as st

tried = []

@settings(max_examples=settings().max_examples // 5)
@given(st.integers())
def test_any_number(number):
    tried.append(number)

def test_how_many():
    assert 5 * {times} <= len(tried) <= 5 * {times} + 1
"""


@pytest.mark.parametrize(("options", "times"), [((), 1), (("--thorough",), 40)])
def test_thorough_tries_forty_times_as_much(
    inner: pytest.Pytester, options: tuple[str, ...], times: int
) -> None:
    inner.makepyfile(HOSTILE_TESTS.format(times=times))
    run(inner, *options, obstacle=None).assert_outcomes(passed=2)


DRAWS = """
import pytest

@pytest.mark.parametrize("draw", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_draw(draw):
    pass

def test_size(thorough, request):
    assert thorough == request.config.getoption("--thorough")

def test_other():
    pass
"""


@pytest.mark.parametrize(("options", "passed"), [((), 1), (("--thorough",), 2)])
def test_thorough_adds_draws_and_sizes(
    inner: pytest.Pytester, options: tuple[str, ...], passed: int
) -> None:
    """The verb that is thorough finds their tests by the marker of what is made up."""
    inner.makepyfile(DRAWS)
    found = run(inner, "-m", "generated", *options, obstacle=None)
    found.assert_outcomes(passed=passed, deselected=4 - passed)


def test_each_marker_is_named_for_itself(
    inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner.makepyfile(
        "import pytest\n@pytest.mark.viewer\ndef test_seen():\n    pytest.skip('no browser')\n"
    )
    monkeypatch.setenv("NOISETOP_MUST_RUN", "kernel")
    run(inner, obstacle=None).assert_outcomes(skipped=1)
    monkeypatch.setenv("NOISETOP_MUST_RUN", "kernel viewer")
    run(inner, obstacle=None).assert_outcomes(failed=1)


def test_expected_failure_is_no_skip(
    inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOISETOP_MUST_RUN", "kernel")
    inner.makepyfile(INNER_TESTS.format(kernel="pytest.xfail('known')"))
    run(inner, obstacle=None).assert_outcomes(xfailed=1, skipped=1)


def fake_root(tmp_path: Path, capabilities: int, *, btf: bool) -> Path:
    status = tmp_path / "proc/self/status"
    status.parent.mkdir(parents=True)
    status.write_text(f"Name:\tpytest\nCapEff:\t{capabilities:016x}\n")
    if btf:
        vmlinux = tmp_path / "sys/kernel/btf/vmlinux"
        vmlinux.parent.mkdir(parents=True)
        vmlinux.touch()
    return tmp_path


@pytest.mark.parametrize(
    ("capabilities", "btf", "allowed", "obstacle"),
    [
        (0, True, True, "root"),
        (1 << 39, True, True, "root"),
        (1 << 39 | 1 << 38, False, True, "BTF"),
        (1 << 21, True, False, "not allowed"),
        (1 << 39 | 1 << 38, True, True, None),
    ],
)
def test_obstacles(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capabilities: int,
    btf: bool,
    allowed: bool,
    obstacle: str | None,
) -> None:
    conftest = load_conftest()
    monkeypatch.setattr(conftest, "_bpf_is_allowed", lambda: allowed)
    found = conftest.kernel_obstacle(fake_root(tmp_path, capabilities, btf=btf))
    assert (found is None) == (obstacle is None)
    assert obstacle is None or obstacle in found


def test_tests_of_the_kernel_lie_in_their_folder() -> None:
    """make test looks for them there alone, and for no others there."""
    here = CONFTEST.parent
    marked = re.compile(r"(?m)^(@|pytestmark = .*| {4})pytest\.mark\.kernel\b")
    files = {path.relative_to(here): path.read_text() for path in here.rglob("test_*.py")}
    kernels = {path for path in files if path.parts[0] == "kernel"}
    found = {path for path, text in files.items() if marked.search(text)}
    assert kernels <= found
    # What is installed is tried with the packages, the own tests of guests in them.
    others = {path.parts[0] for path in found - kernels}
    assert others <= {"packaging", "guests", "configs", Path(__file__).name}
