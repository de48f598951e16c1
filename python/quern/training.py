"""Training runs, in this process."""

from __future__ import annotations

import ctypes as c
import json
import os
from typing import Dict, Iterator, Mapping, Sequence, Union

from ._library import Handle, check, encoded, library
from ._shipped import PathLike

# What an iteration over a run reports of each step; metric() has the others of docs/metrics.md.
METRICS = ("step", "loss", "lr", "grad_norm", "tokens", "tokens_per_s", "time_s")


class Trainer(Handle):
    """The run that a recipe (TOML, docs/training.md) describes. Iterating over it trains: each step gives its metrics.

    out: folder of the run. set: fields of the recipe to change, {"phase.0.batch_size": 8}. resume: continue from the
    newest checkpoint in the folder."""

    _what = "trainer"

    def __init__(
        self,
        recipe: PathLike,
        *,
        out: PathLike,
        set: Union[Mapping[str, object], Sequence[str]] = (),
        resume: bool = False,
    ):
        changes = [f"{k}={_toml(v)}" for k, v in set.items()] if isinstance(set, Mapping) else list(set)
        options = json.dumps({"out": os.fspath(out), "set": changes, "resume": resume})
        super().__init__(
            library.trainer_new(encoded(recipe, "recipe"), encoded(options, "options")), library.trainer_free
        )

    @property
    def steps(self) -> int:
        """Steps of the recipe."""
        with self._lock:
            return check(library.trainer_steps(self._h))

    @property
    def finished(self) -> int:
        """Steps done."""
        with self._lock:
            return check(library.trainer_finished(self._h))

    def step(self) -> bool:
        """One optimizer step, with the checkpoints and evaluations that the recipe asks for. False: the recipe is
        done."""
        with self._lock:
            return check(library.trainer_step(self._h)) > 0

    def metric(self, name: str) -> float:
        """A number of the last step by its name (docs/metrics.md); NaN where the step has none."""
        value = c.c_double()
        with self._lock:
            check(library.trainer_metric(self._h, encoded(name, "name"), c.byref(value)))
        return value.value

    def __iter__(self) -> Iterator[Dict[str, float]]:
        while self.step():
            yield {name: self.metric(name) for name in METRICS}

    def checkpoint(self) -> None:
        """Saves a checkpoint now, in the folder of the run."""
        with self._lock:
            check(library.trainer_checkpoint(self._h))

    def export(self, folder: PathLike, dtype: str = "bf16") -> None:
        """Writes the model and its tokenizer as a folder that Model reads; dtype: "bf16" or "f32"."""
        with self._lock:
            check(library.trainer_export(self._h, encoded(folder, "folder"), encoded(dtype, "dtype")))


def train(
    recipe: PathLike,
    *,
    out: PathLike,
    set: Union[Mapping[str, object], Sequence[str]] = (),
    resume: bool = False,
) -> Trainer:
    """for step in quern.train("recipe.toml", out="run"): print(step["loss"])"""
    return Trainer(recipe, out=out, set=set, resume=resume)


def _toml(value: object) -> str:
    return json.dumps(value) if isinstance(value, (bool, list, tuple)) else str(value)
