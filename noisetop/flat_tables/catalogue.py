"""The page of all tables for the documentation: ``python -m noisetop.flat_tables.catalogue``."""

from __future__ import annotations

import sys

from noisetop.flat_tables import all_tables
from noisetop.flat_tables.schema import SCHEMA_VERSION, FlatTable

_HEAD = f"""\
# Tables

What `noisetop export` writes as `.csv`, `.csv.gz` and `.parquet`, and what `to_arrow()` and
`to_pandas()` of [the Python interface](api.md) give. Made from the tables themselves, so do not
edit it: `python -m noisetop.flat_tables.catalogue > docs/tables.md`

    noisetop export noise.noisetop -o events.csv
    noisetop export noise.noisetop -o sources.parquet --table sources

A file holds one table: `events`, or the one that `--table` names. The figures are those of
`noisetop report --json`, see [report-json.md](report-json.md). Times are integers in nanoseconds,
as `_ns` in a name says; moments are CLOCK_MONOTONIC. A type with a `?` has rows without a value.

This is version {SCHEMA_VERSION} of the tables. It goes up when a column is renamed, removed or
changes its meaning. A new column comes last in its table and leaves the version as it is. The
version is `schema_version` in the table `runs`, and `noisetop_schema_version` in the metadata of
a Parquet file and of an Arrow table; there `noisetop_table` is the name of the table.

What got lost while the recording was made is missing in every table. `lost` in the table `runs`
counts it, and `losses` there says what and on which CPUs, as `noisetop report` puts it. A Parquet
file and an Arrow table tell it in their metadata as well: `noisetop_losses`, and `noisetop_damage`
says what is wrong with the file that they were made from. A CSV file of another table has no place
for that: `noisetop export` says it when it writes one.

**CSV** is that of RFC 4180, in UTF-8: a line with the names of the columns, lines end with CRLF.
Texts are quoted, numbers, `true` and `false` are not. No value is an empty field without quotes.
Names from the kernel are data: a task may be called `=cmd()`, and a name may hold quotes and line
breaks. They are not changed. A spreadsheet may take a field that begins with `=`, `+`, `-` or `@`
for a formula: import such columns as text.

**Parquet** needs DuckDB: `pip install 'noisetop[tables]'`. Columns are compressed with Zstandard.
Temporary files go to the folder that `TMPDIR` names. It is read by DuckDB, pyarrow, pandas,
Polars and Spark:

    SELECT cpu, source, sum(net_ns) FROM 'events.parquet' WHERE kind = 'noise' GROUP BY ALL

A task that changes its name: a `.noisetop` file of `noisetop record` gives each row the name of
about that time, a file that was exported before gives all of them the last one.
"""


def markdown() -> str:
    """The whole page."""
    return "".join([_HEAD, *map(_entry, all_tables().values())])


def _entry(table: FlatTable) -> str:
    rows = "".join(
        f"| `{one.name}` | {one.type}{'?' * one.nullable} | {one.meaning} |\n"
        for one in table.columns
    )
    return (
        f"\n## {table.name}\n\nA row is {table.meaning}.\n\n"
        f"| column | type | meaning |\n| --- | --- | --- |\n{rows}"
    )


if __name__ == "__main__":
    sys.stdout.write(markdown())
