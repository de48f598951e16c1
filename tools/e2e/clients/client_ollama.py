"""ollama: the client library over the server's /api endpoints."""
import ollama
from harness import ANSWER, GREETING, HELLO, MODEL, URL, WEATHER, get_weather, same, step

client = ollama.Client(host=URL)


@step
def list_and_show():
    assert f"{MODEL}:latest" in [m.model for m in client.list().models]
    assert client.show(MODEL).details is not None


@step
def chat_streamed():
    same("".join(c.message.content for c in client.chat(MODEL, [{"role": "user", "content": HELLO}], stream=True)),
         GREETING)


@step
def tool():
    messages = [{"role": "user", "content": WEATHER}]
    m = client.chat(MODEL, messages, tools=[get_weather]).message
    messages.append(m)
    for c in m.tool_calls:
        messages.append({"role": "tool", "content": get_weather(**c.function.arguments), "tool_name": c.function.name})
    same(client.chat(MODEL, messages, tools=[get_weather]).message.content, ANSWER)


@step
def generate():
    same(client.generate(MODEL, HELLO).response, GREETING)
