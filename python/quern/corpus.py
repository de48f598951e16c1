"""Corpora: rows of files, tables, whole builds, and single stages.

rows(), table(), annotate() and build() call the library in this process; the stages run the command and return the JSON
that it prints. Stages take paths, rows, and tables in memory: whatever has `__arrow_c_stream__` or `__arrow_c_array__`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Union, overload

from . import _command
from ._arrays import Array, whole_numbers
from ._arrow import Table, Texts, column_of, is_arrow, with_stream
from ._library import ON_PROGRESS, Handle, check, encoded, library, sliced
from ._scratch import scratch_of
from ._shipped import PathLike

Inputs = Union[PathLike, Iterable[Any], Any]  # paths, "NAME=PATH", patterns; rows: {"text": …}; or a table in memory


class Row(NamedTuple):
    """A document of a file."""

    text: str
    source: str
    url: str
    line: str  # the JSON line as it came; "" for other forms

    def json(self) -> Any:
        """The JSON line, read."""
        return json.loads(self.line)


class Rows(Handle):
    """An iterator over the documents of files. `skipped`: invalid records so far."""

    _what = "file of rows"

    def __init__(self, options: Mapping[str, Any]):
        super().__init__(library.rows_open(encoded(json.dumps(options), "options")), library.rows_free)
        self._rows = self._iterate()

    def __iter__(self) -> Rows:
        return self

    def __next__(self) -> Row:
        return next(self._rows)

    def texts(self) -> Iterator[str]:
        """Only the texts: the fastest way through a corpus."""
        for (texts,) in self._blocks(b"text"):
            yield from texts

    def _iterate(self) -> Iterator[Row]:
        for columns in self._blocks(b"text", b"source", b"url", b"line"):
            yield from map(Row, *columns)

    def _blocks(self, *names: bytes) -> Iterator[List[List[str]]]:
        """The fields of some hundred documents at a time, by columns."""
        while True:
            with self._lock:
                n = check(library.rows_next_block(self._h))
                if n == 0:
                    return
                columns = [self._column(name, n) for name in names]
            yield columns

    def _column(self, name: bytes, n: int) -> List[str]:
        return sliced(lambda ends: library.rows_block_field(self._h, name, ends), n)

    @property
    def skipped(self) -> int:
        with self._lock:
            return check(library.rows_skipped(self._h))


def rows(
    *paths: PathLike,
    form: str = "auto",
    text_field: str = "text",
    url_field: str = "",
    on_bad: str = "skip",
) -> Rows:
    """The documents of JSON lines, texts, WARC and Parquet files, compressed or not. Options as in a recipe."""
    if not paths:
        raise ValueError("paths: expected at least one")
    given = [os.fspath(p) for p in paths]
    return Rows({"paths": given, "form": form, "text_field": text_field, "url_field": url_field, "on_bad": on_bad})


def table(
    *paths: PathLike,
    columns: Sequence[str] = ("text", "source", "url"),
    form: str = "auto",
    text_field: str = "text",
    url_field: str = "",
    on_bad: str = "skip",
) -> Table:
    """The documents of files as a table: pyarrow.table(corpus.table("docs.jsonl")), or an iterator over record batches.
    columns: "text", "source", "url", "date", "line", and members of JSON lines as "NAME:TYPE" with text, integer, number
    or truth for the type; null where a line has none."""
    given = {"columns": list(columns), "form": form, "text_field": text_field, "url_field": url_field, "on_bad": on_bad}
    return _table([os.fspath(p) for p in paths], given)


def _table(paths: List[str], given: Mapping[str, object]) -> Table:
    if not paths:
        raise ValueError("paths: expected at least one")
    options = encoded(json.dumps({"paths": paths, **given}), "options")
    return Table(lambda stream: library.rows_stream(options, stream))


def annotate(table: Any, filter: str, *, column: Optional[str] = None, lists: Optional[PathLike] = None) -> Table:
    """What filters ("gopher-quality+c4") say of the texts of a table in memory: a table with a row for each of its rows,
    with keep (bool), failing (the rules that reject) and text (as the filters leave it). column: with the texts; of several
    "text" by default."""
    if not is_arrow(table):
        raise TypeError(f"table: expected a table with __arrow_c_stream__, got {type(table).__name__}; for files, use filter()")
    given = {"filter": filter, "column": column or "", "lists": os.fspath(lists) if lists is not None else ""}
    options = encoded(json.dumps(given), "options")
    return Table(lambda stream: int(with_stream(table, lambda texts: library.filter_stream(options, texts, stream))))


class Kept(Table):
    """What a stage kept of a table in memory. `rows` are the numbers of the rows that stay, in order: table.take(kept.rows)
    of pyarrow, frame[kept.rows] of polars, frame.iloc[kept.rows] of pandas. It is itself a table with their columns row and
    text, as the stage left it, whose files end with this object: keep it until a lazy reader has come to its end.
    `manifest`: what `quern corpus` says of the run."""

    def __init__(self, stage: str, inputs: Any, flags: Mapping[str, object]):
        folder = scratch_of(self, "quern-kept-")
        out = folder / "out"
        self.manifest: Dict[str, Any] = run(stage, inputs, out=out, **flags)
        parts = sorted(out.glob("part-*"))
        if not parts:
            parts.append(folder / "nothing.jsonl")
            parts[0].touch()
        paths = [os.fspath(p) for p in parts]
        super().__init__(_table(paths, {"columns": ["row:integer", "text"]})._fill)
        self._rows: List[int] = sorted(map(int, column_of(_table(paths, {"columns": ["row:integer"]}))))

    @property
    def rows(self) -> Array:
        return whole_numbers(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def build(
    recipe: PathLike,
    *,
    out: PathLike,
    against: Optional[PathLike] = None,
    save_index: Optional[PathLike] = None,
    progress: Optional[Callable[[str, float], object]] = None,
) -> int:
    """Builds the corpus that a recipe (TOML, docs/corpus/README.md) describes. Returns how many documents deduplication
    kept. progress(stage, share) is called while it runs; an exception that it raises is raised when the build is done."""
    given = {"out": out, "against": against, "save_index": save_index}
    options = json.dumps({k: os.fspath(v) for k, v in given.items() if v is not None})
    raised: List[BaseException] = []

    def on_progress(stage: bytes, share: float, user: object) -> None:
        try:
            if progress and not raised:
                progress(stage.decode(), share)
        except BaseException as e:
            raised.append(e)

    kept = library.corpus_build(encoded(recipe, "recipe"), encoded(options, "options"), ON_PROGRESS(on_progress), None)
    if raised:
        raise raised[0]
    return check(kept)


def run(stage: str, inputs: Inputs, *, out: Optional[PathLike] = None, **flags: object) -> Any:
    """Runs `quern corpus STAGE` and returns what it prints with --json. Inputs are paths, rows (objects with a text), or a
    table in memory, of which `column` has the texts; the latter two are written to a temporary file. Flags by their names:
    threshold=0.8 is --threshold 0.8."""
    import tempfile  # here: it takes longer than the rest of this module

    with tempfile.TemporaryDirectory(prefix="quern-rows-") as scratch:
        words = _words(inputs, Path(scratch) / "rows.jsonl", flags.pop("column", None))
        return _command.run_json(["corpus", stage, *words, *_command.flags({"out": out, **flags}), "--json"])


def filter(inputs: Inputs, *, filter: str, out: Optional[PathLike] = None, **flags: object) -> Any:
    """Removes documents by quality rules; filter: "gopher", "c4", "fineweb" … Returns the manifest; of a table in memory
    and without `out` the rows that stay (Kept)."""
    return _stage("filter", inputs, out, {"filter": filter, **flags})


def dedup(inputs: Inputs, *, out: Optional[PathLike] = None, **flags: object) -> Any:
    """Removes exact duplicates and near-duplicates (MinHash, LSH). Returns the manifest; of a table in memory and without
    `out` the rows that stay (Kept)."""
    return _stage("dedup", inputs, out, flags)


def exact(inputs: Inputs, *, out: Optional[PathLike] = None, **flags: object) -> Any:
    """Removes exact duplicates only. Returns the manifest; of a table in memory and without `out` the rows that stay
    (Kept)."""
    return _stage("exact", inputs, out, flags)


def _stage(stage: str, inputs: Inputs, out: Optional[PathLike], flags: Mapping[str, object]) -> Any:
    if out is not None:
        return run(stage, inputs, out=out, **flags)
    if not is_arrow(inputs):
        raise TypeError("out: missing: expected a folder for what is kept; only of a table in memory is it returned")
    return Kept(stage, inputs, flags)


def decontaminate(inputs: Inputs, *, out: PathLike, **flags: object) -> Any:
    """Removes documents that share n-grams with benchmarks. Returns the manifest."""
    return run("decontaminate", inputs, out=out, **flags)


def mix(inputs: Inputs, *, out: PathLike, **flags: object) -> Any:
    """Mixes sources in given proportions, in shuffled order. Returns the manifest."""
    return run("mix", inputs, out=out, **flags)


def tokenize(inputs: Inputs, *, out: PathLike, tokenizer: PathLike, **flags: object) -> Any:
    """Writes token shards for training."""
    return run("tokenize", inputs, out=out, tokenizer=tokenizer, **flags)


def stats(inputs: Inputs, **flags: object) -> Any:
    """Counts documents, bytes, words and, with tokenizer=DIR, tokens."""
    return run("stats", inputs, out=None, **flags)


def _words(inputs: Inputs, file: Path, column: object) -> List[str]:
    if is_arrow(inputs):
        _write_table(inputs, file, column)
        return [os.fspath(file)]
    if column is not None:
        raise TypeError("column: names the texts of a table in memory; rows have theirs in 'text', files by text_field")
    if isinstance(inputs, (str, os.PathLike)):
        return [os.fspath(inputs)]
    listed = list(inputs)
    if not listed:
        raise ValueError("inputs: expected at least one")
    if all(isinstance(one, (str, os.PathLike)) for one in listed):
        return [os.fspath(one) for one in listed]
    with open(file, "w", encoding="utf-8") as out:
        for one in listed:
            out.write(_line(one) + "\n")
    return [f"rows={file}"]


def _write_table(table: Any, file: Path, column: object) -> None:
    """Lines {"row", "text"}, by which what is kept is found again."""
    with Texts(table, () if column is None else (str(column),)) as texts:
        if texts.write(file) == 0:
            raise ValueError("inputs: the table has no rows")


def _line(row: Any) -> str:
    if isinstance(row, Row):
        return row.line or json.dumps({"text": row.text})
    if isinstance(row, Mapping):
        found: Dict[str, Any] = dict(row)
        return json.dumps(found, ensure_ascii=False)
    raise TypeError(f"inputs: expected paths, or rows such as {{'text': …}}; found {type(row).__name__} among them")
