"""A language model: generation, chat, embeddings, logits, scores, and its tokenizer."""

from __future__ import annotations

import ctypes as c
import json
import os
import weakref
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Literal, Optional, Sequence, Union, overload

from ._arrays import Array, as_array, token_buffer
from ._arrow import column_of, is_arrow
from ._library import Error, Handle, check, encoded, library, read_text
from ._shipped import PathLike, model_folder, models
from .adapter import Adapter
from .results import Generation, Message, Reply, as_messages
from .sampling import ChatOptions, SamplingOptions
from .session import Prompt, Session, Stream
from .tokenizer import decode, encode

if TYPE_CHECKING:
    from typing_extensions import Unpack

Messages = Union[str, Iterable[Message]]


class Model(Handle):
    """Loads a model folder, a quantized folder, a .gguf file, or a model that comes with the package by its name.

        with quern.Model("zaya-nano") as model:
            print(model.chat("What is 9 * 44?"))

    format: of the weights in memory: "f32" or "bf16", or quantized at load: "q8", "q4" or "q8a8". The others as in
    docs/embed.md. Threads may call a model at once: its steps serve their generations in one batch (continuous
    batching), whose rounding depends on its size. exact=True gives every call the same tokens whatever runs beside."""

    _what = "model"

    def __init__(
        self,
        path: PathLike,
        *,
        format: str = "bf16",
        head: Optional[str] = None,
        kv: Optional[str] = None,
        adapter: Optional[PathLike] = None,
        cache_mib: Optional[int] = None,
        max_seqs: Optional[int] = None,
        state_mib: Optional[int] = None,
        exact: bool = False,
    ):
        self.path = model_folder(path)
        if not os.path.exists(self.path):
            raise Error(f"no model at '{self.path}': expected a folder, a .gguf file or one of {', '.join(models())}")
        given = {
            "format": format,
            "head": head,
            "kv": kv,
            "adapter": adapter and os.fspath(adapter),
            "cache_mib": cache_mib,
            "max_seqs": max_seqs,
            "state_mib": state_mib,
            "exact": exact or None,
        }
        options = json.dumps({k: v for k, v in given.items() if v is not None})
        self._sessions: weakref.WeakSet[Session] = weakref.WeakSet()
        self._adapters: Dict[str, Adapter] = {}  # those that calls named by their folders
        self._all_adapters: weakref.WeakSet[Adapter] = weakref.WeakSet()
        self._left: List[int] = []  # handles of sessions that were collected
        super().__init__(library.load_with(encoded(self.path, "path"), encoded(options, "options")), library.free)

    # ---- Text and tokens ----

    @property
    def vocab_size(self) -> int:
        """Rows of the LM head, padding included."""
        return check(library.vocab_size(self._h))

    @property
    def max_positions(self) -> int:
        """Context length in tokens."""
        return check(library.max_positions(self._h))

    def tokenize(self, text: str, *, add_special: bool = False) -> List[int]:
        """Token ids of a text. add_special: with what the tokenizer puts around one (<bos>)."""
        with self._lock:
            return encode(library.tokenize, self._h, text, add_special)

    def detokenize(self, ids: Iterable[int]) -> str:
        """Text of token ids, without special tokens."""
        with self._lock:
            return decode(library.detokenize, self._h, ids)

    def chat_prompt(self, messages: Messages, **context: Any) -> str:
        """Messages as the chat template renders them, up to where the reply begins. context: further names the template
        asks for."""
        given = encoded(json.dumps(as_messages(messages)), "messages")
        with self._lock:
            return read_text(library.chat_prompt, self._h, given, encoded(json.dumps(context), "context"))

    # ---- Generation ----

    def session(self) -> Session:
        """An empty session, which keeps its tokens and their state between calls."""
        with self._lock:
            self._free_left()
        return Session(self)

    @overload
    def generate(
        self, prompt: Prompt, *, stream: Literal[False] = False, **options: Unpack[SamplingOptions]
    ) -> Generation: ...
    @overload
    def generate(
        self, prompt: Prompt, *, stream: Literal[True], **options: Unpack[SamplingOptions]
    ) -> Stream[Generation]: ...
    def generate(
        self, prompt: Prompt, *, stream: bool = False, **options: Unpack[SamplingOptions]
    ) -> Union[Generation, Stream[Generation]]:
        """Continues a prompt, a text or token ids. With stream=True, an iterator over pieces of text."""
        session = self.session()
        try:
            running = session._begin(prompt, options, True)
            return running if stream else session._whole(running)
        except BaseException:
            session.close()
            raise

    @overload
    def chat(
        self, messages: Messages, *, stream: Literal[False] = False, **options: Unpack[ChatOptions]
    ) -> Reply: ...
    @overload
    def chat(self, messages: Messages, *, stream: Literal[True], **options: Unpack[ChatOptions]) -> Stream[Reply]: ...
    def chat(
        self, messages: Messages, *, stream: bool = False, **options: Unpack[ChatOptions]
    ) -> Union[Reply, Stream[Reply]]:
        """Replies to messages, a list as the OpenAI API has it or the text of a user. tools, tool_choice and the like are
        those of that API as well. With stream=True, an iterator over pieces of text.

        Nothing is kept but the prefix cache, so that a conversation that grows by a turn is not read again."""
        session = self.session()
        try:
            session.messages = messages
            if stream:
                return session._begin_reply(None, dict(options), True)
            with session:
                return session._reply_to(None, dict(options))
        except BaseException:
            session.close()
            raise

    # ---- Adapters ----

    def adapter(self, path: PathLike) -> Adapter:
        """Loads a LoRA adapter (PEFT) for the option `lora` of calls; the model's weights stay as they are. Calls with other
        adapters, and without, run in the same batch."""
        return Adapter(self, path)

    def _adapter(self, lora: Union[Adapter, PathLike]) -> Adapter:
        """The adapter, or the one of a folder, which is read once. The lock is held."""
        if isinstance(lora, Adapter):
            return lora
        name = os.path.abspath(os.fspath(lora))
        if name not in self._adapters:
            self._adapters[name] = Adapter._of(self, lora)
        return self._adapters[name]

    # ---- Numbers ----

    def logits(self, tokens: Prompt) -> Array:
        """Logits after each token of a text or of token ids, computed from an empty state: n × vocab_size floats."""
        ids, n = token_buffer(self._ids(tokens))
        with self._lock:
            size = check(library.logits(self._h, ids, n, None, 0))
            buffer = (c.c_float * max(1, size))()
            check(library.logits(self._h, ids, n, buffer, size))
            return as_array(buffer if size else (c.c_float * 0)(), (n, size // n if n else 0))

    def score(self, tokens: Prompt) -> Array:
        """Log-probability of each token from the second on, given those before it."""
        ids, n = token_buffer(self._ids(tokens))
        with self._lock:
            buffer = (c.c_double * max(1, n - 1))()
            return as_array(buffer, (check(library.score(self._h, ids, n, buffer, max(0, n - 1))),))

    @overload
    def embed(self, text: str) -> Array: ...
    @overload
    def embed(self, text: Union[Sequence[str], Any], *, column: Optional[str] = None) -> Array: ...
    def embed(self, text: Union[str, Sequence[str], Any], *, column: Optional[str] = None) -> Array:
        """Embedding of a text, of length 1; of a list of texts, or of a column of a table in memory, one row each."""
        texts = column_of(text, column) if is_arrow(text) else [text] if isinstance(text, str) else list(text)
        if not texts:
            raise ValueError("text: expected at least one")
        given = [encoded(t, "text") for t in texts]
        with self._lock:
            width = check(library.embed(self._h, given[0], None, 0))
            buffer = (c.c_float * (width * len(given)))()
            for i, one in enumerate(given):
                check(library.embed(self._h, one, c.byref(buffer, 4 * width * i), width))
        return as_array(buffer, (width,) if isinstance(text, str) else (len(given), width))

    # ---- Inside ----

    def _ids(self, tokens: Prompt) -> Sequence[int]:
        return self.tokenize(tokens, add_special=True) if isinstance(tokens, str) else tokens

    def _free_left(self) -> None:
        """Frees the sessions that were collected, with what they were generating. The lock is held."""
        while self._left:
            library.session_free(self._left.pop())

    def _release(self) -> None:
        for part in [*self._sessions, *self._all_adapters]:
            part._release()
        self._free_left()
        super()._release()
