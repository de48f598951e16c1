"""Tables over the Arrow C data interface, in and out, without a library for it: structs that libquern fills and reads, in
the capsules that pyarrow, polars, duckdb and pandas exchange (`__arrow_c_stream__`, `__arrow_c_array__`)."""

from __future__ import annotations

import ctypes as c
import json
from typing import TYPE_CHECKING, Any, Callable, Iterator, List, Optional, Sequence, Tuple

from ._library import Error, Handle, check, encoded, library, sliced

if TYPE_CHECKING:
    from ._shipped import PathLike

_SCHEMA, _ARRAY, _STREAM = (b"arrow_schema", b"arrow_array", b"arrow_array_stream")


class _Stream(c.Structure):
    _fields_ = [(name, c.c_void_p) for name in ("get_schema", "get_next", "get_last_error", "release", "private_data")]


_GET = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_void_p)
_SAY = c.CFUNCTYPE(c.c_char_p, c.c_void_p)
_make = c.PYFUNCTYPE(c.py_object, c.c_void_p, c.c_char_p, c.c_void_p)(("PyCapsule_New", c.pythonapi))
_pointer = c.PYFUNCTYPE(c.c_void_p, c.py_object, c.c_char_p)(("PyCapsule_GetPointer", c.pythonapi))
# A capsule points to its name and may outlive this module.
for _name in (_SCHEMA, _ARRAY, _STREAM):
    c.pythonapi.Py_IncRef(c.py_object(_name))
_end = library.arrow_capsule_end(
    c.cast(c.pythonapi.PyCapsule_GetName, c.c_void_p), c.cast(c.pythonapi.PyCapsule_GetPointer, c.c_void_p)
)


def _new(name: bytes) -> int:
    made: int = library.arrow_new(name)
    return made


def _capsule(struct: int, name: bytes) -> object:
    return _make(struct, name, _end)


class Batch:
    """A record batch that goes to whoever takes it first: pyarrow.record_batch(batch), polars.DataFrame(batch)."""

    def __init__(self, schema: int, array: int):
        self._held: Optional[Tuple[int, int]] = (schema, array)

    def __arrow_c_array__(self, requested_schema: object = None) -> Tuple[object, object]:
        if self._held is None:
            raise Error("this batch was taken already: a batch is handed out once, without a copy")
        (schema, array), self._held = self._held, None
        return _capsule(schema, _SCHEMA), _capsule(array, _ARRAY)

    def __del__(self) -> None:
        if self._held is not None:
            library.arrow_free(self._held[0], _SCHEMA)
            library.arrow_free(self._held[1], _ARRAY)


class Table:
    """A table for pyarrow.table, polars.DataFrame, duckdb or pandas, and an iterator over its record batches. It is read
    anew, in batches, whenever it is asked for: nothing is held in between."""

    def __init__(self, fill: Callable[[int], int]):
        self._fill = fill

    def _open(self) -> int:
        stream = _new(_STREAM)
        try:
            check(self._fill(stream))
        except BaseException:
            library.arrow_free(stream, _STREAM)
            raise
        return stream

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return _capsule(self._open(), _STREAM)

    def __iter__(self) -> Iterator[Batch]:
        stream = self._open()
        try:
            calls = _Stream.from_address(stream)
            while True:
                schema, array = _new(_SCHEMA), _new(_ARRAY)
                batch = Batch(schema, array)
                for get, to in ((calls.get_schema, schema), (calls.get_next, array)):
                    if _GET(get)(stream, to) != 0:
                        why = _SAY(calls.get_last_error)(stream)
                        raise Error((why or b"out of memory").decode("utf-8", "replace"))
                if not _is_released(array):
                    yield batch
                else:
                    return
        finally:
            library.arrow_free(stream, _STREAM)


_RELEASE_AT = 8 * c.sizeof(c.c_void_p)  # of ArrowArray: five numbers and three pointers come first


def _is_released(array: int) -> bool:
    return c.c_void_p.from_address(array + _RELEASE_AT).value is None


def is_arrow(given: object) -> bool:
    return hasattr(given, "__arrow_c_stream__") or hasattr(given, "__arrow_c_array__")


def with_stream(given: Any, use: Callable[[int], Any]) -> Any:
    """Calls use(pointer) with the stream of a table, a column or a batch."""
    if hasattr(given, "__arrow_c_stream__"):
        capsule = given.__arrow_c_stream__()
        return use(_pointer(capsule, _STREAM))
    schema, array = given.__arrow_c_array__()
    stream = _new(_STREAM)
    try:
        check(library.array_stream(_pointer(schema, _SCHEMA), _pointer(array, _ARRAY), stream))
        return use(stream)
    finally:
        library.arrow_free(stream, _STREAM)


class Texts(Handle):
    """Columns of texts of whatever has an Arrow stream, batch by batch."""

    _what = "table"

    def __init__(self, given: Any, columns: Sequence[str] = ()):
        names = encoded(json.dumps(list(columns)), "columns") if columns else None
        super().__init__(with_stream(given, lambda stream: library.texts_open(stream, names)), library.texts_free)
        self._count = max(1, len(columns))

    def batches(self) -> Iterator[List[List[str]]]:
        """The columns of each batch."""
        while True:
            with self._lock:
                n = check(library.texts_next(self._h))
                if n == 0:
                    return
                columns = [
                    sliced(lambda ends, i=i: library.texts_block(self._h, i, ends), n)  # type: ignore[misc]
                    for i in range(self._count)
                ]
            yield columns

    def write(self, file: PathLike) -> int:
        """Writes the first column as lines {"row", "text"}. Returns how many there are."""
        with self._lock:
            return check(library.texts_write(self._h, encoded(file, "file")))


def column_of(given: Any, column: Optional[str] = None) -> List[str]:
    """The texts of a column, whole."""
    with Texts(given, () if column is None else (column,)) as texts:
        return [text for (found,) in texts.batches() for text in found]
