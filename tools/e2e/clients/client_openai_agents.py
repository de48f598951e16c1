"""openai-agents: an agent with a tool by Responses and by Chat Completions, streamed, a typed result, a handoff."""
import asyncio

from agents import (Agent, ModelSettings, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool,
                    set_tracing_disabled)
from harness import ANSWER, ANSWERS, BOTH, HELLO, KEY, MODEL, PERSON, V1, WEATHER, get_weather, same, step
from openai import AsyncOpenAI
from pydantic import BaseModel

set_tracing_disabled(True)
weather = function_tool(get_weather)


class Person(BaseModel):
    name: str
    age: int


def agent(model=OpenAIResponsesModel, **more):
    client = AsyncOpenAI(base_url=V1, api_key=KEY, max_retries=0)  # of one event loop
    return Agent(name="a", instructions="Be brief.", model=model(MODEL, openai_client=client), **more)


@step
def responses():
    same(Runner.run_sync(agent(tools=[weather]), WEATHER).final_output, ANSWER)


@step
def chat_completions():
    same(Runner.run_sync(agent(OpenAIChatCompletionsModel, tools=[weather]), BOTH).final_output, ANSWERS)


@step
def responses_streamed():
    async def run():
        result = Runner.run_streamed(agent(tools=[weather]), BOTH)
        names = [e.name async for e in result.stream_events() if e.type == "run_item_stream_event"]
        return result.final_output, names

    output, names = asyncio.run(run())
    same(output, ANSWERS)
    same((names.count("tool_called"), names.count("tool_output")), (2, 2))


@step
def chat_streamed():
    async def run():
        result = Runner.run_streamed(agent(OpenAIChatCompletionsModel, tools=[weather]), WEATHER)
        async for _ in result.stream_events():
            pass
        return result.final_output

    same(asyncio.run(run()), ANSWER)


@step
def typed_result():
    for model in (OpenAIResponsesModel, OpenAIChatCompletionsModel):
        same(Runner.run_sync(agent(model, output_type=Person), PERSON).final_output, Person(name="Ada", age=36))


@step
def required_call_then_answer():
    a = agent(tools=[weather], model_settings=ModelSettings(tool_choice="required", parallel_tool_calls=False))
    same(Runner.run_sync(a, WEATHER).final_output, ANSWER)


@step
def previous_response():
    first = Runner.run_sync(agent(), HELLO)
    second = Runner.run_sync(agent(tools=[weather]), WEATHER, previous_response_id=first.last_response_id)
    same(second.final_output, ANSWER)
