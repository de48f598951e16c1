#!/usr/bin/env python3
"""Tokens a second through HTTP beside the model alone; nothing but the standard library.

    python tools/e2e/throughput.py build/release/apps/quern/quern models/zaya-nano --streams 16 --tokens 600 --pairs 7

Starts a server of its own and, in turns with it, `quern bench batch` at the depth the answers have on average: the same
model and as many sequences, without prompts, sampling, text or a client. Answers are asked for at once on lines that stay
open, whole and streamed. A pair is what came through HTTP over the mean of the bench before and behind it; figures are
medians of pairs, with the least and the greatest. Clients sit on other machines: ours is one thread that takes what has
come every --poll milliseconds and reads it when the time is over, so that it costs these cores little.
"""
import argparse
import json
import re
import socket
import statistics
import subprocess
import time

p = argparse.ArgumentParser()
p.add_argument("quern")
p.add_argument("model")
p.add_argument("--streams", type=int, default=16)
p.add_argument("--tokens", type=int, default=600)
p.add_argument("--prompt-words", type=int, default=4)
p.add_argument("--pairs", type=int, default=7)
p.add_argument("--poll", type=float, default=20)
p.add_argument("--server-flag", action="append", default=[], help="--server-flag=--kv=q8: passed on to quern serve; may be given again")
a = p.parse_args()
asked = 0


class Line:
    """A connection that stays open. An answer ends as its framing says."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)

    def ask(self, stream):
        global asked
        asked += 1
        body = json.dumps({"prompt": f"{asked} " + "and so on " * a.prompt_words, "max_tokens": a.tokens, "temperature": 1,
                           "seed": asked, "ignore_eos": True, "stream": stream,
                           **({"stream_options": {"include_usage": True}} if stream else {})})
        self.socket.settimeout(60)
        self.socket.sendall(f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                            f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        self.socket.setblocking(False)
        self.got, self.stream, self.whole = bytearray(), stream, False

    def take(self):
        """True while the answer is not whole."""
        try:
            while piece := self.socket.recv(1 << 18):
                self.got += piece
            raise SystemExit("the server closed a line")
        except BlockingIOError:
            pass
        if self.stream:
            self.whole = self.got.endswith(b"\r\n0\r\n\r\n")
        elif (end := self.got.find(b"\r\n\r\n")) >= 0:
            self.whole = len(self.got) == end + 4 + int(re.search(rb"content-length: (\d+)", self.got, re.I)[1])
        return not self.whole

    def tokens(self):
        found = re.findall(rb'"completion_tokens": ?(\d+)', self.got)
        if not self.got.startswith(b"HTTP/1.1 200") or len(found) != 1:
            raise SystemExit(f"no answer: {bytes(self.got[:500])}")
        return int(found[0])


def through_http(lines, stream):
    began = time.perf_counter()
    for line in lines:
        line.ask(stream)
    left = list(lines)
    while left := [line for line in left if line.take()]:
        if time.perf_counter() - began > 300:
            raise SystemExit("no end after 300 s")
        time.sleep(a.poll / 1000)
    seconds = time.perf_counter() - began
    tokens = sum(line.tokens() for line in lines)
    if tokens != a.streams * a.tokens:
        raise SystemExit(f"{tokens} tokens came of {a.streams * a.tokens}")
    return tokens / seconds


def alone():
    out = subprocess.run([a.quern, "bench", "batch", a.model, "--batch", str(a.streams), "--depth", str(a.tokens // 2),
                          "--reps", "41", "--json"], capture_output=True, text=True, check=True).stdout
    return json.loads(out)["decode"][0]["decode_tokens_per_s"]


def told(name, ratios):
    print(f"{name:9} {statistics.median(ratios):.2f} of the model alone ({min(ratios):.2f} to {max(ratios):.2f})")


server = subprocess.Popen([a.quern, "serve", a.model, "--port", "0", "--quiet", "--sessions", str(a.streams), *a.server_flag],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
try:
    port = None
    while port is None:
        said = server.stdout.readline()
        if not said:
            raise SystemExit("the server did not start")
        port = re.search(r"127\.0\.0\.1:(\d+)", said)
    lines = [Line(int(port[1])) for _ in range(a.streams)]
    for stream in (False, True):
        through_http(lines, stream)  # threads, buffers, pages
    whole, streamed, bench = [], [], [alone()]
    for _ in range(a.pairs):
        w, s = through_http(lines, False), through_http(lines, True)
        bench.append(alone())
        beside = (bench[-2] + bench[-1]) / 2
        whole.append(w / beside), streamed.append(s / beside)
        print(f"alone {beside:.0f} tokens/s, whole {w:.0f}, streamed {s:.0f}", flush=True)
    told("whole", whole)
    told("streamed", streamed)
finally:
    server.terminate()
    server.wait(30)
