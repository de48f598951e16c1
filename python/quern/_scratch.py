"""Folders that end with an object."""

from __future__ import annotations

import weakref
from pathlib import Path


def scratch_of(owner: object, prefix: str) -> Path:
    """A new folder, removed when its owner is collected or the process ends."""
    import shutil  # here: they take longer than the rest of the package
    import tempfile

    folder = tempfile.mkdtemp(prefix=prefix)
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
