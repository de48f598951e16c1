"""Training runs, in this process."""

from __future__ import annotations

import ctypes as c
import json
import math
import os
from typing import Dict, Iterator, Mapping, Sequence, Union

from ._library import Handle, check, encoded, library
from ._shipped import MODELS, PathLike

# What an iteration over a run reports of each step; metric() has the others of docs/metrics.md.
METRICS = ("step", "loss", "lr", "grad_norm", "tokens", "tokens_per_s", "time_s")
# Of the steps that have them: reinforcement learning, and learning from preferences.
_OF_REWARDS = ("reward", "solved", "signal", "answer_tokens", "finished", "difficulty", "staleness", "kl", "entropy")
_OF_PREFERENCES = ("margin", "accuracy", "chosen_reward", "rejected_reward")


class Trainer(Handle):
    """The run that a recipe (TOML, docs/training.md) describes. Iterating over it trains: each step gives its metrics.

    out: folder of the run. set: fields of the recipe to change, {"phase.0.batch_size": 8}. resume: continue from the
    newest checkpoint in the folder. rl: refuse a recipe that has no phase of reinforcement learning."""

    _what = "trainer"

    def __init__(
        self,
        recipe: PathLike,
        *,
        out: PathLike,
        set: Union[Mapping[str, object], Sequence[str]] = (),
        resume: bool = False,
        rl: bool = False,
    ):
        changes = [f"{k}={_toml(v)}" for k, v in set.items()] if isinstance(set, Mapping) else list(set)
        given = {"out": os.fspath(out), "set": changes, "resume": resume, "rl": rl}
        if os.path.isdir(MODELS):  # a recipe may name a shipped model
            given["models"] = MODELS
        options = json.dumps(given)
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
            found = {name: self.metric(name) for name in (*METRICS, *_OF_REWARDS, *_OF_PREFERENCES)}
            yield {name: value for name, value in found.items() if name in METRICS or not math.isnan(value)}

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


def rl(
    recipe: PathLike,
    *,
    out: PathLike,
    set: Union[Mapping[str, object], Sequence[str]] = (),
    resume: bool = False,
) -> Trainer:
    """Reinforcement learning by a recipe with `rl` phases (docs/reinforcement-learning.md): for step in quern.rl("rl.toml", out="run"):
    print(step["reward"]). Each step has the metrics of learning and those of the answers that it learned from."""
    return Trainer(recipe, out=out, set=set, resume=resume, rl=True)


def _toml(value: object) -> str:
    return json.dumps(value) if isinstance(value, (bool, list, tuple)) else str(value)
