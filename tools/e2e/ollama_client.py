#!/usr/bin/env python3
"""The official ollama client against a running `quern serve`, unmodified; and llama-server's documented request forms.

    pip install -r tools/e2e/compat_requirements.txt
    quern serve models/zaya-nano --port 8123 --quiet &
    python tools/e2e/ollama_client.py http://127.0.0.1:8123 zaya-nano

Each check prints a line; the exit code is the number of failures. Answers of a small model are not judged, their form is.
"""
import asyncio
import json
import sys
import urllib.request

import ollama

URL, MODEL = sys.argv[1], sys.argv[2]
client = ollama.Client(host=URL)
ASK = [{"role": "user", "content": "What is 3 + 4?"}]
FEW = {"num_predict": 16, "temperature": 0, "seed": 1, "num_ctx": 2048}
SCHEMA = {
    "type": "object",
    "properties": {"city": {"enum": ["Oslo", "Rome"]}, "days": {"type": "integer", "minimum": 1, "maximum": 9}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
failures = 0


def check(f):
    global failures
    try:
        result = f()
        if asyncio.iscoroutine(result):
            asyncio.run(result)
        print("ok    ", f.__name__)
    except Exception as e:  # a check fails however it likes
        failures += 1
        print("FAILED", f.__name__, type(e).__name__, str(e)[:300])
    return f


def post(path, body):
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as r:
        return r.read().decode()


@check
def models():
    names = [m.model for m in client.list().models]
    assert MODEL + ":latest" in names, names
    shown = client.show(MODEL)
    assert "completion" in shown.capabilities and shown.template and shown.modelinfo
    running = client.ps().models
    assert running[0].expires_at and running[0].size_vram == 0


@check
def chat():
    r = client.chat(MODEL, ASK, options=FEW)
    assert r.done and r.message.role == "assistant" and r.eval_count > 0 and r.prompt_eval_count > 0
    assert r.total_duration >= r.eval_duration > 0
    assert client.chat(MODEL + ":latest", ASK, options=FEW).message.content == r.message.content


@check
def chat_stream():
    whole = client.chat(MODEL, ASK, options=FEW).message
    parts = list(client.chat(MODEL, ASK, options=FEW, stream=True))
    assert "".join(p.message.content or "" for p in parts) == whole.content
    assert [p.done for p in parts] == [False] * (len(parts) - 1) + [True]
    assert parts[-1].done_reason in ("stop", "length")


@check
def chat_format():
    r = client.chat(MODEL, ASK, format=SCHEMA, options={"num_predict": 100})
    v = json.loads(r.message.content)
    assert v["city"] in ("Oslo", "Rome") and 1 <= v["days"] <= 9
    text = "".join(p.message.content or "" for p in client.chat(MODEL, ASK, format=SCHEMA, stream=True,
                                                                options={"num_predict": 100}))
    assert json.loads(text)["city"] in ("Oslo", "Rome")


@check
def chat_tools():
    def weather(city: str, days: int) -> str:
        """Weather of a city.

        Args:
            city: the city
            days: how many
        """
        return "rain"

    r = client.chat(MODEL, ASK, tools=[weather], options=FEW)
    history = ASK + [{"role": "assistant", "content": "",
                      "tool_calls": [{"function": {"name": "weather", "arguments": {"city": "Oslo", "days": 1}}}]},
                     {"role": "tool", "tool_name": "weather", "content": "rain"}]
    for call in r.message.tool_calls or []:
        assert call.function.name == "weather" and isinstance(call.function.arguments, dict)
    assert client.chat(MODEL, history, tools=[weather], options=FEW).done


@check
def chat_think():
    for think in (True, False, "low"):
        assert client.chat(MODEL, ASK, think=think, options=FEW).done


@check
def generate():
    r = client.generate(MODEL, "Once upon a time", options=FEW)
    assert r.done and r.response is not None and len(r.context) == r.prompt_eval_count + r.eval_count
    again = client.generate(MODEL, "And then?", context=r.context, options=FEW)
    assert again.prompt_eval_count > len(r.context)
    raw = client.generate(MODEL, "Once upon a time", raw=True, options=FEW)
    text = "".join(p.response for p in client.generate(MODEL, "Once upon a time", raw=True, options=FEW, stream=True))
    assert text == raw.response
    assert client.generate(MODEL, "", keep_alive="5m").done_reason == "load"


@check
def embed():
    r = client.embed(MODEL, ["one text", "another"])
    assert len(r.embeddings) == 2 and abs(sum(x * x for x in r.embeddings[0]) - 1) < 1e-4
    old = client.embeddings(MODEL, "one text").embedding
    assert max(abs(a - b) for a, b in zip(old, r.embeddings[0])) < 1e-6


@check
def refusals():
    for act, status in [(lambda: client.chat("nope", ASK), 404), (lambda: client.pull("llama3"), 403),
                        (lambda: client.push(MODEL), 403), (lambda: client.delete(MODEL), 403),
                        (lambda: client.copy(MODEL, "x"), 403),
                        (lambda: client.create("x", from_=MODEL), 403),
                        (lambda: client.generate(MODEL, "a", suffix="b"), 400),
                        (lambda: client.chat(MODEL, [{"role": "user", "content": "x", "images": [b"x"]}]), 400)]:
        try:
            act()
        except ollama.ResponseError as e:
            assert e.status_code == status and e.error, (e.status_code, e.error)
        else:
            raise AssertionError(f"not refused with {status}")


@check
async def asynchronous():
    a = ollama.AsyncClient(host=URL)
    whole = await a.chat(MODEL, ASK, options=FEW)
    text = ""
    async for part in await a.chat(MODEL, ASK, options=FEW, stream=True):
        text += part.message.content or ""
    assert text == whole.message.content


@check
def llama_completion():
    body = {"prompt": "Once upon a time", "n_predict": 12, "temperature": 0, "cache_prompt": True, "id_slot": -1}
    whole = json.loads(post("/completion", body))
    assert whole["stop"] and whole["stop_type"] in ("limit", "eos") and whole["tokens_predicted"] <= 12
    events = [json.loads(line[6:]) for line in post("/completion", {**body, "stream": True}).split("\n\n") if line]
    assert "".join(e["content"] for e in events) == whole["content"]
    assert events[-1]["stop"] and events[-1]["timings"]["predicted_n"] == whole["tokens_predicted"]
    scored = json.loads(post("/completion", {**body, "n_probs": 3}))["completion_probabilities"]
    assert len(scored[0]["top_logprobs"]) == 3 and {"id", "token", "bytes", "logprob"} <= set(scored[0])
    mixed = json.loads(post("/completion", {**body, "prompt": [5, "upon a time"]}))
    assert mixed["tokens_evaluated"] > 1
    shaped = json.loads(post("/completion", {**body, "json_schema": SCHEMA, "n_predict": 100}))
    assert json.loads(shaped["content"])["city"] in ("Oslo", "Rome")


@check
def llama_others():
    with urllib.request.urlopen(URL + "/props", timeout=60) as r:
        props = json.load(r)
    assert props["default_generation_settings"]["n_ctx"] > 0 and props["total_slots"] > 0 and props["chat_template"]
    rows = json.loads(post("/embedding", {"content": "one text"}))
    assert rows[0]["index"] == 0 and len(rows[0]["embedding"][0]) > 8
    pieces = json.loads(post("/tokenize", {"content": "one text", "with_pieces": True}))["tokens"]
    assert "".join(p["piece"] for p in pieces) == "one text"
    assert json.loads(post("/detokenize", {"tokens": [p["id"] for p in pieces]}))["content"] == "one text"


print(f"{failures} failed")
sys.exit(failures)
