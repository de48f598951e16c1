"""A tokenizer without a model, and text to token ids and back for both."""

from __future__ import annotations

import ctypes as c
from typing import Callable, Iterable, List

from ._arrays import token_buffer
from ._library import Handle, check, encoded, library, read_text
from ._shipped import PathLike, model_folder


def encode(function: Callable[..., int], handle: int, text: str, add_special: bool) -> List[int]:
    given = encoded(text, "text")
    room = len(given) + 16  # a token is rarely less than a byte
    while True:
        ids = (c.c_int32 * room)()
        n = check(function(handle, given, add_special, ids, room))
        if n <= room:
            return ids[:n]
        room = n


def decode(function: Callable[..., int], handle: int, ids: Iterable[int]) -> str:
    buffer, n = token_buffer(ids)
    return read_text(function, handle, buffer, n, room=16 * n + 64)


class Tokenizer(Handle):
    """A tokenizer.json, or that of a model folder."""

    _what = "tokenizer"

    def __init__(self, path: PathLike):
        given = encoded(model_folder(path), "path")
        super().__init__(library.tokenizer_load(given), library.tokenizer_free)

    @property
    def vocab_size(self) -> int:
        """One past the highest id."""
        with self._lock:
            return check(library.tokenizer_vocab_size(self._h))

    def encode(self, text: str, *, add_special: bool = False) -> List[int]:
        """Token ids of a text. add_special: with what the tokenizer puts around one (<bos>)."""
        with self._lock:
            return encode(library.tokenizer_encode, self._h, text, add_special)

    def decode(self, ids: Iterable[int]) -> str:
        """Text of token ids, without special tokens."""
        with self._lock:
            return decode(library.tokenizer_decode, self._h, ids)
