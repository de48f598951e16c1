"""pydantic-ai: a tool and a typed result over Chat Completions, Responses and Messages, streamed."""
import asyncio

from harness import ANSWER, BERGEN, KEY, MODEL, PERSON, THINK, URL, V1, WEATHER, get_weather, same, step
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

provider = OpenAIProvider(base_url=V1, api_key=KEY)
chat, responses = OpenAIChatModel(MODEL, provider=provider), OpenAIResponsesModel(MODEL, provider=provider)
messages = AnthropicModel(MODEL, provider=AnthropicProvider(api_key=KEY, base_url=URL))


class Weather(BaseModel):
    city: str
    degrees: int


class Person(BaseModel):
    name: str
    age: int


def task(model):
    same(Agent(model, tools=[get_weather]).run_sync(WEATHER).output, ANSWER)
    same(Agent(model, tools=[get_weather], output_type=Weather).run_sync(BERGEN).output, Weather(city="Bergen", degrees=7))


@step
def chat_completions():
    task(chat)


@step
def responses_api():
    task(responses)


@step
def anthropic_messages():
    task(messages)


@step
def native_output():
    for model in (chat, responses):
        same(Agent(model, output_type=NativeOutput(Person)).run_sync(PERSON).output, Person(name="Ada", age=36))


@step
def streamed():
    async def run(model):
        async with Agent(model, tools=[get_weather]).run_stream(WEATHER) as r:
            return await r.get_output()

    for model in (chat, responses, messages):
        assert asyncio.run(run(model)) in (ANSWER, "I look it up."), model


@step
def thinking():
    r = Agent(chat).run_sync(THINK)
    same(r.output, "Seven.")
