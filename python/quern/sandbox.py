"""Runs untrusted commands in Linux namespaces, with limits. Runs the command `quern sandbox` (docs/sandbox.md)."""

from __future__ import annotations

from typing import NamedTuple, Optional, Sequence

from . import _command
from ._library import Error
from ._shipped import PathLike


class Result(NamedTuple):
    """How a command ended, and what it wrote."""

    ended: str  # "exit", "signal", or the limit that ended it: "time", "memory" …
    status: Optional[int]  # of "exit"
    signal: Optional[int]
    stdout: str
    stderr: str
    truncated: bool  # more was written than output_mib
    wall_s: float
    cpu_s: float
    peak_memory_mib: float


def run(
    command: Sequence[str],
    *,
    stdin: Optional[str] = None,
    seconds: float = 10,
    memory_mib: int = 256,
    processes: int = 16,
    output_mib: int = 1,
    disk_mib: int = 64,
    read: Sequence[PathLike] = (),
) -> Result:
    """Runs a command without network, in an empty folder, with the limits given. An Error: this system does not permit
    isolation; then nothing is run."""
    if isinstance(command, str) or not command:
        raise TypeError("command: expected a list of words, such as ['sh', '-c', 'echo hello']")
    given = {
        "seconds": seconds,
        "memory_mib": memory_mib,
        "processes": processes,
        "output_mib": output_mib,
        "disk_mib": disk_mib,
        "read": list(read),
    }
    import tempfile

    with tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix="quern-stdin-") as file:
        file.write(stdin or "")
        file.flush()
        words = ["sandbox", *_command.flags({**given, "stdin": file.name}), "--json", "--", *command]
        said = _command.run_json(words, statuses=range(256))
    if said.get("error"):
        raise Error(said["error"])
    return Result(**{name: said[name] for name in Result._fields})
