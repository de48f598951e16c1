"""Models that come with the package, by their names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import List, Union

from ._library import NATIVE

MODELS = NATIVE / "share" / "quern" / "models"
PathLike = Union[str, "os.PathLike[str]"]


def models() -> List[str]:
    """Names that Model and the command take in place of a path."""
    return sorted(p.name for p in MODELS.iterdir() if (p / "config.json").is_file()) if MODELS.is_dir() else []


def model_folder(path: PathLike) -> str:
    """The path itself where it exists, else the folder of the model of that name: in $QUERN_MODELS, or shipped."""
    text = os.fspath(path)
    if os.path.exists(text) or os.sep in text or text.startswith("."):
        return text
    given = os.environ.get("QUERN_MODELS")
    for folder in ([Path(given)] if given else []) + [MODELS]:
        if text and (folder / text / "config.json").is_file():
            return str(folder / text)
    return text
