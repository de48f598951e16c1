"""libquern.so by ctypes: the functions of quern.h that the package calls, and how their errors become exceptions.

ctypes releases the GIL during every call. What the library computes is written into buffers that Python owns, so that
nothing here has to be freed but the handles.
"""

from __future__ import annotations

import ctypes as c
import operator
import os
import threading
import weakref
from types import TracebackType
from typing import Any, Callable, Iterable, List, NoReturn, Optional, Tuple, Type, TypeVar

NATIVE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_native")  # not pathlib: it takes as long to load as this package
S = TypeVar("S", bound="Handle")


class Error(RuntimeError):
    """What the library or the command says about a call that failed."""


_handle, _text, _int, _size = c.c_void_p, c.c_char_p, c.c_int, c.c_int64
_buffer = c.c_void_p  # a ctypes array, written by the library
ON_PROGRESS = c.CFUNCTYPE(None, _text, c.c_double, c.c_void_p)

# Result and arguments, as quern.h declares them.
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "version": (_text, []),
    "last_error": (_text, []),
    "set_threads": (_int, [_int]),
    "load_with": (_handle, [_text, _text]),
    "free": (None, [_handle]),
    "vocab_size": (_size, [_handle]),
    "max_positions": (_size, [_handle]),
    "tokenize": (_size, [_handle, _text, _int, _buffer, _size]),
    "detokenize": (_size, [_handle, _buffer, _size, _buffer, _size]),
    "chat_prompt": (_size, [_handle, _text, _text, _buffer, _size]),
    "logits": (_size, [_handle, _buffer, _size, _buffer, _size]),
    "score": (_size, [_handle, _buffer, _size, _buffer, _size]),
    "embed": (_size, [_handle, _text, _buffer, _size]),
    "sampling_new": (_handle, [_handle]),
    "sampling_free": (None, [_handle]),
    "sampling_set": (_int, [_handle, _text, _text]),
    "session_new": (_handle, [_handle]),
    "session_fork": (_handle, [_handle]),
    "session_free": (None, [_handle]),
    "session_reset": (None, [_handle]),
    "session_append": (_size, [_handle, _text]),
    "session_append_tokens": (_size, [_handle, _buffer, _size]),
    "session_length": (_size, [_handle]),
    "session_tokens": (_size, [_handle, _buffer, _size]),
    "session_prefill": (_size, [_handle]),
    "session_logits": (_size, [_handle, _buffer, _size]),
    "session_start": (_int, [_handle, _handle]),
    "session_step": (_int, [_handle]),
    "session_text": (_size, [_handle, _buffer, _size]),
    "session_reasoning": (_size, [_handle, _buffer, _size]),
    "session_cancel": (None, [_handle]),
    "session_result": (_size, [_handle, _buffer, _size]),
    "session_save": (_int, [_handle, _text]),
    "session_load": (_int, [_handle, _text]),
    "chat_add": (_size, [_handle, _text, _text]),
    "chat_set": (_size, [_handle, _text]),
    "chat_messages": (_size, [_handle, _buffer, _size]),
    "chat_setup": (_int, [_handle, _text]),
    "chat_start": (_int, [_handle, _handle]),
    "chat_message": (_size, [_handle, _buffer, _size]),
    "index_open": (_handle, [_text]),
    "index_free": (None, [_handle]),
    "index_put": (_int, [_handle, _text, _text]),
    "index_add": (_size, [_handle, _text]),
    "index_search": (_size, [_handle, _text, _size, _buffer, _size]),
    "memory_open": (_handle, [_text, _text, _text]),
    "memory_free": (None, [_handle]),
    "memory_add": (_size, [_handle, _text, _text, _size]),
    "memory_ask": (_size, [_handle, _text, _text, _size, _buffer, _size]),
    "memory_time": (_size, [_handle, _text]),
    "tokenizer_load": (_handle, [_text]),
    "tokenizer_free": (None, [_handle]),
    "tokenizer_vocab_size": (_size, [_handle]),
    "tokenizer_encode": (_size, [_handle, _text, _int, _buffer, _size]),
    "tokenizer_decode": (_size, [_handle, _buffer, _size, _buffer, _size]),
    "trainer_new": (_handle, [_text, _text]),
    "trainer_free": (None, [_handle]),
    "trainer_steps": (_size, [_handle]),
    "trainer_finished": (_size, [_handle]),
    "trainer_step": (_int, [_handle]),
    "trainer_metric": (_int, [_handle, _text, c.POINTER(c.c_double)]),
    "trainer_checkpoint": (_int, [_handle]),
    "trainer_export": (_int, [_handle, _text, _text]),
    "corpus_build": (_size, [_text, _text, ON_PROGRESS, c.c_void_p]),
    "rows_open": (_handle, [_text]),
    "rows_free": (None, [_handle]),
    "rows_next_block": (_size, [_handle]),
    "rows_block_field": (c.c_void_p, [_handle, _text, c.POINTER(c.POINTER(_size))]),
    "rows_skipped": (_size, [_handle]),
    "adapter_load": (_handle, [_handle, _text]),
    "adapter_free": (None, [_handle]),
    "sampling_adapter": (_int, [_handle, _handle, c.c_double]),
    "chat_think": (_size, [_handle, _text, _handle, c.POINTER(c.c_double)]),
    "index_put_all": (_int, [_handle, _buffer, _buffer, _buffer, _buffer, _size]),
    "index_remove": (_size, [_handle, _text]),
    "index_encoder": (_int, [_handle, _text, _text]),
    "memory_turns": (_size, [_handle, _size, _size, _buffer, _size]),
    "memory_forget": (_size, [_handle, _buffer, _size]),
    "encoder_load": (_handle, [_text, _text]),
    "encoder_free": (None, [_handle]),
    "encoder_info": (_size, [_handle, _buffer, _size]),
    "encoder_embed": (_size, [_handle, _buffer, _buffer, _size, _text, _buffer, _size]),
    "encoder_score": (_size, [_handle, _buffer, _buffer, _size, _buffer, _size]),
    "encoder_score_pairs": (_size, [_handle, _buffer, _buffer, _size, _buffer, _size]),
    "encoder_truncated": (_size, [_handle]),
    "arrow_new": (_handle, [_text]),
    "arrow_free": (None, [_handle, _text]),
    "arrow_capsule_end": (c.c_void_p, [c.c_void_p, c.c_void_p]),
    "rows_stream": (_int, [_text, _handle]),
    "filter_stream": (_int, [_text, _handle, _handle]),
    "array_stream": (_int, [_handle, _handle, _handle]),
    "texts_open": (_handle, [_handle, _text]),
    "texts_free": (None, [_handle]),
    "texts_next": (_size, [_handle]),
    "texts_write": (_size, [_handle, _text]),
    "texts_block": (c.c_void_p, [_handle, _size, c.POINTER(c.POINTER(_size))]),
}


class Library:
    """Every function of the table as a member: library.session_step(handle)."""

    def __init__(self, file: str):
        try:
            loaded = c.CDLL(file)
        except OSError as e:
            raise ImportError(f"quern: cannot load {file}: {e}") from e
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(loaded, "quern_" + name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        self._loaded = loaded

    def __getattr__(self, name: str) -> Any:  # for type checkers; all members are set above
        raise AttributeError(name)


library = Library(os.path.join(NATIVE, "lib", "libquern.so.0"))


def fail() -> Error:
    return Error(library.last_error().decode("utf-8", "replace"))


def check(result: int) -> int:
    if result < 0:
        raise fail()
    return result


def encoded(text: object, name: str) -> bytes:
    """A text or path as the library takes it: UTF-8, which ends at the first NUL."""
    if isinstance(text, os.PathLike):
        text = os.fspath(text)
    if not isinstance(text, str):
        raise TypeError(f"{name}: expected a text, got {type(text).__name__}")
    if "\0" in text:
        raise ValueError(f"{name}: found a NUL character, which the library cannot take")
    try:
        return text.encode()
    except UnicodeEncodeError:
        return os.fsencode(text)  # a path that is not UTF-8


def whole(value: object, name: str) -> int:
    """A whole number as the library takes it: ctypes would drop the higher bits of a longer one."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}: expected a whole number, got {type(value).__name__}")
    number = operator.index(value)  # type: ignore[arg-type]
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{name}: {number} has more than 64 bits")
    return number


_kept = threading.local()


def _buffer_of(room: int) -> Any:
    """A buffer of this thread that is kept for the next call: to clear one costs more than a call."""
    buffer = getattr(_kept, "buffer", None)
    if buffer is None or len(buffer) < room:
        buffer = c.create_string_buffer(room)
        if room <= 1 << 20:
            _kept.buffer = buffer
    return buffer


def read_bytes(function: Callable[..., int], *arguments: object, room: int = 1 << 17) -> bytes:
    """What a function writes into a buffer; it is called again with more room where that is too small."""
    while True:
        buffer = _buffer_of(room)
        room = len(buffer)
        n = check(function(*arguments, buffer, room))
        if n < room:
            return c.string_at(buffer, n)
        room = n + 1


def sliced(block: Callable[[Any], Optional[int]], n: int) -> List[str]:
    """The n texts of a block: one behind the other, at an address, with the end of each."""
    ends = c.POINTER(c.c_int64)()
    at = block(c.byref(ends))
    if at is None:
        raise fail()
    listed = ends[:n]
    if listed[-1] == 0:
        return [""] * n
    data = c.string_at(at, listed[-1])
    return [data[begin:end].decode("utf-8", "replace") for begin, end in zip([0, *listed], listed)]


def joined(texts: Iterable[str], name: str) -> Tuple[bytes, Any, int]:
    """Texts one behind the other, as the library takes many: their bytes, the end of each, and how many there are."""
    parts: List[bytes] = []
    ends: List[int] = []
    size = 0
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"{name}: expected texts, found {type(text).__name__} among them")
        parts.append(text.encode("utf-8", "replace"))
        size += len(parts[-1])
        ends.append(size)
    return b"".join(parts), (c.c_int64 * max(1, len(ends)))(*ends), len(ends)


def read_text(function: Callable[..., int], *arguments: object, room: int = 1 << 17) -> str:
    return read_bytes(function, *arguments, room=room).decode("utf-8", "replace")


_handles: weakref.WeakSet[Handle] = weakref.WeakSet()


class Handle:
    """A handle of the library: freed once, used by one thread at a time. `with` closes it."""

    _what = "handle"

    def __init__(self, handle: Optional[int], free: Callable[[int], None], lock: Optional[threading.Lock] = None):
        if not handle:
            raise fail()
        self._handle: Optional[int] = handle
        self._free = free
        self._lock = lock or threading.Lock()
        _handles.add(self)

    @property
    def _h(self) -> int:
        if self._handle is None:
            raise Error(f"this {self._what} is closed")
        return self._handle

    @property
    def closed(self) -> bool:
        return self._handle is None

    def _release(self) -> None:
        """Frees the handle; the lock is held."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._free(handle)

    def close(self) -> None:
        """Frees what it holds. Further calls are an Error; closing again does nothing."""
        if getattr(self, "_handle", None) is not None:
            with self._lock:
                self._release()

    def __enter__(self: S) -> S:
        self._h
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # Not close(): the collector may run in a thread that holds the lock. Nobody else can use what it collects.
        if getattr(self, "_handle", None) is not None:
            self._collect()

    def _collect(self) -> None:
        self._release()

    def _forked(self) -> None:
        """In a forked process. A thread that held the lock is not there: what it was working on is in no known state."""
        if self._lock.locked():
            self._handle = None  # not freed: its memory is half changed
            self._lock = threading.Lock()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(f"a {self._what} can be neither copied nor pickled: each process opens its own")

    def __repr__(self) -> str:
        return f"<quern.{type(self).__name__}{' (closed)' if self.closed else ''}>"


def _after_fork() -> None:
    for handle in list(_handles):
        handle._forked()


os.register_at_fork(after_in_child=_after_fork)
