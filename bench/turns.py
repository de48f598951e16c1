#!/usr/bin/env python3
"""Time to the first token of requests that share their beginnings, on one server after another.

    bench/turns.py --quern build/release/apps/quern/quern --model NAME=DIR [--model …]
                   [--llama-server PROGRAM --gguf NAME=FILE [--gguf …]] [--transformers NAME=DIR]
                   [--long 100000] [--middle 32768] [--repeat 3] [--only TRACE] [--json FILE]

Traces, each on a fresh server: turns (two more turns behind a long prompt, one of them after kill -9 and a restart), edit (a few
tokens in the middle of a prompt are replaced), shared (requests with a common beginning), agent (a transcript that grows by tool
results, some of which are replaced), reasoning (an answer of 64 tokens of which the next prompt keeps none, as chat templates leave
out what was thought). Prompts are random token ids, the same for every server; other answers are one token.
"""
import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

VOCAB = 500  # ids 10 … VOCAB - 1, which every model here has


class Ids:
    def __init__(self, seed):
        self.rng = random.Random(seed)

    def __call__(self, n):
        return [self.rng.randrange(10, VOCAB) for _ in range(n)]


def traces(o):
    """name → requests: (label, prompt), (label, prompt, tokens of the answer) or the word "restart"."""
    for repeat in range(o.repeat):
        ids = Ids(repeat)
        first = ids(o.long)
        second = first + ids(200)
        third = second + ids(200)
        yield "turns", [("cold", first), ("second turn", second), "restart", ("turn after a kill", third)]
        ids = Ids(100 + repeat)
        prompt = ids(o.middle)
        at = o.middle // 2 + 37  # on no grid
        yield "edit", [("cold", prompt), ("edited middle", prompt[:at] + ids(16) + prompt[at + 16:])]
        ids = Ids(200 + repeat)
        system = ids(o.middle // 4)
        yield "shared", [("cold", system + ids(200))] + [("shared prefix", system + ids(200)) for _ in range(4)]
        ids = Ids(300 + repeat)
        text = ids(2000)
        steps = [("cold", text)]
        for step in range(10):
            before = text
            text = text + ids(60) + ids(500)  # a call and its result
            steps.append(("agent's step", text))
            if step % 4 == 3:  # taken back, and tried otherwise
                text = before + ids(60) + ids(500)
                steps.append(("step taken back", text))
        yield "agent", steps
        ids = Ids(400 + repeat)
        prompt = ids(o.middle)
        yield "reasoning", [("cold", prompt), ("answer of 64 tokens", prompt, 64), ("next turn", prompt + ids(220))]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A child process that serves HTTP on a port of this machine."""

    def __init__(self, o, path):
        self.o, self.path, self.child = o, path, None
        self.log = tempfile.NamedTemporaryFile("w+", prefix="turns-", suffix=".log")

    def start(self):
        self.port = free_port()
        self.child = subprocess.Popen(self.command(), stdout=self.log, stderr=self.log)
        for _ in range(1200):
            if self.child.poll() is not None:
                self.log.seek(0)
                raise SystemExit(f"{self.command()[0]} ended: {self.log.read()[-2000:]}")
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5)
                return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        raise SystemExit(f"{self.command()[0]} does not answer")

    def post(self, path, body):
        data = json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, {"Content-Type": "application/json"})
        begun = time.perf_counter()
        with urllib.request.urlopen(request, timeout=7200) as reply:
            answer = json.loads(reply.read())
        return time.perf_counter() - begun, answer

    def kill(self):
        self.child.send_signal(signal.SIGKILL)
        self.child.wait()

    def stop(self):
        self.kill()


class Quern(Server):
    name = "quern"

    def __init__(self, o, path):
        super().__init__(o, path)
        self.disk = tempfile.mkdtemp(prefix="turns-cache-", dir=o.scratch)

    def command(self):
        extra = ["--exact"] if self.o.exact else []
        return [self.o.quern, "serve", self.path, "--port", str(self.port), "--quiet", "--cache-mib", "4096", "--cache-disk",
                f"{self.disk}:16", *extra]

    def ask(self, ids, answer=1):
        seconds, a = self.post("/v1/completions", {"prompt": ids, "max_tokens": answer, "ignore_eos": True, "temperature": 0})
        usage = a["usage"]
        return seconds, usage["prompt_tokens"] - usage.get("prompt_tokens_details", {}).get("cached_tokens", 0)

    def settle(self):
        """Until what is written behind the answer is on disk: its size no longer grows."""
        def size():
            total = 0
            for folder, _, files in os.walk(self.disk):
                for f in files:
                    with contextlib.suppress(FileNotFoundError):  # it got its name meanwhile
                        total += os.path.getsize(os.path.join(folder, f))
            return total

        before = -1
        while (now := size()) != before:
            before = now
            time.sleep(2)

    def stop(self):
        super().stop()
        shutil.rmtree(self.disk, ignore_errors=True)


class LlamaServer(Server):
    name = "llama-server"

    def command(self):
        return [self.o.llama_server, "-m", self.path, "--port", str(self.port), "-c", str(max(self.o.long, self.o.middle, 10_000) + 2048), "-np", "1",
                "-t", str(self.o.threads)]

    def ask(self, ids, answer=1):
        seconds, a = self.post("/completion", {"prompt": ids, "n_predict": answer, "ignore_eos": True, "cache_prompt": True,
                                               "temperature": 0})
        return seconds, a["timings"]["prompt_n"]

    def settle(self):
        pass


class Transformers:
    """In this process: the caller hands the cache on. Only a text that continues the last one goes on with it; of a cache of
    attention alone a beginning can be kept."""
    name = "transformers"

    def __init__(self, o, path):
        self.o, self.path = o, path

    def start(self):
        import torch
        from transformers import AutoModelForCausalLM
        torch.set_num_threads(self.o.threads)
        self.torch = torch
        self.model = AutoModelForCausalLM.from_pretrained(self.path, dtype=torch.bfloat16)
        self.cache, self.text = None, []

    def ask(self, ids, answer=1):
        common, length = 0, len(ids)
        while common < min(len(ids) - 1, len(self.text)) and ids[common] == self.text[common]:
            common += 1
        begun = time.perf_counter()
        if self.cache is not None and common < len(self.text):
            try:
                self.cache.crop(common)
            except Exception:  # recurrent state has no beginning
                self.cache, common = None, 0
        if self.cache is None:
            common = 0
        with self.torch.no_grad():
            for at in range(common, len(ids), 512):
                out = self.model(self.torch.tensor([ids[at:min(at + 512, len(ids))]]), past_key_values=self.cache,
                                 use_cache=True, logits_to_keep=1)
                self.cache = out.past_key_values
            token = out.logits[0, -1].argmax().item()
            for _ in range(answer - 1):
                token = self.model(self.torch.tensor([[token]]), past_key_values=self.cache, use_cache=True).logits[0, -1].argmax().item()
                ids = ids + [token]
        self.text = ids
        return time.perf_counter() - begun, max(1, length - common)

    def settle(self):
        pass

    def kill(self):
        self.cache, self.text = None, []

    def stop(self):
        self.model = self.cache = None


def run(make, name, o):
    rows = {}
    for trace, requests in traces(o):
        if o.only and trace != o.only:
            continue
        server = make()
        server.start()
        for what in requests:
            if what == "restart":
                server.settle()
                server.kill()
                server.start()
                continue
            label, prompt, *answer = what
            seconds, read = server.ask(prompt, *answer)
            rows.setdefault((trace, label), []).append((seconds, read, len(prompt)))
            print(f"{name} {server.name} {trace}, {label}: {len(prompt)} tokens, {read} read, {seconds:.3f} s", file=sys.stderr)
        server.stop()
    cold = {t: statistics.median(s for s, _, _ in r) for (t, label), r in rows.items() if label == "cold"}
    out = []
    for (trace, label), r in rows.items():
        seconds = statistics.median(s for s, _, _ in r)
        out.append({"model": name, "server": make.server, "trace": trace, "request": label, "requests": len(r),
                    "tokens": round(statistics.median(n for _, _, n in r)), "read": round(statistics.median(k for _, k, _ in r)),
                    "seconds": seconds, "least": min(s for s, _, _ in r), "most": max(s for s, _, _ in r),
                    "of_cold": seconds / cold[trace]})
    return out


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--quern", default="build/release/apps/quern/quern")
    p.add_argument("--model", action="append", default=[], metavar="NAME=DIR")
    p.add_argument("--llama-server", default="llama-server")
    p.add_argument("--gguf", action="append", default=[], metavar="NAME=FILE")
    p.add_argument("--transformers", action="append", default=[], metavar="NAME=DIR")
    p.add_argument("--long", type=int, default=100_000)
    p.add_argument("--middle", type=int, default=32_768)
    p.add_argument("--repeat", type=int, default=1)
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    p.add_argument("--exact", action="store_true", help="quern serve --exact")
    p.add_argument("--only", choices=["turns", "edit", "shared", "agent", "reasoning"])
    p.add_argument("--scratch", help="folder for the cache on disk")
    p.add_argument("--json", metavar="FILE")
    o = p.parse_args()
    rows = []
    for kind, given in ((Quern, o.model), (LlamaServer, o.gguf), (Transformers, o.transformers)):
        for text in given:
            name, path = text.split("=", 1)
            make = lambda kind=kind, path=path: kind(o, path)
            make.server = kind.name
            rows += run(make, name, o)
    print("| model | server | request | tokens | read | seconds | of cold |")
    print("|---|---|---|---|---|---|---|")
    for r in rows:
        print(f"| {r['model']} | {r['server']} | {r['trace']}: {r['request']} | {r['tokens']:,} | {r['read']:,} | {r['seconds']:.3f} |"
              f" {100 * r['of_cold']:.2f} % |")
    if o.json:
        with open(o.json, "w") as f:
            json.dump(rows, f, indent=1)


if __name__ == "__main__":
    main()
