"""Writes the manual pages and the completion scripts below a folder. Called by bpf/CMakeLists.txt.

share_files.py FOLDER VERSION MODULES: ``MODULES`` is the folder of the modules just built.
Needs what the program depends on, which the build requires as well, and no installed noisetop.
"""

from __future__ import annotations

import datetime
import os
import shutil
import sys
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1]
# Where the shells look for the scripts, below share/.
COMPLETIONS = {
    "bash": "bash-completion/completions/noisetop",
    "zsh": "zsh/site-functions/_noisetop",
    "fish": "fish/vendor_completions.d/noisetop.fish",
}


def _date() -> str:
    """Today in UTC, or the date of a reproducible build."""
    now = datetime.datetime.now(datetime.UTC).timestamp()
    seconds = float(os.environ.get("SOURCE_DATE_EPOCH", now))
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).date().isoformat()


def _contents(version: str) -> dict[str, str]:
    """Path below share/ and text of each file."""
    from noisetop.command_line.completion import completion_script
    from noisetop.command_line.man_page import command_page, program_page
    from noisetop.command_line.parser import whole_parser
    from noisetop.commands import DEFAULT_COMMAND, all_commands

    commands, date = all_commands(), _date()
    files = {"man/man1/noisetop.1": program_page(commands, version, date)}
    for one in commands:
        page = command_page(one, commands, version, date)
        files[f"man/man1/noisetop-{one.NAME}.1"] = page
    for shell, path in COMPLETIONS.items():
        files[path] = completion_script(whole_parser(commands, DEFAULT_COMMAND), shell)
    return files


def main(folder: Path, version: str, modules: str) -> None:
    """Writes the files; what was in the folder goes."""
    sys.path.insert(0, str(SOURCES))
    import noisetop

    noisetop.__path__.append(modules)
    # A command that is gone leaves no page behind.
    shutil.rmtree(folder, ignore_errors=True)
    for path, text in _contents(version).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:4])
