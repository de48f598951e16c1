"""litellm: the same task through its openai, anthropic and hosted_vllm providers, whole and streamed."""
import json

import litellm
from harness import ANSWER, KEY, MODEL, SCHEMA, THINK, URL, V1, WEATHER, get_weather, same, step

litellm.drop_params = True
litellm.num_retries = 0
TOOL = {"type": "function", "function": {"name": "get_weather", "description": "of a city", "parameters": SCHEMA}}
PROVIDERS = {"openai/" + MODEL: V1, "anthropic/" + MODEL: URL, "hosted_vllm/" + MODEL: V1}


def task(model, base, stream):
    def ask(messages):
        r = litellm.completion(model=model, api_base=base, api_key=KEY, messages=messages, tools=[TOOL], stream=stream,
                               max_tokens=500)
        return (litellm.stream_chunk_builder(list(r), messages=messages) if stream else r).choices[0].message

    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": WEATHER}]
    m = ask(messages)
    messages.append(m.model_dump())
    for c in m.tool_calls:
        messages.append({"role": "tool", "tool_call_id": c.id, "name": c.function.name,
                         "content": get_weather(**json.loads(c.function.arguments))})
    same(ask(messages).content, ANSWER)


@step
def openai_provider():
    task("openai/" + MODEL, V1, False)


@step
def openai_streamed():
    task("openai/" + MODEL, V1, True)


@step
def anthropic_provider():
    task("anthropic/" + MODEL, URL, False)


@step
def anthropic_streamed():
    task("anthropic/" + MODEL, URL, True)


@step
def vllm_provider_reasoning():
    r = litellm.completion(model="hosted_vllm/" + MODEL, api_base=V1, api_key=KEY,
                           messages=[{"role": "user", "content": THINK}])
    same(r.choices[0].message.reasoning_content, "Three and four are seven.")
    same(r.choices[0].message.content, "Seven.")


@step
def responses():
    r = litellm.responses(model="openai/" + MODEL, api_base=V1, api_key=KEY, input=THINK)
    same(r.output_text, "Seven.")
