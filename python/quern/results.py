"""What generate and chat return."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional

from ._library import Error

Message = Dict[str, Any]


class TopToken(NamedTuple):
    """One of the most likely tokens of a position (top_logprobs)."""

    token: int
    text: str
    logprob: float


class ToolCall(NamedTuple):
    """A function that the model calls."""

    id: str
    name: str
    arguments: Any  # the object that the model wrote; its text where that is no JSON


@dataclass(frozen=True)
class Generation:
    """What was generated, and how it went. str() of it is the text."""

    text: str
    tokens: List[int] = field(repr=False)
    logprobs: List[float] = field(repr=False)
    finish: str  # "stop", "length" or "cancelled"
    prompt_tokens: int
    cached_tokens: int  # of the prompt: their state was in the prefix cache
    prompt_seconds: float
    decode_seconds: float
    top_logprobs: List[List[TopToken]] = field(default_factory=list, repr=False)

    def __str__(self) -> str:
        return self.text

    def json(self) -> Any:
        """The text read as JSON, for json_schema."""
        try:
            return json.loads(str(self))
        except ValueError as wrong:
            cut = ": max_tokens ended the answer" if self.finish == "length" else ""
            raise Error(f"the answer is no whole JSON{cut} ({wrong})") from None


@dataclass(frozen=True)
class Reply(Generation):
    """A reply of a chat. str() of it is the content."""

    content: str = ""  # the text without reasoning and tool calls
    reasoning: str = ""  # the text inside <think>
    tool_calls: List[ToolCall] = field(default_factory=list)
    agreement: Optional[float] = None  # of a plan (think="vote:8"): share of the candidates that came to the answer
    message: Message = field(default_factory=dict, repr=False)  # as the OpenAI API has it: to be kept in a list of messages

    def __str__(self) -> str:
        return self.content


def generation_of(result: Mapping[str, Any]) -> Generation:
    return Generation(**_fields(result))


def reply_of(result: Mapping[str, Any], message: Message) -> Reply:
    calls = [
        ToolCall(c["id"], c["function"]["name"], _arguments(c["function"]["arguments"]))
        for c in message.get("tool_calls", [])
    ]
    return Reply(
        **_fields(result),
        content=message["content"],
        reasoning=message.get("reasoning_content", ""),
        tool_calls=calls,
        message=message,
    )


def _fields(result: Mapping[str, Any]) -> Dict[str, Any]:
    names = Generation.__dataclass_fields__
    known = {name: value for name, value in result.items() if name in names}
    known["top_logprobs"] = [[TopToken(**t) for t in at] for at in result.get("top_logprobs", [])]
    return known


def _arguments(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


class Piece(str):
    """A piece of streamed text: whole characters. `kind` is "reasoning" for the text inside <think> of a chat, else
    "content"."""

    kind: str

    def __new__(cls, text: str, kind: str = "content") -> Piece:
        piece = super().__new__(cls, text)
        piece.kind = kind
        return piece


def as_messages(messages: Any) -> List[Message]:
    """A text is one message of the user."""
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    if isinstance(messages, (bytes, Mapping)) or not isinstance(messages, Iterable):
        raise TypeError(f"messages: expected a text or a list of messages, got {type(messages).__name__}")
    listed = list(messages)
    for m in listed:
        if not isinstance(m, Mapping):
            raise TypeError(f"messages: expected {{'role': …, 'content': …}} in the list, found {type(m).__name__}")
    return [dict(m) for m in listed]
