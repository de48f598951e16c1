"""LoRA adapters that calls choose, beside one model whose weights are in memory once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Iterator, Mapping, Sequence, Tuple, Union

from ._library import Handle, encoded, library
from ._shipped import PathLike

if TYPE_CHECKING:
    from .model import Model


class Adapter(Handle):
    """A LoRA adapter (PEFT), made by Model.adapter(): model.chat("Hello", lora=adapter). It is closed with its model."""

    _what = "adapter"

    def __init__(self, model: Model, path: PathLike):
        with model._lock:
            self._load(model, path)

    @classmethod
    def _of(cls, model: Model, path: PathLike) -> Adapter:
        """The lock of the model is held."""
        made = cls.__new__(cls)
        made._load(model, path)
        return made

    def _load(self, model: Model, path: PathLike) -> None:
        self.path = os.fspath(path)
        handle = library.adapter_load(model._h, encoded(path, "adapter"))
        Handle.__init__(self, handle, library.adapter_free, model._lock)
        model._all_adapters.add(self)


# One; several, which add up; or each with a factor.
Lora = Union[Adapter, PathLike, Sequence[Union[Adapter, PathLike]], Mapping[Union[Adapter, str], float]]


def scaled(lora: Lora) -> Iterator[Tuple[Union[Adapter, PathLike], float]]:
    if isinstance(lora, Mapping):
        yield from lora.items()
    elif isinstance(lora, (str, os.PathLike, Adapter)):
        yield lora, 1.0
    elif isinstance(lora, Sequence):
        yield from ((one, 1.0) for one in lora)
    else:
        raise TypeError(f"lora: expected an adapter, its folder, a list of them or {{adapter: factor}}, got {type(lora).__name__}")
