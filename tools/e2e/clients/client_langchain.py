"""langchain-openai and langchain-anthropic: bound tools, structured output, streams, token counts."""
from harness import ANSWER, BOTH, GREETING, HELLO, KEY, MODEL, PERSON, THINK, URL, V1, WEATHER, get_weather, same, step
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAI
from pydantic import BaseModel

weather = tool(get_weather)


class Person(BaseModel):
    """A person."""

    name: str
    age: int


def chat(**more):
    return ChatOpenAI(model=MODEL, base_url=V1, api_key=KEY, max_retries=0, **more)


claude = ChatAnthropic(model=MODEL, base_url=URL, api_key=KEY, max_retries=0, max_tokens=500)


def task(model):
    bound, messages = model.bind_tools([weather]), [HumanMessage(WEATHER)]
    first = bound.invoke(messages)
    messages.append(first)
    for c in first.tool_calls:
        messages.append(ToolMessage(weather.invoke(c["args"]), tool_call_id=c["id"]))
    last = bound.invoke(messages)
    same(last.text if isinstance(last.text, str) else last.text(), ANSWER)
    assert last.usage_metadata["input_token_details"]["cache_read"] > 0, last.usage_metadata


@step
def openai_chat():
    task(chat())


@step
def openai_responses():
    task(chat(use_responses_api=True))


@step
def anthropic_messages():
    task(claude)


@step
def structured_output():
    for method in ("json_schema", "function_calling"):
        text = PERSON if method == "json_schema" else "Call for the person Ada, 36."
        same(chat().with_structured_output(Person, method=method).invoke(text), Person(name="Ada", age=36))
    same(claude.with_structured_output(Person).invoke("Call for the person Ada, 36."), Person(name="Ada", age=36))


@step
def streams():
    same("".join(c.text if isinstance(c.text, str) else c.text() for c in chat().stream(HELLO)), GREETING)
    same("".join(c.text if isinstance(c.text, str) else c.text() for c in claude.stream(HELLO)), GREETING)
    whole = None
    for c in chat(stream_usage=True).bind_tools([weather]).stream(BOTH):
        whole = c if whole is None else whole + c
    same([c["args"]["city"] for c in whole.tool_calls], ["Oslo", "Rome"])


@step
def thinking():
    m = ChatAnthropic(model=MODEL, base_url=URL, api_key=KEY, max_retries=0, max_tokens=2000,
                      thinking={"type": "enabled", "budget_tokens": 1024}).invoke(THINK)
    same(m.content[0]["thinking"], "Three and four are seven.")


@step
def completions():
    assert OpenAI(model=MODEL, base_url=V1, api_key=KEY, max_retries=0, max_tokens=4).invoke("a") is not None
