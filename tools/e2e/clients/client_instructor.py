"""instructor: typed results by tools, JSON schema and streamed parts, over both APIs."""
import anthropic
import instructor
import openai
from harness import KEY, MODEL, PERSON, URL, V1, same, step
from pydantic import BaseModel

CALL = [{"role": "user", "content": "Call for the person Ada, 36."}]


class Person(BaseModel):
    """A person."""

    name: str
    age: int


ADA = {"name": "Ada", "age": 36}
client = openai.OpenAI(base_url=V1, api_key=KEY, max_retries=0)


@step
def tools():
    same(instructor.from_openai(client, mode=instructor.Mode.TOOLS).create(model=MODEL, response_model=Person,
                                                                         messages=CALL).model_dump(), ADA)


@step
def json_schema():
    same(instructor.from_openai(client, mode=instructor.Mode.JSON_SCHEMA).create(
        model=MODEL, response_model=Person, messages=[{"role": "user", "content": PERSON}]).model_dump(), ADA)


@step
def partial_streamed():
    parts = list(instructor.from_openai(client, mode=instructor.Mode.TOOLS).create_partial(
        model=MODEL, response_model=Person, messages=[{"role": "user", "content": "Call for a part of Ada, 36."}]))
    same(parts[-1].model_dump(), ADA)
    assert len(parts) > 2, parts


@step
def anthropic_tools():
    an = anthropic.Anthropic(base_url=URL, api_key=KEY, max_retries=0)
    same(instructor.from_anthropic(an, mode=instructor.Mode.ANTHROPIC_TOOLS).create(
        model=MODEL, response_model=Person, messages=CALL, max_tokens=500).model_dump(), ADA)
