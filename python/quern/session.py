"""Sessions: tokens and messages whose KV cache and recurrent state the model keeps between calls."""

from __future__ import annotations

import ctypes as c
import dataclasses
import json
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Dict, Generator, Generic, Iterable, List, Optional, Sequence, Sized, Type, TypeVar, Union

from ._arrays import Array, as_array, token_buffer
from ._library import Error, Handle, check, encoded, fail, library, read_text
from ._shipped import PathLike
from .results import Generation, Message, Piece, Reply, as_messages, generation_of, reply_of
from .sampling import ChatOptions, Sampling, SamplingOptions, as_json, plan_of, split_setup

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .model import Model

Prompt = Union[str, Sequence[int]]
R = TypeVar("R", bound=Generation)
_ROOM = 1 << 12  # bytes of text that a step may bring at once; more costs a second call


class Stream(Generic[R]):
    """An iterator over the text of a running generation, and a context manager that ends it early; both for `async`, too.

    Streams of one model run in the same batches, whichever is asked for its next piece (continuous batching)."""

    def __init__(self, session: Session, finish: Callable[[Session], R], owned: bool):
        self._session, self._finish, self._owned = session, finish, owned  # owned: nobody else has the session
        self._result: Optional[R] = None
        self._going = True
        self._pieces: List[Piece] = []

    def __iter__(self) -> Stream[R]:
        return self

    def __next__(self) -> Piece:
        pieces = self._pieces
        with self._session._turn:
            while not pieces:
                if not self._going:
                    raise StopIteration
                self._step(pieces)
                if not self._going:
                    self._end()
            return pieces.pop(0)

    @property
    def result(self) -> R:
        """The whole generation; runs it to its end first."""
        with self._session._turn:
            while self._going:
                self._step()
            if self._result is None:
                self._end()
            assert self._result is not None
            return self._result

    def close(self) -> None:
        """Ends the generation within one forward pass. What was generated until then is the `result`."""
        if not self._going or self._session.closed:
            return
        self._session.cancel()
        with self._session._turn:  # a thread that still waits for a piece, of a task that was cancelled, ends first
            if self._going and not self._session.closed:
                while self._going:
                    self._step()
                self._pieces.clear()
                self._end()

    def _step(self, pieces: Optional[List[Piece]] = None) -> None:
        try:
            self._going = self._session._step(pieces, self._finish is Session._reply)
        except Error:
            self._going = False
            self._close_owned()
            raise

    def _end(self) -> None:
        try:
            self._result = self._finish(self._session)
        finally:
            self._close_owned()

    def _close_owned(self) -> None:
        if self._owned:
            self._session.close()

    # ---- In asyncio: each forward pass in a thread of the event loop's executor, which others run beside ----

    def __aiter__(self) -> Stream[R]:
        return self

    async def __anext__(self) -> Piece:
        import asyncio  # here: it takes longer than the rest of the package

        piece = await asyncio.get_running_loop().run_in_executor(None, next, self, None)
        if piece is None:
            raise StopAsyncIteration
        return piece

    def __await__(self) -> Generator[Any, None, R]:
        """The whole generation: reply = await model.chat("Hello", stream=True)."""
        return self._whole().__await__()

    async def _whole(self) -> R:
        import asyncio

        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(None, lambda: self.result)
        except asyncio.CancelledError:
            self._session.cancel()
            raise

    async def __aenter__(self) -> Stream[R]:
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        import asyncio

        await asyncio.get_running_loop().run_in_executor(None, self.close)

    def __enter__(self) -> Stream[R]:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()


class Session(Handle):
    """Tokens that go on: what was computed for them is kept, so that only what is new is read.

    Made by Model.session(). Its state lies in the model's prefix cache, which all sessions share."""

    _what = "session"

    def __init__(self, model: Model, handle: Optional[int] = None):
        self._model = model
        self._buffer = c.create_string_buffer(_ROOM)
        self._turn = threading.RLock()  # of the streams of this session: one thread is in them at a time
        self._ending = threading.RLock()  # while the handle is read without the lock of the model, or given up
        with model._lock:
            whole = model._h  # an Error where it was closed meanwhile
            super().__init__(handle or library.session_new(whole), library.session_free, model._lock)
            model._sessions.add(self)

    @property
    def model(self) -> Model:
        return self._model

    # ---- Tokens ----

    def append(self, text: Prompt) -> int:
        """Appends a text or token ids. Returns the length in tokens. Nothing is computed yet."""
        with self._lock:
            if isinstance(text, str):
                return check(library.session_append(self._h, encoded(text, "text")))
            ids, n = token_buffer(text)
            return check(library.session_append_tokens(self._h, ids, n))

    def __len__(self) -> int:
        with self._lock:
            return check(library.session_length(self._h))

    @property
    def tokens(self) -> List[int]:
        with self._lock:
            n = check(library.session_length(self._h))
            ids = (c.c_int32 * max(1, n))()
            check(library.session_tokens(self._h, ids, n))
            return ids[:n]

    def prefill(self) -> int:
        """Computes the state of all tokens now. Returns how many were not in the cache."""
        with self._lock:
            return check(library.session_prefill(self._h))

    def logits(self) -> Array:
        """Logits after the last token."""
        with self._lock:
            n = check(library.vocab_size(self._model._h))
            buffer = (c.c_float * n)()
            check(library.session_logits(self._h, buffer, n))
            return as_array(buffer, (n,))

    def fork(self) -> Session:
        """A session that goes on from here on its own; it shares what was computed."""
        with self._lock:
            handle = library.session_fork(self._h)
            if not handle:
                raise fail()
        return Session(self._model, handle)

    def reset(self) -> None:
        """Forgets tokens and messages."""
        with self._lock:
            library.session_reset(self._h)

    def save(self, file: PathLike) -> None:
        """Writes tokens, messages and state to a file, readable by its owner only."""
        with self._lock:
            check(library.session_save(self._h, encoded(file, "file")))

    def load(self, file: PathLike) -> None:
        """Replaces the session by a saved one, of the same model."""
        with self._lock:
            check(library.session_load(self._h, encoded(file, "file")))

    # ---- Generation ----

    def generate(self, prompt: Prompt = "", **options: Unpack[SamplingOptions]) -> Generation:
        """Appends the prompt, continues the session and appends what was generated."""
        return self._whole(self._begin(prompt, options, False))

    def stream(self, prompt: Prompt = "", **options: Unpack[SamplingOptions]) -> Stream[Generation]:
        """generate, piece by piece."""
        return self._begin(prompt, options, False)

    # ---- Chat ----

    def add(self, role: str, content: str) -> int:
        """Appends a message; role: "system", "user", "assistant" or "tool". Returns their number."""
        with self._lock:
            return check(library.chat_add(self._h, encoded(role, "role"), encoded(content, "content")))

    @property
    def messages(self) -> List[Message]:
        """The messages, in the form of the OpenAI API. May be set."""
        with self._lock:
            listed: List[Message] = json.loads(read_text(library.chat_messages, self._h))
            return listed

    @messages.setter
    def messages(self, messages: Union[str, Iterable[Message]]) -> None:
        with self._lock:
            check(library.chat_set(self._h, encoded(json.dumps(as_messages(messages)), "messages")))

    def reply(self, content: Optional[str] = None, **options: Unpack[ChatOptions]) -> Reply:
        """Appends `content` as a message of the user, if given, and the reply of the model. Only what is new is read."""
        return self._reply_to(content, dict(options))

    def stream_reply(self, content: Optional[str] = None, **options: Unpack[ChatOptions]) -> Stream[Reply]:
        """reply, piece by piece."""
        return self._begin_reply(content, dict(options), False)

    def cancel(self) -> None:
        """Ends the generation that is running, within one forward pass. May be called from any thread."""
        with self._ending:
            if self._handle is not None:
                library.session_cancel(self._handle)

    # ---- Inside ----

    def _begin(self, prompt: Prompt, options: Any, owned: bool) -> Stream[Generation]:
        if isinstance(prompt, bytes) or not isinstance(prompt, Sized):
            raise TypeError(f"prompt: expected a text or token ids, got {type(prompt).__name__}")
        if len(prompt) > 0:
            self.append(prompt)
        with self._lock:
            self._start(library.session_start, options)
        return Stream(self, Session._generation, owned)

    def _reply_to(self, content: Optional[str], options: Dict[str, Any]) -> Reply:
        plan = plan_of(options)
        if plan is None:
            return self._whole(self._begin_reply(content, options, False))
        setup = split_setup(options)
        agreement = c.c_double()
        with self._lock:
            self._set_up(setup, content)
            sampling = Sampling(self._model, options)
            try:
                check(library.chat_think(self._h, encoded(plan, "think"), sampling.handle, c.byref(agreement)))
            finally:
                sampling.free()
        return dataclasses.replace(self._reply(), agreement=agreement.value)

    def _set_up(self, setup: Dict[str, Any], content: Optional[str]) -> None:
        check(library.chat_setup(self._h, encoded(as_json(setup, "tools"), "tools")))
        if content is not None:
            check(library.chat_add(self._h, b"user", encoded(content, "content")))

    def _begin_reply(self, content: Optional[str], options: Dict[str, Any], owned: bool) -> Stream[Reply]:
        if plan_of(options) is not None:
            raise Error("think: a plan has no reply before its end, so that it cannot be streamed: leave out stream=True")
        setup = split_setup(options)
        with self._lock:
            self._set_up(setup, content)
            self._start(library.chat_start, options)
        return Stream(self, Session._reply, owned)

    def _start(self, function: Callable[..., int], options: Any) -> None:
        self._model._free_left()
        sampling = Sampling(self._model, options)
        try:
            check(function(self._h, sampling.handle))
        finally:
            sampling.free()

    def _whole(self, stream: Stream[R]) -> R:
        """To the end. An interrupt, which Python takes between two forward passes, cancels."""
        try:
            return stream.result
        except BaseException:
            stream.close()
            raise

    def _step(self, pieces: Optional[List[Piece]], chat: bool) -> bool:
        """One forward pass. Adds what text it brought to the pieces, if they are given."""
        with self._lock:
            handle = self._h
            self._model._free_left()
            going = library.session_step(handle)
            if going < 0:
                raise fail()
            if pieces is not None:
                if chat:
                    self._take(library.session_reasoning, handle, pieces, "reasoning")
                self._take(library.session_text, handle, pieces, "content")
        return bool(going > 0)

    def _take(self, function: Callable[..., int], handle: int, pieces: List[Piece], kind: str) -> None:
        n = function(handle, self._buffer, _ROOM)
        if n <= 0:
            check(n)
        elif n < _ROOM:
            pieces.append(Piece(c.string_at(self._buffer, n).decode("utf-8", "replace"), kind))
        else:
            pieces.append(Piece(read_text(function, handle, room=n + 1), kind))

    def _generation(self) -> Generation:
        with self._lock:
            return generation_of(json.loads(read_text(library.session_result, self._h)))

    def _reply(self) -> Reply:
        with self._lock:
            result = json.loads(read_text(library.session_result, self._h))
            return reply_of(result, json.loads(read_text(library.chat_message, self._h)))

    def _release(self) -> None:
        with self._ending:
            handle, self._handle = self._handle, None
        if handle is not None:
            self._free(handle)

    def _forked(self) -> None:
        self._turn, self._ending = threading.RLock(), threading.RLock()
        super()._forked()

    def _collect(self) -> None:
        # Another thread may be in the model: the handle is freed, and what it runs ended, by the next call that computes.
        handle, self._handle = self._handle, None
        if handle is not None and not self._model.closed:
            self._model._left.append(handle)
