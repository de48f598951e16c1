#!/usr/bin/env python3
"""Load and hostility against a running `quern serve`; nothing but the standard library.

    python tools/e2e/load.py http://127.0.0.1:8123 MODEL PID --clients 64 --seconds 120 --hostile 10000 [--drain]
    python tools/e2e/load.py https://127.0.0.1:8123 MODEL PID --ca cert.pem --key KEY

Clients chat, stream, hang up half-way, ask for tools, scores and embeddings, call tools of MCP servers and send batches; every
answer is checked against its own question (a client's own number is constrained into the answer), so that cross-talk shows. Beside them come requests that
are broken in many ways, connections that are half open, and readers that take a few bytes a second; each must get a 4xx or a
closed line. With --drain the server is told to stop at the end, with streams running, which must end properly. First comes a warm-up, until the prefix cache and the stored
responses are full (start the server with a small --cache-mib, as 64). Prints latencies, the server's memory before and
after, and one JSON line at the end. The exit code is 1 when something failed.
"""
import argparse
import http.client
import json
import os
import random
import signal
import socket
import ssl
import threading
import time
from urllib.parse import urlparse

p = argparse.ArgumentParser()
p.add_argument("url")
p.add_argument("model")
p.add_argument("pid", type=int)
p.add_argument("--clients", type=int, default=64)
p.add_argument("--seconds", type=float, default=60)
p.add_argument("--warm", type=float, default=300, help="at most so long until what the server keeps on purpose is full")
p.add_argument("--hostile", type=int, default=1000)
p.add_argument("--ca", help="the certificate to trust, of an https URL")
p.add_argument("--key", help="API key")
p.add_argument("--slow", type=int, default=8, help="readers that take a few bytes a second, beside the clients")
p.add_argument("--tool", metavar="SERVER/TOOL", help="also call this tool of the server's MCP servers, which takes a path")
p.add_argument("--batches", type=int, default=2, help="batch clients beside the others, one batch after another each")
p.add_argument("--drain", action="store_true", help="tell the server to stop at the end and watch how it does")
a = p.parse_args()
host, port = urlparse(a.url).hostname, urlparse(a.url).port
tls = ssl.create_default_context(cafile=a.ca) if a.url.startswith("https") else None
auth = {"authorization": f"Bearer {a.key}"} if a.key else {}
lock = threading.Lock()
latency, failures, answered, statuses = {}, [], 0, {}
stored = [0]  # responses the server was left with
MOST_STORED = 1024  # that it keeps


def rss():
    with open(f"/proc/{a.pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) / 1024


def connection(timeout=120):
    if tls:
        return http.client.HTTPSConnection(host, port, timeout=timeout, context=tls)
    return http.client.HTTPConnection(host, port, timeout=timeout)


def line():
    """A connection of the server's kind, for bytes."""
    s = socket.create_connection((host, port), timeout=60)
    return tls.wrap_socket(s, server_hostname=host) if tls else s


def post(path, body, read=True):
    c = connection()
    c.request("POST", path, json.dumps(body), {"content-type": "application/json", **auth})
    r = c.getresponse()
    data = r.read() if read else r
    return r.status, data, c


def client(k, goes_on):
    global answered
    rng = random.Random(k)
    while goes_on():
        kind = rng.choice(["chat", "stream", "gone", "tools", "echo", "embed", "messages", "responses"] + ["mcp"] * bool(a.tool))
        ask = [{"role": "user", "content": f"What is {rng.randrange(99)} + {rng.randrange(99)}?"}]
        began = time.time()
        try:
            if kind in ("chat", "stream"):
                body = {"model": a.model, "messages": ask, "max_tokens": rng.randrange(8, 64), "stream": kind == "stream", "reasoning_effort": "none",
                        "regex": f"client {k}[ a-z]{{3,20}}", "seed": rng.randrange(1 << 30)}
                status, data, c = post("/v1/chat/completions", body)
                if kind == "chat":
                    text = json.loads(data)["choices"][0]["message"]["content"]
                else:
                    text = "".join(json.loads(e[6:])["choices"][0]["delta"].get("content") or ""
                                   for e in data.decode().split("\n\n") if e.startswith("data: {"))
                ok = status == 200 and (f"client {k}".startswith(text[: len(f"client {k}")]) and text != "")
                c.close()
            elif kind == "gone":
                body = {"model": a.model, "messages": ask, "max_tokens": 2000, "stream": True, "ignore_eos": True}
                status, r, c = post("/v1/chat/completions", body, read=False)
                r.read(rng.randrange(1, 600))
                c.sock.close() if c.sock else None
                c.close()
                ok = status == 200
            elif kind == "tools":
                f = {"name": f"f{k}", "parameters": {"type": "object", "properties": {"n": {"enum": [k]}},
                                                     "required": ["n"]}}
                status, data, c = post("/v1/chat/completions", {
                    "model": a.model, "messages": ask, "max_tokens": 120, "reasoning_effort": "none", "tool_choice": "required",
                    "parallel_tool_calls": False, "tools": [{"type": "function", "function": f}]})
                call = json.loads(data)["choices"][0]["message"]["tool_calls"][0]["function"]
                ok = status == 200 and call["name"] == f"f{k}" and json.loads(call["arguments"]) == {"n": k}
                c.close()
            elif kind == "echo":
                text = f"client {k} reads " * rng.randrange(1, 20)
                status, data, c = post("/v1/completions", {"model": a.model, "prompt": text, "max_tokens": 0,
                                                           "echo": True, "logprobs": 1})
                ok = status == 200 and json.loads(data)["choices"][0]["text"].strip() == text.strip()
                c.close()
            elif kind == "embed":
                status, data, c = post("/v1/embeddings", {"model": a.model, "input": [f"client {k}"] * 3})
                v = [d["embedding"] for d in json.loads(data)["data"]]
                ok = status == 200 and v[0] == v[1] == v[2]
                c.close()
            elif kind == "mcp":
                server, tool = a.tool.split("/")
                status, data, c = post("/v1/mcp/call", {"server": server, "tool": tool, "arguments": {"path": f"client {k}"}})
                ok = status == 200 and json.loads(data)["is_error"] is False
                c.close()
            elif kind == "messages":
                status, data, c = post("/v1/messages", {"model": a.model, "messages": ask, "max_tokens": 12})
                ok = status == 200 and json.loads(data)["type"] == "message"
                c.close()
            else:
                status, data, c = post("/v1/responses", {"model": a.model, "input": ask[0]["content"],
                                                         "max_output_tokens": 12})
                ok = status == 200 and json.loads(data)["object"] == "response"
                c.close()
            busy = status == 429
            with lock:
                answered += 1
                stored[0] += kind == "responses" and ok
                statuses[status] = statuses.get(status, 0) + 1
                if not busy:
                    latency.setdefault(kind, []).append(time.time() - began)
                if not ok and not busy:
                    failures.append(f"{kind} {status} {data[:200] if isinstance(data, bytes) else ''}")
        except Exception as e:
            with lock:
                failures.append(f"{kind} {type(e).__name__} {e}")


def batch_client(k, goes_on):
    """One batch after another: three requests in a file, whose answers hold this client's number and the line's."""
    global answered

    def ask(method, path, body=None, kind="application/json"):
        c = connection()
        c.request(method, path, body, {"content-type": kind, **auth} if body else auth)
        r = c.getresponse()
        data = r.read()
        c.close()
        if r.status != 200:
            raise ValueError(f"{method} {path}: {r.status} {data[:200]}")
        return data

    while goes_on():
        files = []
        try:
            lines = [json.dumps({"custom_id": f"line {i}", "method": "POST", "url": "/v1/chat/completions", "body": {
                "model": a.model, "messages": [{"role": "user", "content": "Count."}], "max_tokens": 40, "reasoning_effort": "none",
                "regex": f"batch {k} line {i}[a-z]{{3,9}}"}}) for i in range(3)]
            form = "--x\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--x\r\nContent-Disposition: form-data; " \
                   "name=\"file\"; filename=\"b.jsonl\"\r\n\r\n" + "\n".join(lines) + "\r\n--x--\r\n"
            files.append(json.loads(ask("POST", "/v1/files", form, "multipart/form-data; boundary=x"))["id"])
            batch = json.loads(ask("POST", "/v1/batches", json.dumps({"input_file_id": files[0], "endpoint": "/v1/chat/completions",
                                                                      "completion_window": "24h"})))
            while batch["status"] not in ("completed", "failed", "expired", "cancelled") and goes_on():
                time.sleep(0.5)
                batch = json.loads(ask("GET", "/v1/batches/" + batch["id"]))
            if batch["status"] != "completed":
                if goes_on():
                    raise ValueError(json.dumps(batch)[:300])
                ask("POST", f"/v1/batches/{batch['id']}/cancel", "{}")
                return
            files.append(batch["output_file_id"])
            rows = [json.loads(row) for row in ask("GET", f"/v1/files/{files[1]}/content").decode().splitlines()]
            said = {r["custom_id"]: r["response"]["body"]["choices"][0]["message"]["content"] for r in rows}
            for i in range(3):
                if not said[f"line {i}"].startswith(f"batch {k} line {i}"):
                    raise ValueError(f"line {i}: {said}")
            with lock:
                answered += 3
                statuses["batch"] = statuses.get("batch", 0) + 1
            for f in files:
                ask("DELETE", "/v1/files/" + f)
        except Exception as e:
            with lock:
                failures.append(f"batch {type(e).__name__} {e}")


BAD_BODIES = [b"", b"{", b"[]", b"null", b"{}", b'{"messages": 3}', b'{"messages": []}', b"\xff\xfe\x00",
              b'{"messages": [{"role": 1}]}', b"[" * 5000, b'{"a":' * 3000, b'{"messages": [{"role": "user"}]}',
              b'{"messages": [{"role": "user", "content": {"x": 1}}]}', b'"' + b"x" * 100000 + b'"',
              b'{"messages": [{"role": "user", "content": "x"}], "max_tokens": 1e99}',
              b'{"messages": [{"role": "user", "content": "x"}], "temperature": "NaN"}',
              b'{"messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function"}]}',
              b'{"messages": [{"role": "user", "content": "x"}], "regex": "((((a*)*)*)*"}',
              b'{"messages": [{"role": "user", "content": "x"}], "response_format": {"type": "json_schema"}}',
              b'{"messages": [{"role": "user", "content": "x"}], "stop": [[]], "n": -1}',
              b'{"prompt": [[1e9]]}', b'{"input": [[[]]]}', b'{"prompt": "x", "logit_bias": {"a": {}}}',
              b'{"previous_response_id": "resp_nope", "input": "x"}']
PATHS = ["/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/messages", "/v1/responses", "/tokenize",
         "/detokenize", "/v1/messages/count_tokens", "/nowhere", "/v1/models/none", "/v1/responses/none",
         "/v1/mcp/call", "/v1/batches", "/v1/files"]
HEADS = [b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\r\n\r\n", b"POST /tokenize HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
         b"POST /tokenize HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", b"GET /" + b"a" * 20000 + b" HTTP/1.1\r\n\r\n",
         b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 500 + b"\r\n", b"GET / HTTP/1.1\r\nx: " + b"y" * 60000 + b"\r\n\r\n",
         b"POST /tokenize HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"DELETE /health HTTP/1.1\r\n\r\n",
         b"POST /tokenize HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcde"]


def hostile(n):
    rng, bad = random.Random(99), 0
    half_open = []
    for i in range(n):
        try:
            pick = rng.random()
            if tls and pick < 0.1:  # a handshake that does not end, or is none
                s = socket.create_connection((host, port), timeout=60)
                s.send(rng.choice([b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 3000]))
                half_open.append(s)
                if len(half_open) > 50:
                    half_open.pop(0).close()
                continue
            s = line()
            if pick < 0.05:  # says half a line and waits
                s.send(b"POST /v1/chat/completions HT")
                half_open.append(s)
                if len(half_open) > 50:
                    half_open.pop(0).close()
                continue
            if pick < 0.1:  # promises a body and goes
                s.send(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 1000\r\n\r\n{")
                s.close()
                continue
            if pick < 0.4:
                s.sendall(rng.choice(HEADS))
            else:
                body = rng.choice(BAD_BODIES)
                if rng.random() < 0.3:
                    body = bytes(b ^ (1 << rng.randrange(8)) if rng.random() < 0.02 else b for b in body)
                s.sendall(f"POST {rng.choice(PATHS)} HTTP/1.1\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
                          .encode() + body)
            s.settimeout(60)
            got = s.recv(64)
            s.close()
            status = int(got[9:12]) if got.startswith(b"HTTP/1.1 ") else 0
            with lock:
                statuses[f"hostile {status}"] = statuses.get(f"hostile {status}", 0) + 1
            if status >= 500 and status != 501 and status != 505:
                bad += 1
        except (ConnectionResetError, BrokenPipeError, ssl.SSLEOFError, ssl.SSLZeroReturnError):
            pass
        except Exception as e:
            bad += 1
            with lock:
                failures.append(f"hostile {type(e).__name__} {e}")
    for s in half_open:
        s.close()
    if bad:
        with lock:
            failures.append(f"hostile: {bad} answers were 5xx or none")


def slow_reader(goes_on):
    """Asks for a long stream and takes a few bytes a second, as long as it may: nobody else may wait for it."""
    while goes_on():
        try:
            s = line()
            body = json.dumps({"model": a.model, "prompt": "x", "max_tokens": 3000, "ignore_eos": True, "stream": True})
            key = f"Authorization: Bearer {a.key}\r\n" if a.key else ""
            s.sendall(f"POST /v1/completions HTTP/1.1\r\n{key}Content-Length: {len(body)}\r\n\r\n{body}".encode())
            for _ in range(20):
                if not goes_on() or not s.recv(16):
                    break
                time.sleep(0.5)
            s.close()
        except OSError as e:
            with lock:
                failures.append(f"slow reader {type(e).__name__} {e}")


def drain():
    """Streams that run when the server is told to stop end as streams do, and the server ends."""
    done, ends = [], []

    def stream():
        try:
            body = {"model": a.model, "prompt": "x", "max_tokens": 300, "ignore_eos": True, "stream": True}
            _, r, c = post("/v1/completions", body, read=False)
            r.read(100)
            ends.append(1)
            done.append(r.read().endswith(b"data: [DONE]\n\n"))
            c.close()
        except Exception as e:
            ends.append(0)
            done.append(f"{type(e).__name__} {e}")

    threads = [threading.Thread(target=stream) for _ in range(16)]
    for t in threads:
        t.start()
    while len(ends) < 16:
        time.sleep(0.02)
    began = time.time()
    os.kill(a.pid, signal.SIGTERM)
    for t in threads:
        t.join()
    while os.path.exists(f"/proc/{a.pid}") and open(f"/proc/{a.pid}/stat").read().split(")")[-1].split()[0] != "Z" and \
            time.time() < began + 120:
        time.sleep(0.05)
    print(f"drain: {done.count(True)} of 16 streams ended properly, the server ended after {time.time() - began:.1f} s", flush=True)
    if done.count(True) != 16 or time.time() > began + 110:
        failures.append(f"drain {[d for d in done if d is not True]}")


def cache_bytes():
    c = connection(60)
    c.request("GET", "/metrics", headers=auth)
    lines = c.getresponse().read().decode().splitlines()
    c.close()
    return sum(float(line.split()[-1]) for line in lines if line.startswith("quern_cache_bytes"))


class Full:
    """What the server keeps on purpose has stopped growing: stored responses at their limit, the prefix cache at its
    budget, where it stays within a hundredth for ten seconds. Two minutes at least, in which by chance most sessions
    will have had long answers to come at once: memory for their states is kept, too."""

    def __init__(self, most):
        self.begun = self.at = time.time()
        self.end, self.bytes, self.full = self.begun + most, 0, False

    def look(self):
        try:
            while not self.full and time.time() < self.end:
                time.sleep(1)
                now = cache_bytes()
                if abs(now - self.bytes) > 0.01 * now:
                    self.bytes, self.at = now, time.time()
                self.full = stored[0] > MOST_STORED and time.time() - max(self.at, self.begun + 110) > 10
        finally:
            self.end = 0


def series(name, goes_on, n_hostile):
    before, began = rss(), time.time()
    threads = [threading.Thread(target=client, args=(k, goes_on)) for k in range(a.clients)]
    threads += [threading.Thread(target=slow_reader, args=(goes_on,)) for _ in range(a.slow)]
    threads += [threading.Thread(target=batch_client, args=(k, goes_on)) for k in range(a.batches)]
    if n_hostile:
        threads.append(threading.Thread(target=hostile, args=(n_hostile,)))
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print(f"{name}: {time.time() - began:.0f} s, {answered} answered, memory {before:.0f} -> {rss():.0f} MiB", flush=True)


full = Full(a.warm)
threading.Thread(target=full.look).start()
series("warm-up", lambda: full.end > 0, 0)
if not full.full:
    print("the warm-up ended before the server's stores were full: its memory will still grow")
warm = rss()
latency.clear()
end = time.time() + a.seconds
series("load", lambda: time.time() < end, a.hostile)
after = rss()
if a.drain:
    drain()
every = sorted(x for v in latency.values() for x in v)
for kind, v in sorted(latency.items()):
    v.sort()
    print(f"{kind:10} {len(v):6}  p50 {v[len(v) // 2]:.3f} s  p99 {v[int(len(v) * 0.99)]:.3f} s")
for f in failures[:10]:
    print("FAILED", f)
print(json.dumps({"answered": answered, "failures": len(failures), "statuses": {str(k): v for k, v in sorted(statuses.items(), key=str)},
                  "p50": every[len(every) // 2], "p99": every[int(len(every) * 0.99)], "rss_warm_mib": warm,
                  "rss_after_mib": after, "rss_ratio": after / warm}))
raise SystemExit(1 if failures else 0)
