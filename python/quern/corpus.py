"""Corpora: rows of files, whole builds, and single stages.

rows() and build() call the library in this process; the stages run the command and return the JSON that it prints."""

from __future__ import annotations

import ctypes as c
import json
import os
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Union

from . import _command
from ._library import ON_PROGRESS, Handle, check, encoded, library
from ._shipped import PathLike

Inputs = Union[PathLike, Iterable[Any]]  # paths, "NAME=PATH", patterns; or rows: {"text": …}


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
        ends = c.POINTER(c.c_int64)()
        at = library.rows_block_field(self._h, name, c.byref(ends))
        listed = ends[:n]
        if listed[-1] == 0:
            return [""] * n
        data = c.string_at(at, listed[-1])
        return [data[begin:end].decode("utf-8", "replace") for begin, end in zip([0, *listed], listed)]

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
    """Runs `quern corpus STAGE` and returns what it prints with --json. Inputs are paths, or rows: objects with a text,
    which are written to a temporary file. Flags by their names: threshold=0.8 is --threshold 0.8."""
    import tempfile  # here: it takes longer than the rest of this module

    with tempfile.TemporaryDirectory(prefix="quern-rows-") as scratch:
        words = _words(inputs, Path(scratch) / "rows.jsonl")
        return _command.run_json(["corpus", stage, *words, *_command.flags({"out": out, **flags}), "--json"])


def filter(inputs: Inputs, *, out: PathLike, filter: str, **flags: object) -> Any:
    """Removes documents by quality rules; filter: "gopher", "c4", "fineweb" … Returns the manifest."""
    return run("filter", inputs, out=out, filter=filter, **flags)


def dedup(inputs: Inputs, *, out: PathLike, **flags: object) -> Any:
    """Removes exact duplicates and near-duplicates (MinHash, LSH). Returns the manifest."""
    return run("dedup", inputs, out=out, **flags)


def exact(inputs: Inputs, *, out: PathLike, **flags: object) -> Any:
    """Removes exact duplicates only. Returns the manifest."""
    return run("exact", inputs, out=out, **flags)


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


def _words(inputs: Inputs, file: Path) -> List[str]:
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


def _line(row: Any) -> str:
    if isinstance(row, Row):
        return row.line or json.dumps({"text": row.text})
    if isinstance(row, Mapping):
        found: Dict[str, Any] = dict(row)
        return json.dumps(found, ensure_ascii=False)
    raise TypeError(f"inputs: expected paths, or rows such as {{'text': …}}; found {type(row).__name__} among them")
