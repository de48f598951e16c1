"""Numbers that the library writes: NumPy arrays where NumPy is installed, else memoryviews of the same memory."""

from __future__ import annotations

import ctypes as c
import operator
from typing import TYPE_CHECKING, Any, Iterable, List, Sequence, Tuple, Union

if TYPE_CHECKING:
    import numpy

    Array = Union["numpy.ndarray[Any, Any]", memoryview]
else:
    Array = Any


def as_array(buffer: Any, shape: Tuple[int, ...]) -> Array:
    """A view of a ctypes array of floats or doubles; no copy."""
    kind = "f" if buffer._type_ is c.c_float else "d"
    view = memoryview(buffer).cast("B")
    try:
        import numpy
    except ImportError:
        return view.cast(kind, list(shape)) if 0 not in shape else view.cast(kind)  # type: ignore[call-overload, no-any-return]
    return numpy.frombuffer(view, dtype=kind).reshape(shape)


def whole_numbers(values: List[int]) -> Array:
    """Numbers of 64 bits: an array of NumPy, or a memoryview."""
    buffer = (c.c_int64 * len(values))(*values)
    view = memoryview(buffer).cast("B").cast("q")
    try:
        import numpy
    except ImportError:
        return view
    return numpy.frombuffer(view, dtype="q")


def token_buffer(ids: Union[Sequence[int], Iterable[int]]) -> Tuple[Any, int]:
    """Token ids as a ctypes array, and how many there are."""
    if isinstance(ids, (str, bytes)):
        raise TypeError(f"token ids: expected whole numbers, got {type(ids).__name__}")
    listed = [operator.index(i) for i in ids]
    for i in listed:
        if not -(2**31) <= i < 2**31:
            raise ValueError(f"token id {i}: does not fit in 32 bits")
    return (c.c_int32 * max(1, len(listed)))(*listed), len(listed)
