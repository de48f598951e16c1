"""Conversation memory with temporal queries, in a file."""

from __future__ import annotations

import ctypes as c
import json
import operator
import os
import time
from datetime import datetime
from typing import Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Union

from ._library import Handle, check, encoded, library, read_bytes, whole
from ._shipped import PathLike

Time = Union[datetime, float, int, str, None]  # without an offset: on the wall of the conversation's time zone
_AT_ONCE = 1000  # turns that are read in one call
_NO_TIME = -(2**63)


class Turn(NamedTuple):
    """What somebody said."""

    number: int
    session: int
    time: str  # in the time zone of the conversation
    speaker: str
    text: str


class Answer(List[Turn]):
    """The turns that answer a question, a list; `notes` say how it was read, `plan` is the query that was run. `unmatched`:
    none of them has a word of the topic, they are of the time that the question names."""

    def __init__(self, turns: Iterable[Turn], said: Mapping[str, Any]):
        super().__init__(turns)
        self.notes: List[str] = list(said.get("notes", []))
        self.plan: Any = said.get("plan")
        self.unmatched: bool = bool(said.get("unmatched", False))


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
            return check(library.memory_add(self._h, encoded(speaker, "speaker"), encoded(text, "text"), self._unix(when)))

    def ask(self, question: str, when: Time = None, *, asker: Optional[str] = None) -> Answer:
        """The turns that answer a question asked at `when` [now]: "What did Ada say last Sunday?". asker: the speaker
        that "I" is ("Where do I live now?")."""
        with self._lock:
            asked = encoded(question, "question")
            who = None if asker is None else encoded(asker, "asker")
            said = json.loads(read_bytes(library.memory_ask, self._h, asked, who, self._unix(when)))
        return Answer(map(_turn, said["turns"]), said)

    def turns(self, first: int = 0) -> Iterator[Turn]:
        """All turns in order, from number `first` on."""
        return map(_turn, self._lines(first))

    def delete(self, *turns: Union[int, Turn]) -> int:
        """Deletes turns, given themselves or by their numbers, permanently: their bytes are overwritten, and other turns
        keep their numbers. Returns how many there were."""
        numbers = [t.number if isinstance(t, Turn) else operator.index(t) for t in turns]
        with self._lock:
            return check(library.memory_forget(self._h, (c.c_int64 * max(1, len(numbers)))(*numbers), len(numbers)))

    def export(self, file: PathLike) -> int:
        """Writes all turns as JSON lines, which `quern memory import` reads. Returns how many there are."""
        count = 0
        with open(os.fspath(file), "w", encoding="utf-8") as out:
            for line in self._lines(0):
                out.write(json.dumps(line, ensure_ascii=False) + "\n")
                count += 1
        return count

    def _unix(self, when: Time) -> int:
        if when is None:
            return int(time.time())
        if isinstance(when, datetime):
            if when.tzinfo is not None:
                return int(when.timestamp())
            when = when.isoformat(" ", "seconds")
        if isinstance(when, str):
            found = library.memory_time(self._h, encoded(when, "when"))
            return check(found) if found == _NO_TIME else found
        return whole(int(when) if isinstance(when, float) else when, "when")

    def _lines(self, first: int) -> Iterator[Dict[str, Any]]:
        while True:
            with self._lock:
                found = json.loads(read_bytes(library.memory_turns, self._h, first, _AT_ONCE))["turns"]
            if not found:
                return
            yield from found
            first = found[-1]["response"] + 1


def _turn(said: Mapping[str, Any]) -> Turn:
    return Turn(said["response"], said["session"], said["time"][:19], said["speaker"], said["text"])
