"""What the Python package costs over the library and the command: generation, search, rows and tables of a corpus,
encoders.

    python bench/python_overhead.py DOCS [ROUNDS [ENCODER]]     # in an environment with the wheel
    # DOCS: a folder of text files; ENCODER: the folder of an encoder

Both sides take turns in the same process, or as processes one after the other; medians of ROUNDS [9] and the middle half.
Processor time is that of the process and its children: on a shared machine it is the steadier of the two.
"""

import ctypes as c
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import quern
from quern import _command, corpus
from quern._library import library

TOKENS = 400


def clocks():
    own, children = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return time.perf_counter(), own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def timed(call):
    wall, cpu = clocks()
    call()
    after = clocks()
    return after[0] - wall, after[1] - cpu


def compare(name, unit, count, base, ours, rounds):
    base(), ours()
    times = {"base": [], "python": []}
    for i in range(rounds):
        for side, call in sorted({"base": base, "python": ours}.items(), reverse=i % 2 == 1):
            times[side].append(timed(call))
    for k, clock in enumerate(("wall", "processor")):
        row = []
        for side in ("base", "python"):
            values = [t[k] / count * 1e6 for t in times[side]]
            low, mid, high = statistics.quantiles(values, n=4)
            row.append(f"{mid:9.1f} [{low:.1f}, {high:.1f}]")
        pairs = statistics.median(p[k] / b[k] for b, p in zip(times["base"], times["python"]) if b[k] > 0)
        print(f"{name:34} {clock:9} base {row[0]} µs/{unit}, python {row[1]}, ratio {pairs:.3f}", flush=True)


def generation(rounds):
    model = quern.Model("zaya-nano")
    options = {"max_tokens": TOKENS, "ignore_eos": True}

    def in_the_library():  # quern_session_generate, one call
        session = model.session()
        session.append("Once upon a time")
        sampling = quern.sampling.Sampling(model, options)
        function = library._loaded.quern_session_generate
        function.argtypes = [c.c_void_p] * 4
        assert function(session._h, sampling.handle, None, None) == TOKENS
        sampling.free(), session.close()

    stream = lambda: [*model.generate("Once upon a time", stream=True, **options)]
    compare("stream", "token", TOKENS, in_the_library, stream, rounds)
    compare("generate", "token", TOKENS, in_the_library, lambda: model.generate("Once upon a time", **options), rounds)

    def command():
        _command.run(["run", model.path, "--plain", "-p", "Once upon a time", "-n", "3000"])

    # As the command does: each piece is written when it comes.
    code = f"""import quern, sys
for piece in quern.Model({model.path!r}).generate("Once upon a time", max_tokens=3000, stream=True):
    sys.stdout.write(piece), sys.stdout.flush()"""
    child = lambda: subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    compare("process: quern run, python", "token", 3000, command, child, rounds)


def search(docs, folder, rounds):
    index = quern.Index(folder / "index")
    print(index.add(docs), "documents in the index")
    asked = ["How is a KV cache kept?", "near-duplicate removal", "resume a run after a kill", "time zones of a memory"]
    questions = asked * 25
    buffer = c.create_string_buffer(1 << 17)

    def in_the_library():
        for q in questions:
            library.index_search(index._h, q.encode(), 5, buffer, 1 << 17)

    compare("search", "query", len(questions), in_the_library, lambda: [index.search(q) for q in questions], rounds)

    def command():
        for q in questions[:4]:
            _command.run(["recall", "query", q, "--db", str(folder / "index"), "-k", "5", "--json"])

    compare("search, by the command", "query", 4, command, lambda: [index.search(q) for q in questions[:4]], rounds)


def rows(docs, folder, rounds):
    file = folder / "rows.jsonl"
    texts_of = (d.read_text(encoding="utf-8").split("\n\n") for d in sorted(docs.rglob("*.md")))
    paragraphs = [p for parts in texts_of for p in parts if len(p) > 200]
    with open(file, "w", encoding="utf-8") as out:
        for i in range(60_000):
            out.write(json.dumps({"text": paragraphs[i % len(paragraphs)]}) + "\n")
    n = 60_000
    print(f"{n} rows, {file.stat().st_size / n:.0f} bytes each")

    def plain():
        with open(file, encoding="utf-8") as lines:
            for line in lines:
                json.loads(line)["text"]

    def in_the_library():  # without making texts of it
        found = corpus.rows(file)
        while library.rows_next_block(found._h):
            pass

    def command():
        _command.run(["--threads", "1", "corpus", "stats", str(file)])

    def texts():
        for _ in corpus.rows(file).texts():
            pass

    def whole():
        for _ in corpus.rows(file):
            pass

    compare("rows: stats by the command, texts()", "row", n, command, texts, rounds)
    compare("rows: json and open, texts()", "row", n, plain, texts, rounds)
    compare("rows: json and open, rows()", "row", n, plain, whole, rounds)
    compare("rows: calls of the library, texts()", "row", n, in_the_library, texts, rounds)

    def batches():
        for _ in corpus.table(file):
            pass

    compare("table: calls of the library, batches", "row", n, in_the_library, batches, rounds)
    compare("table: stats by the command, batches", "row", n, command, batches, rounds)
    tables(file, n, rounds)


def tables(file, n, rounds):
    """Stages over a table in memory, beside the command on the file of it. What the command reads and writes more is time
    of the command."""
    import pyarrow as pa

    table = pa.table(corpus.table(file, columns=["text"]))

    def command(stage, *words):
        with tempfile.TemporaryDirectory() as out:
            _command.run(["--threads", "1", "corpus", stage, str(file), *words, "--out", out + "/out"])

    def annotate():
        for _ in corpus.annotate(table, "gopher-quality"):
            pass

    filtered = lambda: command("filter", "--filter", "gopher-quality")
    compare("annotate: filter by the command", "row", n, filtered, annotate, rounds)
    compare("exact: by the command, of a table", "row", n, lambda: command("exact"), lambda: corpus.exact(table), rounds)


def encoders(folder, docs, scratch, rounds):
    lines = [line for d in sorted(docs.rglob("*.md")) for line in d.read_text(encoding="utf-8").splitlines() if len(line) > 40]
    lines = lines[:2000]
    file = scratch / "lines.txt"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def command():
        _command.run(["--threads", "1", "embed", folder, str(file), "--out", str(scratch / "rows.npy")])

    compare("embed: by the command", "text", len(lines), command, lambda: quern.Encoder(folder).embed(lines), rounds)


if __name__ == "__main__":
    docs = Path(sys.argv[1]).resolve()
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    print(quern.__version__, sys.version.split()[0], os.cpu_count(), "cores")
    with tempfile.TemporaryDirectory() as scratch:
        generation(rounds)
        search(docs, Path(scratch), rounds)
        rows(docs, Path(scratch), rounds)
        if len(sys.argv) > 3:
            quern.set_threads(1)
            encoders(sys.argv[3], docs, Path(scratch), rounds)
