"""Encoders: embeddings, rerankers and classifiers (docs/encoders.md)."""

from __future__ import annotations

import ctypes as c
import json
import os
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

from ._arrays import Array, as_array
from ._arrow import column_of, is_arrow
from ._library import Error, Handle, check, encoded, joined, library, read_text
from ._shipped import PathLike

TextInput = Union[str, Sequence[str], Any]  # a text, texts, or a column of an Arrow table
_AT_ONCE = 1024  # texts of a call: between two, other threads get their turn and an interrupt is seen


class Ranked(NamedTuple):
    """A document and how well it fits the query."""

    number: int  # among the documents given, from 0
    score: float
    text: str


class Encoder(Handle):
    """Loads the folder of a BERT, MiniLM, DeBERTa-v2, -v3 or ModernBERT model, or "words", which ships.

        with quern.Encoder("MiniLM") as encoder:
            rows = encoder.embed(["The mill stands by the river.", "Waves break."])

    format: of the weights in memory: "f32", "bf16", "q8", "q4" or "q8a8". Texts of a call lie behind one another without
    padding, so that short ones cost no more beside long ones; `truncated` counts those that were too long, of the last
    call. An encoder is used by one thread at a time; others wait for it."""

    _what = "encoder"

    def __init__(self, path: PathLike, *, format: str = "f32"):
        self.path = os.fspath(path)
        self.truncated = 0
        super().__init__(library.encoder_load(encoded(path, "path"), encoded(format, "format")), library.encoder_free)
        info: Dict[str, Any] = json.loads(read_text(library.encoder_info, self._h))
        self.width: int = info["width"]  # of an embedding
        self.max_tokens: int = info["max_tokens"]  # of a text; what is longer is cut
        self.labels: List[str] = info["labels"]  # of the head; empty without one

    def embed(self, texts: TextInput, *, role: Optional[str] = None, column: Optional[str] = None) -> Array:
        """Embedding of a text, of length 1; of texts or of a column of a table (`column` names it), one row each. role:
        "query" or "document" puts the prompt before them that the model wants for these."""
        as_role = None if role is None else encoded(role, "role")
        listed = _listed(texts, column)

        def run(data: bytes, ends: Any, n: int, out: Any, room: int) -> int:
            return int(library.encoder_embed(self._h, data, ends, n, as_role, out, room))

        rows = self._rows(listed, self.width, 1, run)
        return as_array(rows, (self.width,) if isinstance(texts, str) else (len(listed), self.width))

    def classify(self, texts: TextInput, *, column: Optional[str] = None) -> Array:
        """What the head says of a text: a number for each of `labels`; of texts or of a column, one row each. Numbers are
        as the folder wants them shown: probabilities, or logits."""
        listed = _listed(texts, column)
        rows = self._rows(listed, len(self.labels), 1, self._score)
        return as_array(rows, (len(self.labels),) if isinstance(texts, str) else (len(listed), len(self.labels)))

    def score_pairs(self, pairs: Iterable[Tuple[str, str]]) -> Array:
        """What the head says of pairs of texts, one row each."""
        listed = [text for pair in pairs for text in _pair(pair)]
        rows = self._rows(listed, len(self.labels), 2, self._score_pairs)
        return as_array(rows, (len(listed) // 2, len(self.labels)))

    def rerank(self, query: str, documents: TextInput, *, k: Optional[int] = None, column: Optional[str] = None) -> List[Ranked]:
        """The documents by how well they fit the query, best first; k: only so many. A reranker, whose head has one label,
        reads the query with each of them; of any other encoder it is the cosine of the embeddings."""
        listed = _listed(documents, column)
        if len(self.labels) == 1:
            scores = self._rows([t for d in listed for t in (query, d)], 1, 2, self._score_pairs)[: len(listed)]
        else:
            scores = self._cosines(query, listed)
        order = sorted(range(len(listed)), key=lambda i: -scores[i])
        return [Ranked(i, scores[i], listed[i]) for i in order[: len(order) if k is None else k]]

    # ---- Inside ----

    def _score(self, data: bytes, ends: Any, n: int, out: Any, room: int) -> int:
        return int(library.encoder_score(self._h, data, ends, n, out, room))

    def _score_pairs(self, data: bytes, ends: Any, n: int, out: Any, room: int) -> int:
        return int(library.encoder_score_pairs(self._h, data, ends, n // 2, out, room))

    def _cosines(self, query: str, documents: List[str]) -> List[float]:
        asked: Any = self.embed(query, role="query")
        rows: Any = memoryview(self.embed(documents, role="document")) if documents else ()  # type: ignore[arg-type]
        return [sum(float(asked[k]) * rows[i, k] for k in range(self.width)) for i in range(len(documents))]

    def _rows(
        self, texts: List[str], width: int, together: int, run: Callable[[bytes, Any, int, Any, int], int]
    ) -> Any:
        """The rows of all texts, `together` texts each, in one buffer; computed in calls of so many texts at once."""
        if width == 0:
            raise Error(f"{self.path} has no head for classification: it gives embeddings; use embed()")
        size = len(texts) // together * width
        buffer = (c.c_float * size)()
        done = truncated = 0
        for begin in range(0, len(texts), _AT_ONCE):
            data, ends, n = joined(texts[begin : begin + _AT_ONCE], "texts")
            with self._lock:
                done += check(run(data, ends, n, c.byref(buffer, 4 * done), size - done))
                truncated += check(library.encoder_truncated(self._h))
        self.truncated = truncated
        return buffer


def _pair(pair: Tuple[str, str]) -> Tuple[str, str]:
    if isinstance(pair, str) or len(pair) != 2:
        raise TypeError("pairs: expected pairs of texts: [('query', 'document'), …]")
    return pair


def _listed(texts: TextInput, column: Optional[str]) -> List[str]:
    if is_arrow(texts):
        return column_of(texts, column)
    return [texts] if isinstance(texts, str) else list(texts)
