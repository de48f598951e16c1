"""Environments that pose problems and verify answers. Runs the command `quern gym` (docs/gym/environments.md)."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Union

from . import _command
from ._shipped import PathLike, model_folder


class Verdict(NamedTuple):
    """What a verifier says of a reply."""

    reward: float  # 0 to 1
    reason: str


def environments() -> List[Dict[str, Any]]:
    """Name, group and summary of every environment."""
    listed: List[Dict[str, Any]] = _command.run_json(["gym", "list", "--json"])
    return listed


def problem(name: str, *, difficulty: int = 0, seed: int = 0) -> Dict[str, Any]:
    """A problem of an environment: question, steps and answer. The same arguments give the same problem."""
    words = ["gym", "show", name, *_command.flags({"difficulty": difficulty, "seed": seed}), "--json"]
    posed: Dict[str, Any] = _command.run_json(words)
    return posed


def sample(
    names: Union[str, Sequence[str]] = "all",
    *,
    count: int = 1000,
    difficulty: Union[int, str] = "0-4",
    split: str = "train",
    seed: int = 0,
    format: str = "problems",
) -> List[Dict[str, Any]]:
    """Problems of environments; format="chat": training examples with messages."""
    given = {"count": count, "difficulty": difficulty, "split": split, "seed": seed, "format": format}
    return [json.loads(line) for line in _command.run(["gym", "sample", *_names(names), *_command.flags(given)]).splitlines()]


def verify(expect: Mapping[str, Any], reply: str) -> Verdict:
    """Judges a reply by an expectation: {"verifier": "number", "answer": "3.5 km"} (docs/gym/verifiers.md)."""
    words = ["gym", "verify", "--expect", json.dumps(expect), "--json"]
    said = _command.run_json(words, stdin=reply)
    return Verdict(said["reward"], said["reason"])


def evaluate(model: PathLike, names: Optional[Union[str, Sequence[str]]] = None, **flags: object) -> Dict[str, Any]:
    """Success of a model on environments, by difficulty. Flags by their names: count=8, think="vote:4"."""
    listed = [] if names is None else _names(names)
    words = ["gym", "eval", model_folder(model), *listed, *_command.flags(flags), "--json"]
    report: Dict[str, Any] = _command.run_json(words)
    return report


def _names(names: Union[str, Sequence[str]]) -> List[str]:
    return [names] if isinstance(names, str) else list(names)
