"""semantic-kernel: automatic function calling in a chat completion agent."""
import asyncio

from harness import ANSWER, KEY, MODEL, V1, WEATHER, same, step
from harness import get_weather as weather
from openai import AsyncOpenAI
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.functions import kernel_function


class Plugin:
    @kernel_function(name="get_weather", description="The weather of a city")
    def get_weather(self, city: str) -> str:
        return weather(city)


@step
def service_answers():
    service = OpenAIChatCompletion(ai_model_id=MODEL, async_client=AsyncOpenAI(base_url=V1, api_key=KEY))
    agent = ChatCompletionAgent(service=service, name="a", instructions="Be brief.")
    r = asyncio.run(agent.get_response(messages="Say hello."))
    same(str(r), "Hello from the script, word by word.")
