#!/usr/bin/env python3
"""The official openai and anthropic clients against a running `quern serve`, unmodified.

    quern serve models/zaya-nano --port 8123 --quiet &
    python tools/e2e/sdks.py http://127.0.0.1:8123 zaya-nano

Each check prints a line; the exit code is the number of failures. Answers of a small model are not judged, their form is.
"""
import base64
import json
import struct
import sys

import anthropic
import openai

URL, MODEL = sys.argv[1], sys.argv[2]
oa = openai.OpenAI(base_url=URL + "/v1", api_key="none", max_retries=0)
an = anthropic.Anthropic(base_url=URL, api_key="none", max_retries=0)
ASK = [{"role": "user", "content": "What is 3 + 4?"}]
SCHEMA = {
    "type": "object",
    "properties": {"city": {"enum": ["Oslo", "Rome"]}, "days": {"type": "integer", "minimum": 1, "maximum": 9}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
TOOL = {"type": "function", "function": {"name": "weather", "description": "of a city", "parameters": SCHEMA}}
failures = 0


def check(f):
    global failures
    try:
        f()
        print("ok    ", f.__name__)
    except Exception as e:  # a check fails however it likes
        failures += 1
        print("FAILED", f.__name__, type(e).__name__, str(e)[:300])
    return f


def valid(arguments):
    v = json.loads(arguments) if isinstance(arguments, str) else arguments
    assert v["city"] in ("Oslo", "Rome") and 1 <= v["days"] <= 9, v


@check
def models():
    assert MODEL in [m.id for m in oa.models.list()]
    assert oa.models.retrieve(MODEL).id == MODEL


@check
def chat():
    r = oa.chat.completions.create(model=MODEL, messages=ASK, max_tokens=16, logprobs=True, top_logprobs=2, n=2, seed=1)
    assert len(r.choices) == 2 and r.usage.completion_tokens > 0
    assert len(r.choices[0].logprobs.content[0].top_logprobs) == 2


@check
def chat_stream():
    whole = oa.chat.completions.create(model=MODEL, messages=ASK, max_tokens=24, temperature=0)
    text, usage = "", None
    for c in oa.chat.completions.create(
        model=MODEL, messages=ASK, max_tokens=24, temperature=0, stream=True, stream_options={"include_usage": True}
    ):
        usage = c.usage or usage
        if c.choices:
            text += c.choices[0].delta.content or ""
    assert text == whole.choices[0].message.content, (text, whole.choices[0].message.content)
    assert usage.total_tokens == whole.usage.total_tokens


@check
def chat_tools():
    r = oa.chat.completions.create(model=MODEL, messages=ASK, tools=[TOOL], tool_choice="required", max_tokens=200,
                                   parallel_tool_calls=False)
    m = r.choices[0].message
    assert r.choices[0].finish_reason == "tool_calls" and len(m.tool_calls) == 1
    valid(m.tool_calls[0].function.arguments)
    history = ASK + [m.model_dump(exclude_none=True),
                     {"role": "tool", "tool_call_id": m.tool_calls[0].id, "content": "rain"}]
    assert oa.chat.completions.create(model=MODEL, messages=history, tools=[TOOL], max_tokens=8).choices


@check
def chat_tools_stream():
    with oa.chat.completions.stream(
        model=MODEL, messages=ASK, tools=[TOOL], max_tokens=200, parallel_tool_calls=False,
        tool_choice={"type": "function", "function": {"name": "weather"}},
    ) as s:
        final = s.get_final_completion()
    assert final.choices[0].finish_reason == "tool_calls"
    valid(final.choices[0].message.tool_calls[0].function.arguments)


@check
def chat_schema():
    r = oa.chat.completions.create(
        model=MODEL, messages=ASK, max_tokens=100,
        response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA, "strict": True}},
    )
    valid(r.choices[0].message.content)


@check
def completions():
    r = oa.completions.create(model=MODEL, prompt="What is 3 + 4?", max_tokens=0, echo=True, logprobs=1)
    lp = r.choices[0].logprobs
    assert lp.token_logprobs[0] is None and len(lp.tokens) == len(lp.token_logprobs) > 3
    assert "".join(c.choices[0].text for c in oa.completions.create(model=MODEL, prompt="a", max_tokens=8, stream=True))


@check
def embeddings():
    r = oa.embeddings.create(model=MODEL, input=["one text", "another"])  # asks for base64 by itself
    v = r.data[1].embedding
    assert abs(sum(x * x for x in v) - 1) < 1e-4
    raw = oa.embeddings.with_raw_response.create(model=MODEL, input=["one text", "another"], encoding_format="base64")
    coded = json.loads(raw.text)["data"][1]["embedding"]
    assert max(abs(a - b) for a, b in zip(struct.unpack(f"<{len(v)}f", base64.b64decode(coded)), v)) < 1e-6


@check
def responses():
    r = oa.responses.create(model=MODEL, input="What is 3 + 4?", instructions="Be brief.", max_output_tokens=24)
    assert r.status in ("completed", "incomplete") and r.usage.total_tokens > 0
    assert isinstance(r.output_text, str)
    again = oa.responses.create(model=MODEL, input="And 5 + 6?", previous_response_id=r.id, max_output_tokens=8)
    assert again.previous_response_id == r.id
    assert oa.responses.retrieve(r.id).id == r.id
    oa.responses.delete(r.id)
    try:
        oa.responses.retrieve(r.id)
        raise AssertionError("it is still there")
    except openai.NotFoundError:
        pass


@check
def responses_stream_tools():
    tool = {"type": "function", "name": "weather", "parameters": SCHEMA, "strict": True}
    with oa.responses.stream(model=MODEL, input="?", tools=[tool], tool_choice="required", max_output_tokens=200,
                             parallel_tool_calls=False) as s:
        kinds = [e.type for e in s]
        final = s.get_final_response()
    assert kinds[0] == "response.created" and kinds[-1] == "response.completed", kinds
    calls = [i for i in final.output if i.type == "function_call"]
    valid(calls[0].arguments)


@check
def openai_errors():
    for wrong, kind in [
        (dict(model="nope", messages=ASK), openai.NotFoundError),
        (dict(model=MODEL, messages=ASK, max_tokens=10**7), openai.BadRequestError),
        (dict(model=MODEL, messages=[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]),
         openai.BadRequestError),
    ]:
        try:
            oa.chat.completions.create(**wrong)
            raise AssertionError(wrong)
        except kind as e:
            assert str(e)


@check
def messages():
    r = an.messages.create(model=MODEL, max_tokens=16, messages=ASK, system="Be brief.")
    assert r.type == "message" and r.content[-1].type == "text" and r.usage.output_tokens > 0
    n = an.messages.count_tokens(model=MODEL, messages=ASK, system="Be brief.").input_tokens
    assert n == r.usage.input_tokens + (r.usage.cache_read_input_tokens or 0)


@check
def messages_stream():
    with an.messages.stream(model=MODEL, max_tokens=16, messages=ASK) as s:
        text = "".join(s.text_stream)
        final = s.get_final_message()
    assert final.content[-1].text == text
    assert final.stop_reason in ("max_tokens", "end_turn")


@check
def messages_tools():
    tool = {"name": "weather", "description": "of a city", "input_schema": SCHEMA}
    choice = {"type": "tool", "name": "weather", "disable_parallel_tool_use": True}
    r = an.messages.create(model=MODEL, max_tokens=200, messages=ASK, tools=[tool], tool_choice=choice)
    assert r.stop_reason == "tool_use"
    valid(r.content[0].input)
    with an.messages.stream(model=MODEL, max_tokens=200, messages=ASK, tools=[tool], tool_choice=choice) as s:
        call = s.get_final_message().content[0]
    valid(call.input)
    history = ASK + [{"role": "assistant", "content": [b.model_dump() for b in r.content]},
                     {"role": "user", "content": [{"type": "tool_result", "tool_use_id": r.content[0].id,
                                                   "content": "rain"}]}]
    assert an.messages.create(model=MODEL, max_tokens=8, messages=history, tools=[tool]).content


@check
def anthropic_errors():
    try:
        an.messages.create(model="nope", max_tokens=3, messages=ASK)
        raise AssertionError("answered")
    except anthropic.NotFoundError as e:
        assert e.body["error"]["type"] == "not_found_error"


print(f"{failures} failed")
sys.exit(failures)
