"""The Python interface: ``noisetop.open(path)`` gives a Recording. docs/api.md has examples.

What is here stays as it is while the first number of the version does; the other modules of
noisetop may change with every version.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noisetop.errors import NoisetopError
from noisetop.events.interruption import INTERRUPTION, Flag, Interruptions, interrupting
from noisetop.events.origin import ORIGINS
from noisetop.flat_tables import EVENTS, table_named
from noisetop.flat_tables.file_metadata import of_recording
from noisetop.flat_tables.schema import SCHEMA_VERSION, TEXT, Batch, Column, Texts, Values
from noisetop.recording import open as opening
from noisetop.recording.recording import Recording as StoredRecording
from noisetop.summary.as_dict import summary_as_dict
from noisetop.summary.recorded import summary_of
from noisetop.tables.rows import joined

if TYPE_CHECKING:
    import pandas
    import pyarrow

__all__ = ["INTERRUPTION", "ORIGINS", "Flag", "NoisetopError", "Recording", "open"]


def open(path: str | os.PathLike[str]) -> Recording:
    """The recording in a file that noisetop wrote: a native one or a trace, compressed or not.

    Raises NoisetopError where there is none. A damaged file may raise it only while it is read.
    """
    return Recording(opening.open_recording(Path(path)))


class Recording:
    """A recording. Times are integers in nanoseconds, moments CLOCK_MONOTONIC.

    Methods read the file each time that they are called. All of them raise NoisetopError when it
    cannot be read.
    """

    def __init__(self, stored: StoredRecording) -> None:
        self._stored = stored
        self._complete = False

    @property
    def cpus(self) -> tuple[int, ...]:
        """The watched CPUs."""
        return self._stored.cpus

    @property
    def start_ns(self) -> int:
        """Start of the recorded period."""
        return self._stored.start_ns

    @property
    def end_ns(self) -> int:
        """End of the recorded period."""
        return self._stored.end_ns

    @property
    def duration_ns(self) -> int:
        """Length of the recorded period."""
        return self._stored.duration_ns

    @property
    def metadata(self) -> dict[str, Any]:
        """Host, kernel, command line, topology: a copy."""
        return dict(self._stored.metadata)

    @property
    def sources(self) -> list[tuple[str, ...]]:
        """What ran, by the number in ``source``: the steps of its path, class first."""
        return [source.path for source in self._read().sources]

    @property
    def triggers(self) -> list[str]:
        """Who caused it, by the number in ``trigger``, in one line; empty: not known."""
        return [trigger.label for trigger in self._read().triggers]

    @property
    def damage(self) -> str:
        """What is wrong with the file although it could be read; empty: nothing."""
        return self._read().damage

    def task_name(self, tid: int) -> str:
        """The last known name of a thread; empty: not known."""
        return self._read().directory.name(tid) if tid else ""

    def summary(self) -> dict[str, Any]:
        """Everything that ``noisetop report --json`` tells of the period: docs/report-json.md."""
        summary = summary_of(self._stored)
        self._complete = True
        return summary_as_dict(summary)

    def interruptions(self) -> Interruptions:
        """All interruptions, in one structured array of INTERRUPTION, 53 bytes a row."""
        return joined([np.empty(0, INTERRUPTION), *self.chunks()])

    def chunks(self) -> Iterator[Interruptions]:
        """The same in arrays of bounded size, for recordings that do not fit into memory."""
        for chunk in self._stored.all_chunks():
            yield interrupting(chunk)
        self._complete = True

    def to_arrow(self, table: str = EVENTS) -> pyarrow.Table:
        """A table of docs/tables.md as an Arrow table; texts are dictionary-encoded.

        Raises NoisetopError where pyarrow is not installed, and for a table that there is none.
        """
        try:
            import pyarrow
        except ModuleNotFoundError:
            raise NoisetopError("to_arrow() takes pyarrow: pip install pyarrow") from None
        about = table_named(table)
        schema = pyarrow.schema(
            [pyarrow.field(one.name, _arrow_type(one)) for one in about.columns],
            of_recording(table, SCHEMA_VERSION, self._stored),
        )
        parts = [
            pyarrow.Table.from_arrays(
                [_arrow_array(one, batch[one.name]) for one in about.columns], schema=schema
            )
            for batch in about.batches(self._stored)
        ]
        self._complete = True
        return pyarrow.concat_tables(parts).unify_dictionaries() if parts else schema.empty_table()

    def to_pandas(self, table: str = EVENTS) -> pandas.DataFrame:
        """A table of docs/tables.md as a pandas frame; texts are categories.

        Raises NoisetopError where pandas is not installed, and for a table that there is none.
        """
        try:
            import pandas
        except ModuleNotFoundError:
            raise NoisetopError("to_pandas() takes pandas: pip install pandas") from None
        about = table_named(table)
        batches = list(about.batches(self._stored))
        self._complete = True
        return pandas.DataFrame({one.name: _pandas_column(one, batches) for one in about.columns})

    def _read(self) -> StoredRecording:
        """The recording with all names: those of its end as well."""
        if not self._complete:
            for _ in self._stored.all_chunks():
                pass
            self._complete = True
        return self._stored


def _arrow_type(column: Column) -> pyarrow.DataType:
    import pyarrow

    if column.type == TEXT:
        return pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    return pyarrow.type_for_alias(column.type)


def _arrow_array(column: Column, values: Values) -> pyarrow.Array:
    import pyarrow

    if isinstance(values, Texts):
        numbers = pyarrow.array(values.numbers.astype(np.int32))
        return pyarrow.DictionaryArray.from_arrays(
            numbers, pyarrow.array(values.values, pyarrow.string())
        )
    mask = np.ma.getmaskarray(values) if column.nullable else None
    return pyarrow.array(np.ascontiguousarray(np.ma.getdata(values)), mask=mask)


def _pandas_column(column: Column, batches: list[Batch]) -> Any:
    import pandas

    parts = [batch[column.name] for batch in batches]
    if column.type == TEXT:
        numbers, values = _same_texts([part for part in parts if isinstance(part, Texts)])
        return pandas.Categorical.from_codes(numbers, values)
    arrays = [part for part in parts if not isinstance(part, Texts)]
    if not column.nullable:
        return np.concatenate([np.empty(0, column.type), *arrays])
    data = np.concatenate([np.empty(0, column.type), *map(np.ma.getdata, arrays)])
    absent = np.concatenate([np.empty(0, bool), *map(np.ma.getmaskarray, arrays)])
    return pandas.arrays.IntegerArray(data, absent)


def _same_texts(parts: list[Texts]) -> tuple[np.ndarray[Any, np.dtype[np.int64]], list[str]]:
    """The parts as one, in which each text has one number."""
    known: dict[str, int] = {}
    numbers = [np.empty(0, np.int64)]
    for part in parts:
        places = np.array([known.setdefault(text, len(known)) for text in part.values], np.int64)
        numbers.append(places[part.numbers])
    return np.concatenate(numbers), list(known)
