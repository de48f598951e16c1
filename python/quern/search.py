"""A search index in a folder (BM25, personalized PageRank), and conversation memory with temporal queries."""

from __future__ import annotations

import json
import time
from datetime import datetime
from typing import List, NamedTuple, Optional, Union

from ._library import Handle, check, encoded, library, read_bytes
from ._shipped import PathLike

Time = Union[datetime, float, int, None]


class Chunk(NamedTuple):
    """A part of a document that a question needs."""

    path: str
    begin: int  # bytes of the document
    end: int
    score: float
    heading: str  # the headings above it
    text: str


class Index(Handle):
    """Opens the search index in a folder, or creates one (docs/recall.md)."""

    _what = "index"

    def __init__(self, folder: PathLike):
        super().__init__(library.index_open(encoded(folder, "folder")), library.index_free)

    def put(self, name: str, text: str) -> None:
        """Adds one text under a name, replacing what had it. On disk when it returns: for many texts use add()."""
        with self._lock:
            check(library.index_put(self._h, encoded(name, "name"), encoded(text, "text")))

    def add(self, path: PathLike) -> int:
        """Brings the index up to date with the text files in and below a path. Returns the number of documents in the
        index."""
        with self._lock:
            return check(library.index_add(self._h, encoded(path, "path")))

    def search(self, question: str, k: int = 5) -> List[Chunk]:
        """The k chunks that a question needs, best first."""
        with self._lock:
            said = read_bytes(library.index_search, self._h, encoded(question, "question"), k)
        found = json.loads(said)["chunks"]
        return [Chunk(j["path"], j["begin"], j["end"], j["score"], j.get("heading", ""), j["text"]) for j in found]


class Turn(NamedTuple):
    """What somebody said."""

    number: int
    session: int
    time: str  # in the time zone of the conversation
    speaker: str
    text: str


class Memory(Handle):
    """Opens a memory file and one of its conversations; creates what is missing (docs/memory.md).

    conversation: None is the only one. zone: the time zone of a conversation made now ("Europe/Berlin") [UTC]."""

    _what = "memory"

    def __init__(self, file: PathLike, conversation: Optional[str] = None, *, zone: Optional[str] = None):
        names = [None if one is None else encoded(one, "name") for one in (conversation, zone)]
        super().__init__(library.memory_open(encoded(file, "file"), *names), library.memory_free)

    def add(self, speaker: str, text: str, when: Time = None) -> int:
        """Stores a turn, said at `when` [now]. Returns its number."""
        with self._lock:
            return check(library.memory_add(self._h, encoded(speaker, "speaker"), encoded(text, "text"), _unix(when)))

    def ask(self, question: str, when: Time = None) -> List[Turn]:
        """The turns that answer a question asked at `when` [now]: "What did Ada say last Sunday?"."""
        with self._lock:
            asked = encoded(question, "question")
            said = read_bytes(library.memory_ask, self._h, asked, _unix(when))
        return [Turn(t["response"], t["session"], t["time"], t["speaker"], t["text"]) for t in json.loads(said)["turns"]]


def _unix(when: Time) -> int:
    if when is None:
        return int(time.time())
    return int(when.timestamp() if isinstance(when, datetime) else when)
