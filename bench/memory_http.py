#!/usr/bin/env python3
"""Latency of a server's memory over HTTP: turns added one by one, and questions, at a given size.

    quern serve MODEL --db FILE --port 8080 &
    bench/memory_http.py http://127.0.0.1:8080 --turns 100000

Fills one conversation with synthetic turns in batches, then measures single additions and questions in turns, each over
one kept connection. Prints p50, p99 and the maximum in milliseconds, of the whole exchange as a client sees it.
"""
import argparse
import http.client
import json
import random
import time
import urllib.parse

WORDS = [a + b for a in "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo zu".split()
         for b in "bel dor fin gal hem jor kin lam mos nir pol rat sin tor vul wes".split()]
GAP = 90  # seconds between turns


def percentile(times, share):
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("url")
    parser.add_argument("--turns", type=int, default=100_000)
    parser.add_argument("--measured", type=int, default=1000)
    parser.add_argument("--key", default="")
    args = parser.parse_args()
    url = urllib.parse.urlparse(args.url)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=600)
    headers = {"content-type": "application/json"}
    if args.key:
        headers["authorization"] = "Bearer " + args.key
    rng = random.Random(1)

    def call(path, body=None):
        begin = time.perf_counter()
        connection.request("POST" if body else "GET", path, json.dumps(body) if body else None, headers)
        answer = connection.getresponse()
        text = answer.read()
        seconds = time.perf_counter() - begin
        if answer.status != 200:
            raise SystemExit(f"{path}: {answer.status} {text[:300]!r}")
        return 1e3 * seconds, json.loads(text)

    def turn(i, begin):
        text = " ".join(rng.choice(WORDS) for _ in range(rng.randint(6, 30)))
        return {"speaker": "Ada" if i % 2 else "Ben", "text": f"{text} number{i}", "time": begin + GAP * i}

    now = int(time.time())
    begin = now - GAP * (args.turns + args.measured + 1)
    started = time.perf_counter()
    for first in range(0, args.turns, 5000):
        turns = [turn(i, begin) for i in range(first, min(first + 5000, args.turns))]
        call("/v1/memory/turns", {"conversation": "bench", "turns": turns})
    print(f"{args.turns} turns in {time.perf_counter() - started:.1f} s")
    call("/v1/memory/search", {"conversation": "bench", "question": "What about " + WORDS[0] + "?"})  # the index is made
    kinds = {"health": [], "add": [], "topic": [], "time": [], "time and topic": []}
    for i in range(args.turns, args.turns + args.measured):
        kinds["health"].append(call("/health")[0])
        kinds["add"].append(call("/v1/memory/turns", {"conversation": "bench", **turn(i, begin)})[0])
        words = rng.choice(WORDS) + " " + rng.choice(WORDS)
        ago = rng.randint(1, max(1, GAP * args.turns // 86400))
        for kind, question in (("topic", f"What was said about {words}?"),
                               ("time", f"What did we discuss {ago} days ago?"),
                               ("time and topic", f"What did Ada say about {words} {ago} days ago?")):
            kinds[kind].append(call("/v1/memory/search", {"conversation": "bench", "question": question})[0])
    for kind, times in kinds.items():
        print(f"{kind:15} p50 {percentile(times, 0.5):8.2f} ms   p99 {percentile(times, 0.99):8.2f} ms   "
              f"max {max(times):8.2f} ms")


if __name__ == "__main__":
    main()
