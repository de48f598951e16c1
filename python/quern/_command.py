"""The command quern that comes with the package, as a child process whose result is read."""

from __future__ import annotations

import json
import os
from typing import Any, Iterator, Mapping, Optional, Sequence

from ._library import NATIVE, Error

COMMAND = os.path.join(NATIVE, "bin", "quern")


def flags(given: Mapping[str, object]) -> Iterator[str]:
    """Flags by the names of keywords: out="dir" is --out dir, json=True is --json, a list repeats its flag."""
    for name, value in given.items():
        flag = "--" + name.strip("_").replace("_", "-")
        if value is None or value is False:
            continue
        for one in value if isinstance(value, (list, tuple)) else [value]:
            yield flag
            if one is not True:
                yield os.fspath(one) if isinstance(one, os.PathLike) else str(one)


def run(words: Sequence[str], *, stdin: Optional[str] = None, statuses: Sequence[int] = (0,)) -> str:
    """Runs the command quern and returns its standard output: command(["info", "zaya-nano", "--json"]). Error: it ended
    with another status than expected; the message is the last line of what it says on standard error."""
    import subprocess  # here: it is a tenth of the time that `import quern` takes

    done = subprocess.run(
        [COMMAND, *words], input=stdin or "", capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    if done.returncode not in statuses:
        said = done.stderr.strip().splitlines()
        raise Error(said[-1] if said else f"quern {' '.join(words[:2])} ended with status {done.returncode}")
    return done.stdout


def run_json(words: Sequence[str], *, stdin: Optional[str] = None, statuses: Sequence[int] = (0,)) -> Any:
    said = run(words, stdin=stdin, statuses=statuses)
    try:
        return json.loads(said)
    except ValueError as e:
        raise Error(f"quern {' '.join(words[:2])} printed no JSON: {said[:200]!r}") from e
