"""Train, run and serve small language models on CPUs.

    import quern

    with quern.Model("zaya-nano") as model:
        print(model.chat("What is 9 * 44?"))

Model, Session, Encoder, Tokenizer, Index, Memory, train, rl, corpus.rows, corpus.table and corpus.build call libquern.so in
this process; corpus stages, finetune, gym and sandbox run the command quern, which the package has too. docs/python.md is
the guide.
"""

from . import corpus, gym, sandbox
from ._arrow import Batch, Table
from ._command import run as command
from ._library import Error, check, library
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
