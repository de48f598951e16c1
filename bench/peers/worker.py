"""The loop every peer runs in a process of its own: it loads once, then answers one JSON line a request, so that peer
and Quern take turns without paying for loading. Requests: {"do": "prefill", "tokens": T}, {"do": "decode",
"depth": D}, {"do": "logits", "ids": […]} (of the last id). Figures are medians of seconds.
"""
import json
import os
import random
import statistics
import sys
import time

PREFILLS, STEPS = 3, 15


def median_seconds(n, f):
    f()  # scratch is touched, code is warm
    seconds = []
    for _ in range(n):
        start = time.perf_counter()
        f()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def serve(peer):
    """peer: vocab, info(), feed(ids) from an empty state, step(id) from the last one, last_logits()."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the peer's libraries print is no answer
    rng = random.Random(3)
    ids = lambda n: [rng.randrange(peer.vocab) for _ in range(n)]
    say = lambda x: print(json.dumps(x), file=out, flush=True)
    say(peer.info())
    for line in sys.stdin:
        q = json.loads(line)
        if q["do"] == "prefill":
            prompt = ids(q["tokens"])
            say({"tokens_per_s": q["tokens"] / median_seconds(PREFILLS, lambda: peer.feed(prompt))})
        elif q["do"] == "decode":
            peer.feed(ids(q["depth"]))
            say({"tokens_per_s": 1 / median_seconds(STEPS, lambda: peer.step(ids(1)[0]))})
        elif q["do"] == "logits":
            peer.feed(q["ids"])
            say({"logits": peer.last_logits()})
        else:
            raise SystemExit(f"request {q}: expected prefill, decode or logits")
