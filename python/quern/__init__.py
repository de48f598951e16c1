"""Train, run and serve small language models on CPUs.

    import quern

    with quern.Model("zaya-nano") as model:
        print(model.chat("What is 9 * 44?"))

Model, Session, Encoder, Tokenizer, Index, Memory, train, rl, corpus.rows, corpus.table and corpus.build call libquern.so in
this process; corpus stages, finetune, gym and sandbox run the command quern, which the package has too. docs/python.md is
the guide.
"""

from typing import TYPE_CHECKING, Any, List

from ._library import Error, check, library

if TYPE_CHECKING:
    from . import corpus, gym, sandbox
    from ._arrow import Batch, Table
    from ._command import run as command
    from ._shipped import models
    from .adapter import Adapter
    from .encoder import Encoder, Ranked
    from .finetuning import Finetuning, finetune
    from .memory import Answer, Memory, Turn
    from .model import Model
    from .results import Generation, Piece, Reply, ToolCall, TopToken
    from .sampling import ChatOptions, SamplingOptions
    from .search import Chunk, Index
    from .session import Session, Stream
    from .tokenizer import Tokenizer
    from .training import Trainer, rl, train

# Where the names of the package are defined: a module is loaded when one of its names is first used.
_HOMES = {
    "_arrow": ("Batch", "Table"),
    "_command": ("command",),
    "_shipped": ("models",),
    "adapter": ("Adapter",),
    "encoder": ("Encoder", "Ranked"),
    "finetuning": ("Finetuning", "finetune"),
    "memory": ("Answer", "Memory", "Turn"),
    "model": ("Model",),
    "results": ("Generation", "Piece", "Reply", "ToolCall", "TopToken"),
    "sampling": ("ChatOptions", "SamplingOptions"),
    "search": ("Chunk", "Index"),
    "session": ("Session", "Stream"),
    "tokenizer": ("Tokenizer",),
    "training": ("Trainer", "rl", "train"),
    "corpus": (),
    "gym": (),
    "sandbox": (),
}

__version__: str = library.version().decode()


def set_threads(threads: int) -> None:
    """Threads that computations use [one per core that affinity and cgroup quota allow]. While no model is in use."""
    check(library.set_threads(threads))


__all__ = [
    "Adapter",
    "Answer",
    "Batch",
    "ChatOptions",
    "Chunk",
    "Encoder",
    "Error",
    "Finetuning",
    "Generation",
    "Index",
    "Memory",
    "Model",
    "Piece",
    "Ranked",
    "Reply",
    "SamplingOptions",
    "Session",
    "Stream",
    "Table",
    "Tokenizer",
    "ToolCall",
    "TopToken",
    "Trainer",
    "Turn",
    "__version__",
    "command",
    "corpus",
    "finetune",
    "gym",
    "models",
    "rl",
    "sandbox",
    "set_threads",
    "train",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names or name == home:
            found = import_module("." + home, __name__)
            if name != home:
                found = getattr(found, "run" if name == "command" else name)
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> List[str]:
    return sorted({*globals(), *__all__})
