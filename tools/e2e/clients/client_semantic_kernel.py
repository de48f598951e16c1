"""semantic-kernel: automatic function calling in a chat completion agent."""
import asyncio

from harness import ANSWER, GREETING, HELLO, KEY, MODEL, V1, same, step
from harness import get_weather as weather
from openai import AsyncOpenAI
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.functions import kernel_function


class Plugin:
    @kernel_function(name="get_weather", description="The weather of a city")
    def get_weather(self, city: str) -> str:
        return weather(city)


def agent():
    service = OpenAIChatCompletion(ai_model_id=MODEL, async_client=AsyncOpenAI(base_url=V1, api_key=KEY, max_retries=0))
    return ChatCompletionAgent(service=service, name="a", instructions="Be brief.", plugins=[Plugin()])


@step
def tool():
    same(str(asyncio.run(agent().get_response(messages="What is the weather in Narvik?"))), ANSWER)


@step
def streamed():
    async def run():
        return "".join([str(c.message) async for c in agent().invoke_stream(messages=HELLO)])

    same(asyncio.run(run()), GREETING)
