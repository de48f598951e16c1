"""Models that come with the package, by their names."""

from __future__ import annotations

import os
from typing import List, Union

from ._library import NATIVE

MODELS = os.path.join(NATIVE, "share", "quern", "models")
PathLike = Union[str, "os.PathLike[str]"]


def models() -> List[str]:
    """Names that Model and the command take in place of a path."""
    return sorted(name for name in os.listdir(MODELS) if _is_model(name, MODELS)) if os.path.isdir(MODELS) else []


def model_folder(path: PathLike) -> str:
    """The path itself where it exists, else the folder of the model of that name: in $QUERN_MODELS, or shipped."""
    text = os.fspath(path)
    if os.path.exists(text) or os.sep in text or text.startswith("."):
        return text
    given = os.environ.get("QUERN_MODELS")
    for folder in ([given] if given else []) + [MODELS]:
        if text and _is_model(text, folder):
            return os.path.join(folder, text)
    return text


def _is_model(name: str, folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, name, "config.json"))
