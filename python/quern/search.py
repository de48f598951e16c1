"""A search index in a folder (BM25, personalized PageRank, vectors of an encoder)."""

from __future__ import annotations

import json
from typing import Any, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

from ._arrow import Texts, is_arrow
from ._library import Handle, check, encoded, joined, library, read_bytes, whole
from ._shipped import PathLike

_AT_ONCE = 16 << 20  # characters of a table that are one segment of the index


class Chunk(NamedTuple):
    """A part of a document that a question needs."""

    path: str
    begin: int  # bytes of the document
    end: int
    score: float
    heading: str  # the headings above it
    text: str


class Index(Handle):
    """Opens the search index in a folder, or creates one (docs/recall.md).

    encoder: the folder of an encoder for hybrid retrieval, whose vectors are compared too; `format` of its weights as in
    Encoder. A new index of English texts has the vectors of "words", and with "none" it has none. An index remembers its
    encoder and refuses another."""

    _what = "index"

    def __init__(self, folder: PathLike, *, encoder: Optional[PathLike] = None, format: str = "f32"):
        super().__init__(library.index_open(encoded(folder, "folder")), library.index_free)
        if encoder is not None:
            try:
                check(library.index_encoder(self._h, encoded(encoder, "encoder"), encoded(format, "format")))
            except BaseException:
                self.close()
                raise

    def put(self, name: str, text: str) -> None:
        """Adds one text under a name, replacing what had it. On disk when it returns: for many texts use add()."""
        with self._lock:
            check(library.index_put(self._h, encoded(name, "name"), encoded(text, "text")))

    def add(self, source: Union[PathLike, Iterable[Tuple[str, str]], Any], *, name: str = "name", text: str = "text") -> int:
        """Of a path: brings the index up to date with the text files in and below it, and returns the number of documents
        in the index. Of a table in memory, whose columns `name` and `text` are taken, or of pairs (name, text): adds the
        texts under their names, replacing what had them, and returns how many there were."""
        if isinstance(source, str) or hasattr(source, "__fspath__"):
            with self._lock:
                return check(library.index_add(self._h, encoded(source, "path")))
        names: List[str] = []
        texts: List[str] = []
        size = count = 0
        for one_name, one_text in _pairs(source, name, text):
            names.append(one_name)
            texts.append(one_text)
            size += len(one_text)
            count += 1
            if size >= _AT_ONCE:
                self._put_all(names, texts)
                names, texts, size = [], [], 0
        self._put_all(names, texts)
        return count

    def _put_all(self, names: List[str], texts: List[str]) -> None:
        named, name_ends, n = joined(names, "names")
        given, ends, _ = joined(texts, "texts")
        with self._lock:
            check(library.index_put_all(self._h, named, name_ends, given, ends, n))

    def delete(self, *names: str) -> int:
        """Removes what has these names, or lies below folders of these names; its bytes leave the disk. Returns how many
        documents went. An Error, and nothing removed, if a name is not there."""
        with self._lock:
            return check(library.index_remove(self._h, encoded(json.dumps(names), "names")))

    def search(self, question: str, k: int = 5) -> List[Chunk]:
        """The k chunks that a question needs, best first."""
        with self._lock:
            said = read_bytes(library.index_search, self._h, encoded(question, "question"), whole(k, "k"))
        found = json.loads(said)["chunks"]
        return [Chunk(j["path"], j["begin"], j["end"], j["score"], j.get("heading", ""), j["text"]) for j in found]


def _pairs(source: Any, name: str, text: str) -> Iterable[Tuple[str, str]]:
    return _rows(source, name, text) if is_arrow(source) else map(_pair, source)


def _pair(pair: Any) -> Tuple[str, str]:
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise TypeError(f"expected pairs (name, text), found {pair!r:.40}")
    return pair[0], pair[1]


def _rows(source: Any, name: str, text: str) -> Iterable[Tuple[str, str]]:
    with Texts(source, (name, text)) as columns:
        for names, texts in columns.batches():
            yield from zip(names, texts)
