"""Fine-tuning in one call: from chats, texts or preferences to a LoRA adapter. Runs the command `quern finetune`."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Type, Union

from . import _command
from ._library import Error
from ._scratch import scratch_of
from ._shipped import PathLike, model_folder

if TYPE_CHECKING:
    import subprocess

Data = Union[PathLike, Sequence[PathLike], Iterable[Mapping[str, Any]]]
_WAIT = 0.05  # seconds between two looks at the metrics


class Finetuning:
    """A run of `quern finetune`. Iterating over it gives the metrics of each step and evaluation as they come ("loss",
    "eval_loss"; docs/metrics.md); `result` waits for the end. `with` ends it early: a checkpoint is saved, and resume=True
    goes on from there."""

    def __init__(self, model: PathLike, data: Data, *, out: PathLike, **flags: object):
        import subprocess

        self._out = Path(os.fspath(out))
        scratch = scratch_of(self, "quern-finetune-")
        self._printed, self._said = scratch / "stdout", scratch / "stderr"
        files = _files(data, scratch / "rows.jsonl")
        words = [model_folder(model), *files, *_command.flags({"out": out, **flags}), "--json"]
        metrics = self._out / "run" / "metrics.jsonl"
        self._read = metrics.stat().st_size if metrics.exists() else 0  # of a run that goes on: only what is new
        self._metrics = metrics
        with open(self._printed, "wb") as printed, open(self._said, "wb") as said:
            self._child: subprocess.Popen[bytes] = subprocess.Popen(
                [_command.COMMAND, "finetune", *words], stdin=subprocess.DEVNULL, stdout=printed, stderr=said
            )
        self._result: Optional[Dict[str, Any]] = None

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        going = True
        while going:
            going = self._child.poll() is None
            yield from self._new_lines()
            if going:
                time.sleep(_WAIT)
        self.result  # an Error where it failed

    def _new_lines(self) -> Iterator[Dict[str, Any]]:
        if not self._metrics.exists():
            return
        with open(self._metrics, "rb") as file:
            file.seek(self._read)
            new = file.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            yield json.loads(line)

    @property
    def result(self) -> Dict[str, Any]:
        """What the run came to, once it has ended: adapter (its folder), loss and loss_before on held-out rows, steps."""
        if self._result is None:
            self._child.wait()
            said = self._printed.read_text(encoding="utf-8", errors="replace")
            if self._child.returncode != 0 or not said.strip():
                raise Error(self._why())
            found: Dict[str, Any] = json.loads(said)
            self._result = found
        return self._result

    def _why(self) -> str:
        lines = self._said.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else f"quern finetune ended with status {self._child.returncode}"

    def close(self) -> None:
        """Ends the run after its step; a checkpoint is saved."""
        if self._child.poll() is None:
            self._child.send_signal(2)  # SIGINT
        self._child.wait()

    def __enter__(self) -> Finetuning:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()


def finetune(model: PathLike, data: Data, *, out: PathLike, **flags: object) -> Finetuning:
    """for step in quern.finetune("zaya-nano", "chats.jsonl", out="mine", epochs=1): print(step)

    data: files of JSON lines, or rows in the forms that `quern finetune` reads ({"messages": …}, {"prompt": …,
    "completion": …}, {"text": …}). Flags by their names: rank=8 is --rank 8."""
    return Finetuning(model, data, out=out, **flags)


def _files(data: Data, file: Path) -> List[str]:
    if isinstance(data, (str, os.PathLike)):
        return [os.fspath(data)]
    listed = list(data)
    paths = [os.fspath(one) for one in listed if isinstance(one, (str, os.PathLike))]
    if listed and len(paths) == len(listed):
        return paths
    with open(file, "w", encoding="utf-8") as out:
        for one in listed:
            if not isinstance(one, Mapping):
                raise TypeError(f"data: expected files, or rows such as {{'messages': …}}; found {type(one).__name__}")
            out.write(json.dumps(dict(one), ensure_ascii=False) + "\n")
    return [str(file)]
