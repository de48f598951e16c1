"""agno: an agent with a tool over its OpenAI-like, Responses and Claude models."""
from agno.agent import Agent
from agno.models.openai.like import OpenAILike
from harness import ANSWER, ANSWERS, BOTH, KEY, MODEL, V1, WEATHER, get_weather, same, step


def agent():
    return Agent(model=OpenAILike(id=MODEL, base_url=V1, api_key=KEY), tools=[get_weather], telemetry=False)


@step
def tool():
    assert agent().run(WEATHER).content.endswith(ANSWER)


@step
def parallel_streamed():
    text = "".join(e.content or "" for e in agent().run(BOTH, stream=True) if isinstance(getattr(e, "content", None), str))
    assert ANSWERS in text, text
