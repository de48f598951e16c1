"""anthropic: messages whole and streamed in all steps of a tool call, its tool runner, counts, prefill, refusals."""
import anthropic
from anthropic import beta_tool
from harness import ANSWER, ANSWERS, BOTH, HELLO, KEY, MODEL, PERSON, SCHEMA, THINK, URL, WEATHER, get_weather, same, step

client = anthropic.Anthropic(base_url=URL, api_key=KEY, max_retries=0)
TOOL = {"name": "get_weather", "description": "of a city", "input_schema": SCHEMA}


def ask(text):
    return [{"role": "user", "content": text}]


def results(content):
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": b.id, "content": get_weather(**b.input)}
                                        for b in content if b.type == "tool_use"]}


@step
def models():
    assert "claude-sonnet-4-5" in [m.id for m in client.models.list()]


@step
def tool():
    arguments = {"model": "claude-sonnet-4-5", "max_tokens": 500, "tools": [TOOL],
                 "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]}
    first = client.messages.create(messages=ask(WEATHER), **arguments)
    same(first.stop_reason, "tool_use")
    counted = client.messages.count_tokens(messages=ask(WEATHER), **{k: v for k, v in arguments.items() if k != "max_tokens"})
    same(counted.input_tokens, first.usage.input_tokens + first.usage.cache_read_input_tokens)
    last = client.messages.create(
        messages=[*ask(WEATHER), {"role": "assistant", "content": first.content}, results(first.content)], **arguments)
    same(last.content[0].text, ANSWER)
    same(last.stop_reason, "end_turn")
    assert last.usage.cache_read_input_tokens > 0


@step
def parallel_streamed():
    with client.messages.stream(model=MODEL, max_tokens=500, tools=[TOOL], messages=ask(BOTH)) as s:
        kinds = [e.type for e in s]
        first = s.get_final_message()
    assert "input_json" in kinds and "content_block_stop" in kinds, kinds
    same([b.input["city"] for b in first.content if b.type == "tool_use"], ["Oslo", "Rome"])
    with client.messages.stream(model=MODEL, max_tokens=500, tools=[TOOL], messages=[
            *ask(BOTH), {"role": "assistant", "content": first.content}, results(first.content)]) as s:
        same("".join(s.text_stream), ANSWERS)


@step
def one_call_alone():
    r = client.messages.create(model=MODEL, max_tokens=500, tools=[TOOL], messages=ask(BOTH),
                               tool_choice={"type": "auto", "disable_parallel_tool_use": True})
    same(sum(b.type == "tool_use" for b in r.content), 1)


@step
def thinking_streamed():
    with client.messages.stream(model=MODEL, max_tokens=2000, messages=ask(THINK),
                                thinking={"type": "enabled", "budget_tokens": 1024}) as s:
        kinds = {e.type for e in s}
        m = s.get_final_message()
    assert {"thinking", "signature"} <= kinds, kinds
    same((m.content[0].thinking, m.content[1].text), ("Three and four are seven.", "Seven."))
    assert m.content[0].signature
    again = client.messages.create(model=MODEL, max_tokens=99, messages=[
        *ask(THINK), {"role": "assistant", "content": m.content}, *ask(HELLO)])
    assert again.content[0].text.startswith("Hello")


@step
def prefill():
    r = client.messages.create(model=MODEL, max_tokens=99,
                               messages=[*ask(PERSON), {"role": "assistant", "content": '{"name":'}])
    same(r.content[0].text, ' "Ada", "age": 36}')


@step
def stop_sequence():
    r = client.messages.create(model=MODEL, max_tokens=99, messages=ask(HELLO), stop_sequences=["script"])
    same((r.stop_reason, r.stop_sequence, r.content[0].text), ("stop_sequence", "script", "Hello from the "))


@step
def tool_runner():
    @beta_tool
    def get_weather_tool(city: str) -> str:
        """The weather of a city.

        Args:
            city: its name
        """
        return get_weather(city)

    get_weather_tool.name = "get_weather"
    runner = client.beta.messages.tool_runner(model=MODEL, max_tokens=500, tools=[get_weather_tool], messages=ask(WEATHER))
    same(runner.until_done().content[0].text, ANSWER)


@step
def refusals():
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}
    try:
        client.messages.create(model=MODEL, max_tokens=9, messages=ask([image]))
        raise AssertionError("answered")
    except anthropic.BadRequestError as e:
        assert "image" in str(e) and e.body["error"]["type"] == "invalid_request_error"
    try:
        client.messages.create(model=MODEL, max_tokens=9, messages=ask("x"),
                               tools=[{"type": "bash_20250124", "name": "bash"}])
        raise AssertionError("answered")
    except anthropic.BadRequestError as e:
        assert "bash_20250124" in str(e)
