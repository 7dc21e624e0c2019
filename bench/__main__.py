"""``python -m bench``: measures noisetop and its peers, writes JSON and Markdown."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.machine import describe_machine, machine_line
from bench.parts import Part, PartResult, Plan, Target, all_parts, obstacle_of, run_parts
from bench.parts.real_programs import PART as REAL_PROGRAMS
from bench.regression import compare
from bench.table import Table, update_document, with_interval
from bench.tools import Setting, all_tools, missing_tools
from bench.tools.noisetop import OTHER, commit_of, other_checkout
from bench.tracepoints import available, used_names
from bench.victim import running_victim
from bench.workloads import all_workloads
from noisetop.errors import EXIT_FAILURE, NoisetopError, UsageError
from noisetop.machine.affinity import bind
from noisetop.machine.system import online_cpus

HERE = Path(__file__).parent
RESULTS = HERE / "results"
BASELINE = HERE / "baseline.json"
DOCUMENT = HERE.parent / "docs" / "performance.md"
MEMORY = Path("/dev/shm")
ROUNDS = 20
QUICK_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """All parts of a run."""

    machine: dict[str, object]
    rounds: int
    parts: dict[str, PartResult]
    other: str = ""
    """Which other checkout was measured beside this one; empty: none."""

    def as_json(self) -> dict[str, object]:
        """Ratios first."""
        results = self.parts.values()
        return {
            "machine": self.machine,
            "rounds": self.rounds,
            "other_checkout": self.other,
            "ratios": {n: e.as_json() for r in results for n, e in r.ratios.items()},
            "targets": [
                {
                    "name": target.name,
                    "limit": target.limit,
                    "held": target.held,
                    **target.estimate.as_json(),
                }
                for target in self.targets()
            ],
            "parts": {name: result.figures for name, result in self.parts.items()},
        }

    def targets(self) -> tuple[Target, ...]:
        """Those of all parts."""
        return tuple(target for result in self.parts.values() for target in result.targets)

    def markdown(self) -> dict[str, str]:
        """By part: the machine, the targets, the tables."""
        other = f" {OTHER.capitalize()}: {self.other}." if self.other else ""
        head = f"{machine_line(self.machine)} {self.rounds} rounds.{other}\n"
        return {
            name: "\n".join([head, *targets_table(result), *(t.markdown() for t in result.tables)])
            for name, result in self.parts.items()
        }


def targets_table(result: PartResult) -> list[str]:
    """What has to hold, and whether it does; nothing for a part without targets."""
    rows = tuple(
        (
            target.name.split("/", 1)[1],
            with_interval(target.estimate, digits=3),
            f"{target.limit:g}",
            "yes" if target.held else "no",
        )
        for target in result.targets
    )
    columns = ("figure", "measured", "at most", "held")
    return [Table("Targets", columns, rows).markdown()] if rows else []


def parse_arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rounds", type=int, help=f"default: {ROUNDS}")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROUNDS} rounds, to try it")
    parser.add_argument(
        "--part", type=int, action="append", help="only this part; may be repeated; default: all"
    )
    parser.add_argument(
        "--tool", action="append", help="only this tool; may be repeated; default: all"
    )
    parser.add_argument(
        "--program",
        action="append",
        help=f"of part {REAL_PROGRAMS.number} only this one; may be repeated; default: all",
    )
    parser.add_argument(
        "--against",
        type=Path,
        metavar="FOLDER",
        help="measure noisetop record of another built checkout beside this one's",
    )
    parser.add_argument("--cpu", type=int, help="watched CPU; default: the last one")
    parser.add_argument("--publish", action="store_true", help=f"update {DOCUMENT.name}")
    parser.add_argument("--save-baseline", action="store_true", help=f"write {BASELINE.name}")
    parser.add_argument(
        "--check",
        action="store_true",
        help=f"fail when a ratio is more than 10 %% worse than in {BASELINE.name}",
    )
    parser.add_argument(
        "--results", type=Path, help="with --check: compare this file instead of measuring"
    )
    args = parser.parse_args(argv)
    check_arguments(args)
    return args


def check_arguments(args: argparse.Namespace) -> None:
    """Raises UsageError for what cannot be combined."""
    if args.results and not args.check:
        raise UsageError("--results goes with --check")
    if args.rounds is not None and args.rounds < 1:
        raise UsageError("the number of rounds must be at least 1")
    known = {part.number for part in all_parts()}
    if unknown := set(args.part or ()) - known:
        raise UsageError(f"no part {min(unknown)}: choose from {sorted(known)}")
    names = [tool.name for tool in all_tools()]
    for name in args.tool or ():
        if name not in names:
            raise UsageError(f"no tool '{name}': choose from {', '.join(names)}")
    programs = [one.name for one in all_workloads()]
    for name in args.program or ():
        if name not in programs:
            raise UsageError(f"no program '{name}': choose from {'; '.join(programs)}")
    if args.program and args.part and REAL_PROGRAMS.number not in args.part:
        raise UsageError(f"--program goes with --part {REAL_PROGRAMS.number}")
    if (args.tool or args.program) and (args.publish or args.save_baseline):
        raise UsageError(
            "--publish and --save-baseline need all of them: leave out --tool and --program"
        )


def say(line: str) -> None:
    """To the person at the terminal."""
    print(f"bench: {line}", file=sys.stderr)


def chosen_parts(numbers: list[int] | None) -> tuple[Part, ...]:
    """Those asked for, and of these what the user may run and this machine can."""
    allowed = []
    for part in all_parts():
        if numbers and part.number not in numbers:
            continue
        if why := obstacle_of(part, is_root=os.geteuid() == 0):
            say(f"part {part.number} ({part.name}) left out: {why}")
        else:
            allowed.append(part)
    return tuple(allowed)


def chosen_cpus(watched: int | None) -> tuple[int, int]:
    """The watched CPU and the one for everything else. Raises UsageError when there is one only."""
    online = online_cpus()
    cpu = online[-1] if watched is None else watched
    others = [other for other in online if other != cpu]
    if cpu not in online or not others:
        raise UsageError("the bench needs an online CPU to watch and another one for itself")
    return cpu, others[0]


def measure(args: argparse.Namespace) -> Outcome:
    """Runs the parts."""
    rounds = args.rounds or (QUICK_ROUNDS if args.quick else ROUNDS)
    parts = chosen_parts(args.part)
    cpu, housekeeping = chosen_cpus(args.cpu)
    wanted = tuple(tool for tool in all_tools() if not args.tool or tool.name in args.tool)
    missing = missing_tools(wanted)
    for name, install in missing.items():
        say(f"{name} left out: not installed, {install}")
    tools = tuple(tool for tool in wanted if tool.name not in missing)
    if args.against:
        tools += (other_checkout(args.against),)
    results: dict[str, PartResult] = {}
    if parts:
        bind([housekeeping])
        with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
            setting = Setting(cpu, housekeeping, Path(folder), available(used_names()))
            with running_victim(cpu, housekeeping, setting.folder) as victim:
                plan = Plan(tools, setting, victim, rounds, tuple(args.program or ()))
                results = run_parts(parts, plan, say)
    other = commit_of(args.against) if args.against else ""
    return Outcome(describe_machine(), rounds, results, other)


def save(outcome: Outcome, args: argparse.Namespace) -> None:
    """The results, and where asked for the document and the baseline."""
    RESULTS.mkdir(exist_ok=True)
    name = f"parts-{'-'.join(map(str, sorted(args.part)))}" if args.part else "latest"
    name += "-some-tools" if args.tool else ""
    name += "-some-programs" if args.program else ""
    text = json.dumps(outcome.as_json(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    (RESULTS / f"{name}.json").write_text(text)
    (RESULTS / f"{name}.md").write_text("\n".join(outcome.markdown().values()))
    say(f"written: {RESULTS / name}.json and .md")
    if args.publish:
        update_document(DOCUMENT, outcome.markdown())
    if args.save_baseline:
        save_baseline(outcome)


def save_baseline(outcome: Outcome) -> None:
    """Puts the ratios of the parts that ran in place of what the baseline had of these parts."""
    kept = json.loads(BASELINE.read_text())["ratios"] if BASELINE.exists() else {}
    kept = {name: ratio for name, ratio in kept.items() if name.split("/")[0] not in outcome.parts}
    baseline = {"machine": outcome.machine, "ratios": kept | ratios(outcome)}
    BASELINE.write_text(json.dumps(baseline, indent=1, ensure_ascii=False) + "\n")


def ratios(outcome: Outcome) -> dict[str, dict[str, float]]:
    """All ratios to compare with the baseline, with their intervals; no run has to have the other
    checkout."""
    found = {n: e for r in outcome.parts.values() for n, e in r.ratios.items()}
    return finite({n: e.as_json() for n, e in found.items() if not n.endswith(f": {OTHER}")})


def finite(entries: dict[str, dict[str, float | None]]) -> dict[str, dict[str, float]]:
    """Those above zero and not infinite: of the others no share can be taken."""
    found = {
        name: {part: value for part, value in entry.items() if value is not None}
        for name, entry in entries.items()
    }
    return {n: entry for n, entry in found.items() if len(entry) == 3 and entry["value"] > 0}


def check(now: dict[str, dict[str, float]]) -> int:
    """Compares with the baseline; 1 when a ratio got worse or nothing could be compared."""
    if not BASELINE.exists():
        raise NoisetopError("no baseline yet: python -m bench --save-baseline")
    comparison = compare(json.loads(BASELINE.read_text())["ratios"], now)
    if comparison.left_out:
        parts = sorted({name.split("/")[0] for name in comparison.left_out})
        say(f"{len(comparison.left_out)} ratios not measured, of {', '.join(parts)}")
    for line in comparison.unsure:
        say(f"cannot tell, as the intervals overlap: {line}")
    for line in comparison.worse:
        say(f"worse: {line}")
    say(f"{comparison.compared} ratios compared, {len(comparison.worse)} more than 10 % worse")
    if not comparison.compared:
        raise NoisetopError("nothing could be compared: run it as root, or give --results")
    return EXIT_FAILURE if comparison.worse else 0


def read_ratios(path: Path) -> dict[str, dict[str, float]]:
    """The ratios of a file of results. Raises NoisetopError when it is none."""
    try:
        return finite(json.loads(path.read_text())["ratios"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise NoisetopError(
            f"{path} holds no results of the bench: give one of {RESULTS}"
        ) from None


def main(argv: Sequence[str] | None = None) -> int:
    """Runs; the exit status."""
    try:
        args = parse_arguments(argv)
        if args.results:
            return check(read_ratios(args.results))
        outcome = measure(args)
        if outcome.parts:
            save(outcome, args)
            print("\n".join(outcome.markdown().values()))
        if args.check:
            return check(ratios(outcome))
        return 0 if outcome.parts else EXIT_FAILURE
    except NoisetopError as error:
        print(f"bench: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
