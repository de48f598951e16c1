"""Train, run and serve small language models on CPUs.

    import quern

    with quern.Model("zaya-nano") as model:
        print(model.chat("What is 9 * 44?"))

Model, Session, Tokenizer, Index, Memory, train and corpus.build call libquern.so in this process; corpus stages, gym
and sandbox run the command quern, which the package has too. docs/python.md is the guide.
"""

from . import corpus, gym, sandbox
from ._command import run as command
from ._library import Error, check, library
from ._shipped import models
from .model import Model
from .results import Generation, Piece, Reply, ToolCall, TopToken
from .sampling import ChatOptions, SamplingOptions
from .search import Chunk, Index, Memory, Turn
from .session import Session, Stream
from .tokenizer import Tokenizer
from .training import Trainer, train

__version__: str = library.version().decode()


def set_threads(threads: int) -> None:
    """Threads that computations use [one per core that affinity and cgroup quota allow]. While no model is in use."""
    check(library.set_threads(threads))


__all__ = [
    "ChatOptions",
    "Chunk",
    "Error",
    "Generation",
    "Index",
    "Memory",
    "Model",
    "Piece",
    "Reply",
    "SamplingOptions",
    "Session",
    "Stream",
    "Tokenizer",
    "ToolCall",
    "TopToken",
    "Trainer",
    "Turn",
    "__version__",
    "command",
    "corpus",
    "gym",
    "models",
    "sandbox",
    "set_threads",
    "train",
]
