#!/usr/bin/env python3
"""The Batch API with the official openai client against a running `quern serve`, unmodified.

    pip install -r tools/e2e/compat_requirements.txt
    quern serve models/zaya-nano --port 8123 --quiet --session-dir saved &
    python tools/e2e/batch_client.py http://127.0.0.1:8123 zaya-nano

Exit code 0: all is as the API says.
"""
import io
import json
import sys
import time

import openai

URL, MODEL = sys.argv[1], sys.argv[2]
client = openai.OpenAI(base_url=URL + "/v1", api_key="none", max_retries=0)


def wait(batch):
    for _ in range(600):
        batch = client.batches.retrieve(batch.id)
        if batch.status in ("completed", "failed", "cancelled", "expired"):
            return batch
        time.sleep(0.2)
    raise AssertionError("it did not end")


def upload(lines, name="requests.jsonl"):
    return client.files.create(file=(name, io.BytesIO("\n".join(json.dumps(x) for x in lines).encode())), purpose="batch")


def request(i, **body):
    return {"custom_id": f"request-{i}", "method": "POST", "url": "/v1/chat/completions",
            "body": {"model": MODEL, "messages": [{"role": "user", "content": f"What is {i} + 1?"}], **body}}


lines = [request(i, max_tokens=8, seed=i) for i in range(20)] + [request(99, max_tokens=10**8)]
file = upload(lines)
assert client.files.retrieve(file.id).filename == "requests.jsonl"
assert client.files.content(file.id).text == "\n".join(json.dumps(x) for x in lines)
batch = wait(client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h",
                                   metadata={"run": "one"}))
assert batch.status == "completed" and batch.metadata == {"run": "one"}, batch
assert (batch.request_counts.total, batch.request_counts.completed, batch.request_counts.failed) == (21, 20, 1)
answers = {}
for line in client.files.content(batch.output_file_id).text.splitlines():
    row = json.loads(line)
    assert row["response"]["status_code"] == 200
    answers[row["custom_id"]] = row["response"]["body"]["choices"][0]["message"]["content"]
assert sorted(answers) == sorted(f"request-{i}" for i in range(20))
direct = client.chat.completions.create(**request(3, max_tokens=8, seed=3)["body"])
assert direct.choices[0].message.content == answers["request-3"]
failed = json.loads(client.files.content(batch.error_file_id).text)
assert failed["custom_id"] == "request-99" and failed["response"]["status_code"] == 400

slow = client.batches.create(input_file_id=upload([request(i, max_tokens=900) for i in range(200)]).id,
                             endpoint="/v1/chat/completions", completion_window="24h")
client.batches.cancel(slow.id)
assert wait(slow).status == "cancelled"
bad = wait(client.batches.create(input_file_id=upload([{"custom_id": "x"}]).id, endpoint="/v1/embeddings",
                                 completion_window="24h"))
assert bad.status == "failed" and bad.errors.data[0].line == 1, bad
ids = [b.id for b in client.batches.list(limit=2)]  # pages on its own
assert {batch.id, slow.id, bad.id} <= set(ids)
assert client.files.delete(file.id).deleted
try:
    client.files.retrieve(file.id)
    raise AssertionError("it is still there")
except openai.NotFoundError:
    pass
print("ok")
