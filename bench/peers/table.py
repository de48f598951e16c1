"""One run, one table: Quern and each peer take turns on the same weights (bench/peers/run.sh starts this).

A turn of Quern is `quern bench model FOLDER --json`, a turn of a peer a request to its worker. A ratio is Quern over
the peer's neighboring turn; the figures are medians over the pairs. Before anything is timed both sides must agree
on the logits of a short prompt: else they do not run the same model. For transformers the ratio is of tokens a
second; decode against llama.cpp is also by bytes touched a second (weights and cache), as its formats are not ours.
"""
import argparse
import contextlib
import fcntl
import functools
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

import shapes
from machine import headline, machine
from quiet import SHARE, undisturbed
from worker import PREFILLS, STEPS

HERE = pathlib.Path(__file__).resolve().parent
WORK = HERE.parents[1] / "build" / "peers"
LOCK = os.environ.get("BENCH_LOCK", str(WORK / "lock"))
PROMPT, DEPTH = (512, 2048), 512
# Cosine of logits. Two 4-bit roundings of random weights agree to 0.79 after eight layers, other weights to 0.
LEAST_AGREEMENT = {"bf16": 0.98, "q8": 0.98, "q4": 0.7}
CHECK = list(range(1, 101))


@contextlib.contextmanager
def locked():
    with open(LOCK, "a") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


class Worker:
    """A peer's process; `ask` is one request."""

    def __init__(self, *command):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([sys.executable, *map(str, command)], cwd=HERE, text=True, stdin=pipe,
                                        stdout=pipe, stderr=open(WORK / "worker.log", "a"))
        self.info = self._answer()

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the peer ended with code {self.process.wait()}; see {WORK / 'worker.log'}")
        return json.loads(line)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Quern:
    def __init__(self, binary, threads):
        self.binary, self.threads = binary, threads

    def call(self, *words):
        command = [self.binary, "--threads", str(self.threads), *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"quern {' '.join(map(str, words))}: {done.stderr.strip()}")
        return done.stdout

    def folder(self, source, scheme):
        """Where a scheme of a model lies; q8 and q4 are packed once."""
        if scheme in ("bf16", "f32"):
            return source
        out = pathlib.Path(f"{source}-{scheme}")
        if not out.exists():
            self.call("quantize", source, out, "--scheme", scheme, "--head", "q8")
        return out

    def bench(self, source, scheme, what):
        """what: a length of prompt, or "decode" alone."""
        words = ["--scheme", scheme] if scheme in ("bf16", "f32") else []
        words += ["--skip-prefill", "--reps", STEPS] if what == "decode" else ["--prompt", what, "--reps", PREFILLS]
        words += ["--depth", DEPTH, "--json"]
        return json.loads(self.call("bench", "model", self.folder(source, scheme), *words))

    def last_logits(self, source, scheme):
        import numpy
        out = WORK / "logits.npy"
        self.call("logits", self.folder(source, scheme), "--tokens", ",".join(map(str, CHECK)),
                  "--dtype", "f32" if scheme == "f32" else "bf16", "--out", out)
        return numpy.load(out)[-1]


def cosine(a, b):
    a = [float(x) for x in a]
    return sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def same_model(quern, source, scheme, worker):
    least = LEAST_AGREEMENT[scheme]
    agreement = cosine(quern.last_logits(source, scheme), worker.ask(do="logits", ids=CHECK)["logits"])
    if agreement < least:
        raise RuntimeError(f"{source} in {scheme}: logits agree to {agreement:.4f}, expected {least}: not timed")
    return agreement


class Table:
    def __init__(self, machine):
        self.rows, self.notes, self.machine = [], {}, machine
        print(headline(machine), flush=True)

    def add(self, model, what, ours, theirs, pairs, others, unit="tokens/s"):
        """pairs: (Quern's figure, the peer's figure) of neighboring turns; others: the share of the machine that
        other processes took from the worst of these turns."""
        ratios = [a / b for a, b in pairs]
        middle = lambda i: statistics.median(p[i] for p in pairs)
        self.rows.append(dict(model=model, cut=shapes.SHAPES[model][1], what=what, quern=ours, peer=theirs, unit=unit,
                              quern_value=middle(0), peer_value=middle(1), ratio=statistics.median(ratios),
                              ratio_least=min(ratios), ratio_most=max(ratios), pairs=len(pairs),
                              others_took_at_most=others))
        if len(self.rows) == 1:
            print(f"{'model (cut to)':<50}{'what':<14}{'Quern':<6}{'peer':<20}{'Quern':>9}{'peer':>9} {'unit':<9}"
                  f"{'ratio':>6}  {'over pairs':<13}others took")
        r = self.rows[-1]
        print(f"{model + ' (' + r['cut'] + ')':<50}{what:<14}{ours:<6}{theirs:<20}{r['quern_value']:>9.2f}"
              f"{r['peer_value']:>9.2f} {unit:<9}{r['ratio']:>5.2f}×  {min(ratios):.2f} … {max(ratios):<5.2f}  "
              f"{100 * others:.0f}%{' (disturbed)' if others > SHARE else ''}", flush=True)

    def save(self, path):
        path.write_text(json.dumps(dict(machine=self.machine, notes=self.notes, rows=self.rows), indent=2) + "\n")


def turns(quern, source, schemes, worker, what, pairs):
    """Every pair of one row: {"peer": figure, scheme: {...}}; what: a length of prompt, or "decode". "others" is, for
    each side, the share of the machine that other processes took from its turn."""
    request = {"do": "decode", "depth": DEPTH} if what == "decode" else {"do": "prefill", "tokens": what}
    out = []
    for _ in range(pairs):
        pair = {"others": {}}

        def turn(side, pid, measurement):
            pair[side], pair["others"][side] = undisturbed(pid, measurement)

        with locked():
            turn("peer", worker.process.pid, lambda: worker.ask(**request)["tokens_per_s"])
            for s in schemes:
                turn(s, os.getpid(), lambda: quern.bench(source, s, what))
        out.append(pair)
    return out


def taken(done, side):
    """The most that others took from the turns of a row."""
    return max(max(x["others"][side], x["others"]["peer"]) for x in done)


def add_prompt(table, quern, name, source, scheme, worker, peer, tokens, pairs):
    done = turns(quern, source, (scheme,), worker, tokens, pairs)
    table.add(name, f"prompt {tokens}", scheme, peer, [(x[scheme]["prefill_tokens_per_s"], x["peer"]) for x in done],
              taken(done, scheme))


def against_transformers(table, quern, name, pairs, prompts):
    source = WORK / "models" / name
    shapes.write(name, source)
    for dtype in ("bf16", "f32"):
        worker = Worker("transformers_peer.py", source, dtype, quern.threads)
        peer = f"transformers {dtype}"
        table.notes[f"{name}, {peer}"] = dict(worker.info, agreement=same_model(quern, source, "bf16", worker))
        for p in prompts:
            add_prompt(table, quern, name, source, "bf16", worker, peer, p, pairs)
        done = turns(quern, source, ("bf16", "q4"), worker, "decode", pairs)
        for s in ("bf16", "q4"):
            table.add(name, f"decode at {DEPTH}", s, peer, [(x[s]["decode_tokens_per_s"], x["peer"]) for x in done],
                      taken(done, s))
        worker.close()


def against_llama_cpp(table, quern, name, pairs, prompts, scheme):
    source = WORK / "models" / name
    shapes.write(name, source)
    dense, part = source / "bf16.gguf", source / "part.gguf"
    if not dense.exists():
        shapes.write_gguf(source, part)
        part.rename(dense)
    for ours, theirs in (("q8", "q8_0"), ("q4", "q4_k")):
        if scheme not in ("", ours):
            continue
        packed = source / f"{theirs}.gguf"
        if not packed.exists():
            subprocess.run([sys.executable, "llama_cpp_peer.py", "quantize", dense, part, theirs], check=True,
                           cwd=HERE, stderr=subprocess.DEVNULL)
            part.rename(packed)
        worker = Worker("llama_cpp_peer.py", packed, quern.threads)
        peer = f"llama.cpp {theirs.upper()}"
        table.notes[f"{name}, {peer}"] = dict(worker.info, agreement=same_model(quern, source, ours, worker))
        bytes_per_token = worker.info["weight_bytes"] + DEPTH * worker.info["cache_bytes_per_position"]
        for p in prompts:
            add_prompt(table, quern, name, source, ours, worker, peer, p, pairs)
        done = turns(quern, source, (ours,), worker, "decode", pairs)
        worker.close()
        decode = [(x[ours], x["peer"]) for x in done]
        table.add(name, f"decode at {DEPTH}", ours, peer, [(q["decode_tokens_per_s"], p) for q, p in decode],
                  taken(done, ours))
        touched = [(q["decode_tokens_per_s"] * q["bytes_per_token"] * 1e-9, p * bytes_per_token * 1e-9)
                   for q, p in decode]
        table.add(name, f"decode at {DEPTH}", ours, peer, touched, taken(done, ours), "GB/s")


def against_hybrid(table, quern, name, pairs, prompts):
    """Another model on each side: Zamba2 in Quern, a Granite-4-H shape in llama.cpp. Bytes a second, decode alone."""
    source, file = WORK / "models" / name, WORK / "models" / "granite-4-h.gguf"
    shapes.write(name, source)
    if not file.exists():
        part = file.with_suffix(".part")
        shapes.write_granite_h(part)
        part.rename(file)
    worker = Worker("llama_cpp_peer.py", file, quern.threads)
    table.notes["granite-4-h, llama.cpp Q8_0"] = worker.info
    cache = 2 * 2 * 64 * shapes.GRANITE_H["kv"] * len(shapes.GRANITE_H["attention"])
    touched = worker.info["weight_bytes"] + shapes.granite_h_state_bytes() + DEPTH * cache
    done = turns(quern, source, ("q8",), worker, "decode", pairs)
    worker.close()
    table.add(name, f"decode at {DEPTH}", "q8", "granite-4-h Q8_0",
              [(x["q8"]["decode_tokens_per_s"] * x["q8"]["bytes_per_token"] * 1e-9, x["peer"] * touched * 1e-9)
               for x in done], taken(done, "q8"), "GB/s")


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("peer", choices=["transformers", "llama.cpp", "hybrid", "all"])
    a.add_argument("--quern", required=True, help="the binary")
    a.add_argument("--threads", type=int, required=True, help="of every engine")
    a.add_argument("--pairs", type=int, default=3, help="turns a figure is the median of")
    a.add_argument("--only", default="", help="part of a model's name")
    a.add_argument("--scheme", default="", choices=["q8", "q4"], help="llama.cpp: beside this scheme's peer alone")
    a.add_argument("--decode", action="store_true", help="decode alone, no prompts")
    o = a.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    quern, table = Quern(str(pathlib.Path(o.quern).resolve()), o.threads), Table(machine(o.quern))
    jobs = []
    for name in shapes.SHAPES:
        peer = "llama.cpp" if name == "llama-1b" else "transformers"
        if o.peer in (peer, "all") and o.only in name:
            llama_cpp = functools.partial(against_llama_cpp, scheme=o.scheme)
            jobs.append((llama_cpp if peer == "llama.cpp" else against_transformers, name))
    if o.peer in ("hybrid", "all") and o.only in "zamba2-2.7b":
        jobs.append((against_hybrid, "zamba2-2.7b"))
    if not jobs:
        raise SystemExit(f"--only {o.only}: no model of {', '.join(shapes.SHAPES)} is compared with {o.peer}")
    for compare, name in jobs:
        compare(table, quern, name, o.pairs, () if o.decode else PROMPT)
        table.save(WORK / "table.json")


main()
