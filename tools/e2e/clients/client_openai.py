"""openai: chat completions and responses, whole and streamed, in all steps of a tool call."""
import openai
from harness import (ANSWER, ANSWERS, BOTH, GREETING, HELLO, KEY, MODEL, PERSON, SCHEMA, THINK, V1, WEATHER, get_weather,
                     same, step)
from pydantic import BaseModel

import json

client = openai.OpenAI(base_url=V1, api_key=KEY, max_retries=0)
TOOL = {"type": "function", "function": {"name": "get_weather", "description": "of a city", "parameters": SCHEMA,
                                         "strict": True}}
FLAT = {"type": "function", "name": "get_weather", "description": "of a city", "parameters": SCHEMA, "strict": True}


class Person(BaseModel):
    name: str
    age: int


def run(calls):
    return [{"role": "tool", "tool_call_id": c.id, "content": get_weather(**json.loads(c.function.arguments))}
            for c in calls]


@step
def models():
    assert {MODEL, "gpt-4o"} <= {m.id for m in client.models.list()}


@step
def chat_with_tool():
    messages = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": WEATHER}]
    first = client.chat.completions.create(model=MODEL, messages=messages, tools=[TOOL]).choices[0]
    same(first.finish_reason, "tool_calls")
    same(first.message.content, "I look it up.")
    messages += [first.message, *run(first.message.tool_calls)]
    last = client.chat.completions.create(model=MODEL, messages=messages, tools=[TOOL])
    same(last.choices[0].message.content, ANSWER)
    assert last.usage.prompt_tokens_details.cached_tokens > 0


@step
def chat_parallel_streamed():
    messages = [{"role": "user", "content": BOTH}]
    with client.chat.completions.stream(model=MODEL, messages=messages, tools=[TOOL]) as s:
        kinds = {e.type for e in s}
        message = s.get_final_completion().choices[0].message
    assert "tool_calls.function.arguments.done" in kinds, kinds
    same(len(message.tool_calls), 2)
    messages += [message.model_dump(exclude_none=True, exclude={"parsed"}), *run(message.tool_calls)]
    text = ""
    for c in client.chat.completions.create(model="gpt-4o", messages=messages, tools=[TOOL], stream=True,
                                            stream_options={"include_usage": True}):
        text += c.choices[0].delta.content or "" if c.choices else ""
    same(text, ANSWERS)


@step
def chat_one_call_alone():
    r = client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": BOTH}], tools=[TOOL],
                                       parallel_tool_calls=False)
    same(len(r.choices[0].message.tool_calls), 1)


@step
def chat_parsed():
    r = client.chat.completions.parse(model=MODEL, messages=[{"role": "user", "content": PERSON}], response_format=Person)
    same(r.choices[0].message.parsed, Person(name="Ada", age=36))


@step
def responses_with_tool():
    first = client.responses.create(model=MODEL, input=WEATHER, tools=[FLAT], instructions="Be brief.")
    calls = [i for i in first.output if i.type == "function_call"]
    outputs = [{"type": "function_call_output", "call_id": c.call_id, "output": get_weather(**json.loads(c.arguments))}
               for c in calls]
    again = client.responses.create(model=MODEL, input=outputs, tools=[FLAT], previous_response_id=first.id)
    same(again.output_text, ANSWER)
    n = client.responses.input_tokens.count(model=MODEL, input=WEATHER, tools=[FLAT], instructions="Be brief.")
    same(n.input_tokens, first.usage.input_tokens)


@step
def responses_streamed():
    with client.responses.stream(model=MODEL, input=BOTH, tools=[FLAT]) as s:
        kinds = [e.type for e in s]
        final = s.get_final_response()
    assert kinds[0] == "response.created" and kinds[-1] == "response.completed", kinds
    same([i.type for i in final.output], ["function_call"] * 2)
    with client.responses.stream(model=MODEL, input=THINK, reasoning={"effort": "low", "summary": "auto"}) as s:
        kinds = {e.type for e in s}
        final = s.get_final_response()
    assert "response.reasoning_summary_text.delta" in kinds, kinds
    same(final.output[0].summary[0].text, "Three and four are seven.")
    same(final.output_text, "Seven.")


@step
def responses_parsed():
    r = client.responses.parse(model=MODEL, input=PERSON, text_format=Person)
    same(r.output_parsed, Person(name="Ada", age=36))


@step
def refusals():
    image = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}]}]
    for wrong, kind, word in [({"messages": image}, openai.BadRequestError, "image_url"),
                              ({"messages": [{"role": "user", "content": HELLO}], "model": "no"}, openai.NotFoundError,
                               "no")]:
        try:
            client.chat.completions.create(**{"model": MODEL, **wrong})
            raise AssertionError("answered")
        except kind as e:
            assert word in str(e), e
    assert client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": HELLO}],
                                          metadata={"a": "b"}, service_tier="auto", user="u",
                                          store=False).choices[0].message.content == GREETING
