"""The words of the project: phrases and identifiers that must not come back.

Each pattern stands for a wording that readers did not understand, or for an identifier that was
renamed; what it was replaced by stands beside it.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from noisetop import cli

_ROOT = Path(__file__).parents[1]

PHRASES = {
    r"net of what interrupted": "excluding nested interruptions",
    r"test of what is chance": "significance test",
    r"was too slow for": "dropped records",
    r"\bholds? .{0,40}\bagainst\b": "compare with",
    r"gets longer by": "added latency per interruption",
    r"that it came": "it is reported",
    r"µs each, and each": "µs per entry and per system call",
    r"fits the programs to": "program loader",
    r"chance of even one|one false finding": "family-wise error rate",
    r"\badmits?\b": "hardware and hypervisor counters",
    r"\b(not|nothing is) told\b": "not available",
    r"\bhouse\b(?!-)|(?<!--)house-keeping": "housekeeping",
    r"disturbs what it watches": "perturbs the measurement",
    r"in turns with": "competes for the CPU",
    r"\b(stood|stands?|stand) in line\b": "waited on the run queue",
    r"nobody knows for whom": "runnable, not running, cause unknown",
    r"\banew\b|from when it is opened": "updated every; since this view was opened",
    r"\border round\b": "reverse the sort order",
    r"path holds|enter keeps": "containing text; Enter applies it",
    r"count from now on": "reset the counters",
    r"tick kept by": "tick kept on by",
    r"nobody lost": "no task was delayed",
    r"\bown doing\b": "self-inflicted",
    r"(?-i:\bAsleep\b)": "blocked",  # the step "asleep" of a fault's path is a value of files
    r"the time is up": "finished (duration reached)",
    r"\bsure\?": "confidence",
    r"\bcannot tell\b": "inconclusive",
    r"not seen: |this kernel lacks": "not supported by this kernel",
    r"must be told": "causes a TLB shootdown",
    r"gives? (back )?memory( back)?": "unmaps memory",
    r"disk requests are finished": "block I/O completions run",
    r"\bgoes off\b": "expires",
    r"\bclock interrupt": "scheduler tick",
    r"frees memory of its own": "RCU callbacks run",
    r"free-floating": "unbound workqueues",
    r"was not allowed to": "was throttled",
    r"went, stayed (or|and) came": "resolved, remaining and new causes",
    r"its beginning is another|a number is none": "bad header; invalid number",
    r"\bwho did it\b": "triggers",
}

IDENTIFIERS = {
    r"apart": "side tables",
    r"(open_|close_)?books": "counters, start_window, stop_window",
    r"stretch(es)?": "noise interval, max single",
    r"admissions?": "accounted time",
    r"house": "housekeeping",
    r"head_line|foot_lines": "header, footer",
    r"interner": "dictionary encoding",
    r"trigger_?book": "as-of join",
    r"absences?": "offline interval",
    r"own_?cost": "overhead",
    r"unread|unwritten": "lost_batch, lost_spool",
    r"explains": "trigger_of",
    r"noise_told": "NOISE_EXPORT",
    r"tell_\w+": "emit_*",
}
_ANY_IDENTIFIER = re.compile(rf"\b_*({'|'.join(IDENTIFIERS)})\b", re.IGNORECASE)

MODULES = {
    "bpf/arm.bpf.c": "timer_arm.bpf.c",
    "noisetop/native/compiled.c": "bcc_loader.c",
    "tests/kernels": "tests/guests",
}

# Spellings that released versions wrote or took, and that must be read for ever.
RELEASED = {
    "--house-keeping",  # option, hidden: --housekeeping
    "cannot_tell",  # JSON of noisetop diagnose
    "explains",  # JSON of noisetop check, and the attribute that it is made from
    "stretches",  # JSON of noisetop probe spin, and the attribute that it is made from
}

# By pattern: files, or their beginnings, that are still to be renamed.
NOT_YET: dict[str, set[str]] = {}


_PROBES = ("spin", "switch", "numa", "calibrate")


def _literals(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of each string of a module that is no docstring; {} for what is filled in."""
    tree = ast.parse(path.read_text())
    inner: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):  # docstrings, of attributes too
            inner.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            inner.update(id(part) for part in ast.walk(node) if part is not node)
    for node in ast.walk(tree):
        if id(node) in inner:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        elif isinstance(node, ast.JoinedStr):
            parts = [p.value if isinstance(p, ast.Constant) else "{}" for p in node.values]
            yield node.lineno, "".join(map(str, parts))


@cache
def _modules() -> tuple[Path, ...]:
    return tuple(sorted((_ROOT / "noisetop").rglob("*.py")))


@cache
def _texts() -> tuple[tuple[str, str], ...]:
    """Where it is, and everything that a user may read: strings, documents, help."""
    found = [
        (f"{name}:{line}", text)
        for path in _modules()
        for name in [path.relative_to(_ROOT)]
        for line, text in _literals(path)
        if text not in RELEASED
    ]
    documents = [*sorted(_ROOT.glob("*.md")), *sorted(_ROOT.glob("docs/**/*.md"))]
    found += [(str(path.relative_to(_ROOT)), path.read_text()) for path in documents]
    found += [(f"noisetop {' '.join(one)} --help", _help(one)) for one in _commands()]
    return tuple((where, " ".join(text.split())) for where, text in found)


def _help(arguments: tuple[str, ...]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        cli.run([*arguments, "--help"])
    return out.getvalue()


def _commands() -> list[tuple[str, ...]]:
    names = re.search(r"\{([a-z,]+)\}", _help(()))
    listed = names[1].split(",") if names else re.findall(r"(?m)^    ([a-z]+) ", _help(()))
    return [(), *((name,) for name in listed), *(("probe", p) for p in _PROBES)]


def _identifiers(path: Path) -> Iterator[tuple[int, str]]:
    """Line and name of each identifier of a Python or C file."""
    if path.suffix in (".py", ".pyi"):
        with path.open("rb") as file:
            for token in tokenize.tokenize(file.readline):
                if token.type == tokenize.NAME:
                    yield token.start[0], token.string
        return
    code = re.sub(
        r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"',
        lambda match: "\n" * match[0].count("\n"),
        path.read_text(),
        flags=re.DOTALL,
    )
    for number, line in enumerate(code.splitlines(), 1):
        for name in re.findall(r"[A-Za-z_]\w*", line):
            yield number, name


@cache
def _names() -> dict[str, tuple[str, ...]]:
    """Identifiers of the program, and where they stand: all of each file that has one of those
    that are looked for."""
    c_files = (p for d in ("bpf", "noisetop/native") for p in (_ROOT / d).rglob("*.[ch]"))
    interfaces = (_ROOT / "noisetop").rglob("*.pyi")
    found: dict[str, list[str]] = {}
    for path in (*_modules(), *interfaces, *c_files):
        # To take a file apart takes long.
        if not _ANY_IDENTIFIER.search(path.read_text()):
            continue
        for line, name in _identifiers(path):
            found.setdefault(name.lower(), []).append(f"{path.relative_to(_ROOT)}:{line}")
    return {name: tuple(places) for name, places in found.items()}


def _allowed(pattern: str, where: str) -> bool:
    return any(where.startswith(place) for place in NOT_YET.get(pattern, ()))


def test_the_texts_are_found() -> None:
    places = [where for where, _ in _texts()]
    assert "noisetop probe numa --help" in places
    assert len(places) > 1_000


@pytest.mark.parametrize("pattern", PHRASES)
def test_phrase_is_gone(pattern: str) -> None:
    search = re.compile(pattern, re.IGNORECASE)
    found = [
        f"{where}: …{text[max(match.start() - 30, 0) : match.end() + 30]}…"
        for where, text in _texts()
        if not _allowed(pattern, where)
        for match in search.finditer(text)
    ]
    assert found == [], f"write: {PHRASES[pattern]}"


@pytest.mark.parametrize("pattern", IDENTIFIERS)
def test_identifier_is_gone(pattern: str) -> None:
    search = re.compile(rf"_*({pattern})", re.IGNORECASE)
    found = [
        f"{place} {name}"
        for name, places in _names().items()
        if name not in RELEASED and search.fullmatch(name)
        for place in places
        if not _allowed(pattern, place)
    ]
    assert found == [], f"name it: {IDENTIFIERS[pattern]}"


@pytest.mark.parametrize("path", MODULES)
def test_module_is_renamed(path: str) -> None:
    assert not (_ROOT / path).exists() or _allowed(path, path), f"rename to {MODULES[path]}"
