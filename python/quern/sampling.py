"""Generation options by name, and the C object that holds them during a call."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Sequence, TypedDict, Union

from ._library import Error, check, encoded, fail, library
from .adapter import Lora, scaled

if TYPE_CHECKING:
    from .model import Model

JsonSchema = Union[str, Mapping[str, Any], type]  # its text, the schema, or a class of Pydantic


class SamplingOptions(TypedDict, total=False):
    """Options of generate, chat and the like. What is not given is as the model's generation_config.json says; without
    one, decoding is greedy."""

    max_tokens: int  # maximum number of tokens to generate [256]
    temperature: float  # 0 is greedy decoding
    top_k: int
    top_p: float
    min_p: float
    typical_p: float
    top_n_sigma: float
    xtc_probability: float
    xtc_threshold: float
    repetition_penalty: float
    presence_penalty: float
    frequency_penalty: float
    dry_multiplier: float
    dry_base: float
    dry_allowed_length: int
    dry_penalty_last_n: int
    dry_sequence_breakers: Union[str, Sequence[str]]
    logit_bias: Mapping[int, float]  # added to the logits of tokens
    samplers: Union[str, Sequence[str]]  # order of the sampling steps
    seed: int  # same seed, same text [0]
    stop: Union[str, Sequence[str]]  # text that ends the output and is not part of it
    ignore_eos: bool  # end-of-sequence tokens do not end the output
    response_prefix: str  # text that the output starts with
    speculative: str  # "none", "ngram" or "ngram:8"
    top_logprobs: int  # report the N most likely tokens of every position
    json_schema: JsonSchema  # the output is JSON that follows this schema
    regex: str  # the output matches this regular expression
    grammar: str  # the output follows this GBNF grammar
    lora: Lora  # LoRA adapters of this call: one, several, or {adapter: factor}; an adapter is a folder or Model.adapter()


class ChatOptions(SamplingOptions, total=False):
    """Options of a reply: those of generate, and what the chat template is given, in the form of the OpenAI API."""

    tools: Sequence[Dict[str, Any]]  # functions that the model may call
    tool_choice: Union[str, Dict[str, Any]]  # "auto", "none", "required" or a named function
    parallel_tool_calls: bool
    chat_template_kwargs: Dict[str, Any]  # further names the chat template asks for: {"enable_thinking": False}
    reasoning_effort: str
    thinking_budget: int  # tokens of thinking, after which it is closed and the answer begins
    # False, True: whether to think, for templates that can choose. A number: thinking_budget. A plan of test-time compute:
    # "vote:8", "mrsa:8x2x2".
    think: Union[bool, int, str]


_SETUP = sorted(set(ChatOptions.__annotations__) - set(SamplingOptions.__annotations__) - {"think"})
_CONSTRAINTS = ("json_schema", "regex", "grammar")
_REPEATED = ("stop", "dry_sequence_breakers")  # every call of quern_sampling_set adds one


def as_json(value: object, name: str) -> str:
    try:
        return json.dumps(value)
    except (TypeError, ValueError) as e:
        raise TypeError(f"{name}: cannot be written as JSON: {e}") from None


def _value(name: str, value: object) -> str:
    if name == "json_schema" and not isinstance(value, str):
        schema_of = getattr(value, "model_json_schema", None)
        return as_json(schema_of() if schema_of else value, name)
    if name == "logit_bias" and isinstance(value, Mapping):
        return ",".join(f"{int(token)}={float(bias)!r}" for token, bias in value.items())
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    if name == "samplers" and isinstance(value, Sequence):
        return ",".join(str(v) for v in value)
    raise TypeError(f"{name}: cannot use a value of type {type(value).__name__}")


class Sampling:
    """The options of one call. The lock of the model is held from making it to its free()."""

    def __init__(self, model: Model, options: Mapping[str, Any]):
        self.handle = library.sampling_new(model._h)
        if not self.handle:
            raise fail()
        try:
            given = [name for name in _CONSTRAINTS if options.get(name) is not None]
            if len(given) > 1:
                raise Error(f"{given[0]} and {given[1]}: the output can follow one of them")
            for name, value in options.items():
                if name == "lora":
                    self._choose(model, value)
                else:
                    self._set(name, value)
        except BaseException:
            self.free()
            raise

    def _set(self, name: str, value: Any) -> None:
        if value is None:
            return
        many: List[Any] = [value]
        if name in _REPEATED and not isinstance(value, str):
            if not isinstance(value, Iterable):
                raise TypeError(f"{name}: expected a text or a list of texts, got {type(value).__name__}")
            many = list(value)
        for one in many:
            check(library.sampling_set(self.handle, encoded(name, "option"), encoded(_value(name, one), name)))

    def _choose(self, model: Model, lora: Optional[Lora]) -> None:
        for adapter, factor in scaled(lora) if lora is not None else ():
            check(library.sampling_adapter(self.handle, model._adapter(adapter)._h, float(factor)))

    def free(self) -> None:
        library.sampling_free(self.handle)


def split_setup(options: Dict[str, Any]) -> Dict[str, Any]:
    """Takes what concerns the chat template out of the options of a chat."""
    found = {name: options.pop(name) for name in _SETUP if name in options}
    think = options.pop("think", None)
    if isinstance(think, bool):
        found["chat_template_kwargs"] = {**(found.get("chat_template_kwargs") or {}), "enable_thinking": think}
    elif isinstance(think, int):
        found["thinking_budget"] = think
    elif think is not None:
        raise TypeError(f"think: expected True, False, a number of tokens or a plan, got {type(think).__name__}")
    return {name: value for name, value in found.items() if value is not None}


def plan_of(options: Dict[str, Any]) -> Optional[str]:
    """Takes a plan of test-time compute out of the options of a chat."""
    think = options.get("think")
    if not isinstance(think, str):
        return None
    del options["think"]
    return think
