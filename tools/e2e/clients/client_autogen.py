"""autogen: an assistant agent with a tool, over its OpenAI and Anthropic clients."""
import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_core.models import ModelInfo
from autogen_ext.models.openai import OpenAIChatCompletionClient
from harness import ANSWER, ANSWERS, BOTH, KEY, MODEL, V1, WEATHER, get_weather, same, step

INFO = ModelInfo(vision=False, function_calling=True, json_output=True, family="unknown", structured_output=True)


async def get_weather_async(city: str) -> str:
    """The weather of a city."""
    return get_weather(city)


get_weather_async.__name__ = "get_weather"


def agent(**more):
    client = OpenAIChatCompletionClient(model=MODEL, base_url=V1, api_key=KEY, model_info=INFO, max_retries=0)
    return AssistantAgent("a", model_client=client, tools=[get_weather_async], reflect_on_tool_use=True, **more)


@step
def tool():
    same(asyncio.run(agent().run(task=WEATHER)).messages[-1].content, ANSWER)


@step
def parallel_streamed():
    same(asyncio.run(agent(model_client_stream=True).run(task=BOTH)).messages[-1].content, ANSWERS)
