"""llama-index: an agent with a tool over its OpenAI-like client, a stream, a typed prediction."""
import asyncio

from harness import ANSWER, GREETING, HELLO, KEY, MODEL, V1, WEATHER, get_weather, same, step
from llama_index.core import set_global_tokenizer
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike
from pydantic import BaseModel

set_global_tokenizer(str.split)  # the default one is downloaded
llm = OpenAILike(model=MODEL, api_base=V1, api_key=KEY, is_chat_model=True, is_function_calling_model=True, max_retries=0,
                 context_window=200000)


class Person(BaseModel):
    """A person."""

    name: str
    age: int


def agent(model):
    async def run():
        a = FunctionAgent(tools=[FunctionTool.from_defaults(get_weather)], llm=model, system_prompt="Be brief.")
        return str(await a.run(WEATHER))

    return asyncio.run(run())


@step
def chat_and_stream():
    same(llm.chat([ChatMessage(role="user", content=HELLO)]).message.content, GREETING)
    same("".join(c.delta or "" for c in llm.stream_chat([ChatMessage(role="user", content=HELLO)])), GREETING)


@step
def function_agent():
    same(agent(llm), ANSWER)


@step
def typed_prediction():
    program = llm.as_structured_llm(Person)
    r = program.chat([ChatMessage(role="user", content="Call for the person Ada, 36.")])
    same(r.raw, Person(name="Ada", age=36))
