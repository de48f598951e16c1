"""smolagents: a tool-calling agent and a code agent."""
from harness import HELLO, KEY, MODEL, V1, GREETING, same, step
from smolagents import CodeAgent, OpenAIServerModel, ToolCallingAgent, tool

model = OpenAIServerModel(model_id=MODEL, api_base=V1, api_key=KEY)


@tool
def get_weather(city: str) -> str:
    """The weather of a city.

    Args:
        city: name of the city
    """
    return "1 degrees, snow"


@step
def tool_calling_agent():
    same(ToolCallingAgent(tools=[get_weather], model=model, verbosity_level=0, max_steps=4).run(
        "What is the weather in Tromso?"), "It is 1 degrees in Tromso.")


@step
def code_agent():
    same(CodeAgent(tools=[], model=model, verbosity_level=0, max_steps=3).run("Compute with code."), 7)


@step
def one_answer():
    same(model([{"role": "user", "content": [{"type": "text", "text": HELLO}]}]).content, GREETING)
