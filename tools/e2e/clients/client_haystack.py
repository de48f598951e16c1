"""haystack: a chat generator, and an agent with a tool."""
from harness import ANSWER, GREETING, HELLO, KEY, MODEL, SCHEMA, V1, WEATHER, get_weather, same, step
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator, OpenAIResponsesChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import Tool
from haystack.utils import Secret

weather = Tool(name="get_weather", description="of a city", parameters=SCHEMA, function=get_weather)


def generator(kind=OpenAIChatGenerator, **more):
    return kind(api_key=Secret.from_token(KEY), model=MODEL, api_base_url=V1, max_retries=0, **more)


@step
def chat():
    same(generator().run([ChatMessage.from_user(HELLO)])["replies"][0].text, GREETING)


@step
def streamed():
    pieces = []
    generator(streaming_callback=lambda c: pieces.append(c.content)).run([ChatMessage.from_user(HELLO)])
    same("".join(pieces), GREETING)


@step
def agent():
    r = Agent(chat_generator=generator(), tools=[weather]).run(messages=[ChatMessage.from_user(WEATHER)])
    same(r["messages"][-1].text, ANSWER)


@step
def responses_agent():
    a = Agent(chat_generator=generator(OpenAIResponsesChatGenerator), tools=[weather])
    same(a.run(messages=[ChatMessage.from_user(WEATHER)])["messages"][-1].text, ANSWER)
