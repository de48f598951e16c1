r"""Quern beside its peers: near-duplicate removal of one JSON-lines file, end to end, with Zyda's settings (13 words, 128
rows, 32 bands of 4), on one thread.

    python bench/peers/corpus/peers.py QUERN DOCS.jsonl [--every N] [--runs N] [--datatrove PYTHON] [--text-dedup PYTHON]
        [--arms A,B] [--kept FOLDER]

Arms, each a process of its own, timed in processor time (user and system), which a loaded machine distorts least:
  reference   ftfy, lower case, punctuation, NLTK's word tokenizer, datasketch's legacy permutations and its LSH
  datasketch  lower case, punctuation, split; datasketch (its own default scheme) and its LSH
  rensa       the same words; rensa's R-MinHash and LSH
  datatrove   signatures, buckets, clusters and filter, each a pipeline with one task (buckets: 32); 64-bit hashes;
              spaCy's words; writes JSON lines unpacked
  text-dedup  its minhash script, one process; words cut where \W is; writes an Arrow folder
  quern       fast and compat, exact verification and zstd output included
The first three stop at the set of kept rows and write nothing. --every N takes every Nth document. The last two peers want an
environment of their own: PYTHON is its interpreter; without one they are left out.
Rows need an "id" that is the number of the line. --kept FOLDER writes the numbers of the kept rows as FOLDER/ARM.txt, for
sampled_truth.py. --runs N runs all arms N times, one after the other.
"processor s" of a peer includes the start of its interpreter and imports.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import string
import subprocess
import sys
import tempfile

DELETE = str.maketrans("", "", string.punctuation)


def documents(path):
    for line in open(path, encoding="utf-8", newline="\n"):
        yield json.loads(line)["text"]


def windows(words, k=13):
    return [" ".join(words[i : i + k]) for i in range(len(words) - k + 1)]


def plain(text):
    return text.lower().translate(DELETE).split()


def reference_words():
    import ftfy
    from nltk.tokenize import NLTKWordTokenizer

    tokenizer = NLTKWordTokenizer()
    return lambda t: tokenizer.tokenize(re.sub(r"\s+", " ", ftfy.fix_text(t).lower().translate(DELETE)).strip())


def run_datasketch(path, words, **options):
    from datasketch import MinHash, MinHashLSH

    lsh, kept = MinHashLSH(params=(32, 4), num_perm=128), []
    for i, text in enumerate(documents(path)):
        m = MinHash(num_perm=128, seed=1, **options)
        m.update_batch([w.encode() for w in windows(words(text))])
        if not lsh.query(m):
            lsh.insert(i, m)
            kept.append(i)
    return lambda: kept


def run_rensa(path):
    import rensa

    lsh, kept = rensa.RMinHashLSH(threshold=0.4, num_perm=128, num_bands=32), []
    for i, text in enumerate(documents(path)):
        m = rensa.RMinHash(num_perm=128, seed=1)
        m.update(windows(plain(text)))
        if not lsh.query(m):
            lsh.insert(i, m)
            kept.append(i)
    return lambda: kept


def run_datatrove(path, d):
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup import MinhashDedupBuckets, MinhashDedupCluster, MinhashDedupFilter, MinhashDedupSignature
    from datatrove.pipeline.dedup.minhash import MinhashConfig
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter
    from datatrove.utils.hashing import HashConfig

    config = MinhashConfig(n_grams=13, num_buckets=32, hashes_per_bucket=4, hash_config=HashConfig(precision=64))
    path = pathlib.Path(path)
    reader = lambda: JsonlReader(str(path.parent), glob_pattern=path.name)
    steps = [
        (1, [reader(), MinhashDedupSignature(f"{d}/signatures", config=config)]),
        (32, [MinhashDedupBuckets(f"{d}/signatures", f"{d}/buckets", config=config)]),
        (1, [MinhashDedupCluster(f"{d}/buckets", f"{d}/remove", config=config)]),
        (1, [reader(), MinhashDedupFilter(f"{d}/remove"), JsonlWriter(f"{d}/out", compression=None)]),
    ]
    for i, (tasks, pipeline) in enumerate(steps):
        LocalPipelineExecutor(pipeline, tasks=tasks, workers=1, logging_dir=f"{d}/logs{i}").run()
    rows = lambda: (json.loads(x) for f in pathlib.Path(f"{d}/out").rglob("*.jsonl") for x in open(f, encoding="utf-8", newline="\n"))
    return lambda: [int(r.get("id", 0)) for r in rows()]  # it leaves out a zero


def run_text_dedup(path, d):
    subprocess.run([sys.executable, "-m", "text_dedup.minhash", "--path", "json", "--data_files", str(path), "--split", "train",
                    "--cache_dir", f"{d}/cache", "--output", f"{d}/out", "--column", "text", "--ngram", "13", "--num_perm",
                    "128", "--b", "32", "--r", "4", "--min_length", "0", "--num_proc", "1"],
                   check=True, stdout=subprocess.DEVNULL, env=dict(os.environ, HF_DATASETS_OFFLINE="1"))

    def kept():
        import datasets

        return [int(i) for i in datasets.load_from_disk(f"{d}/out")["id"]]

    return kept


def run_quern(quern, path, mode, d):
    subprocess.run([quern, "--threads", "1", "corpus", "dedup", path, "--mode", mode, "--out", f"{d}/out"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kept():
        rows = subprocess.run(f"zstd -dc {d}/out/part-*.jsonl.zst", shell=True, check=True, stdout=subprocess.PIPE).stdout
        return [json.loads(r)["id"] for r in rows.splitlines()]

    return kept


def arm(name, quern, path, work):  # the kept rows, or what reads them after the clock has stopped
    if name == "reference":
        return run_datasketch(path, reference_words(), scheme="legacy")
    if name == "datasketch":
        return run_datasketch(path, plain)
    if name == "rensa":
        return run_rensa(path)
    if name == "datatrove":
        return run_datatrove(path, work)
    if name == "text-dedup":
        return run_text_dedup(path, work)
    return run_quern(quern, path, name.removeprefix("quern-"), work)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("quern")
    p.add_argument("docs")
    p.add_argument("--every", type=int, default=1)
    p.add_argument("--datatrove", help="a Python with datatrove and spaCy")
    p.add_argument("--text-dedup", help="a Python with text-dedup")
    arms = "reference,datasketch,rensa,datatrove,text-dedup,quern-compat,quern-fast"
    p.add_argument("--arms", default=arms)
    p.add_argument("--arm")
    p.add_argument("--kept", type=pathlib.Path, help="folder for the numbers of the kept rows of every arm")
    p.add_argument("--runs", type=int, default=1)
    a = p.parse_args()
    if unknown := set(a.arms.split(",")) - set(arms.split(",")):
        raise SystemExit(f"--arms {','.join(sorted(unknown))}: expected some of {arms}")
    if a.arm:
        with tempfile.TemporaryDirectory() as work:
            kept = arm(a.arm, a.quern, a.docs, work)
            used = [resource.getrusage(r) for r in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
            rows = kept()
            if a.kept:
                (a.kept / f"{a.arm}.txt").write_text("".join(f"{i}\n" for i in sorted(rows)))
        print(len(rows), sum(u.ru_utime + u.ru_stime for u in used), max(u.ru_maxrss for u in used) / 1024)
        return
    if a.kept:
        a.kept.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as d:
        docs = a.docs
        if a.every > 1:
            docs = str(pathlib.Path(d) / "docs.jsonl")
            with open(docs, "w", encoding="utf-8", newline="\n") as out:
                for i, line in enumerate(open(a.docs, encoding="utf-8", newline="\n")):
                    if i % a.every == 0:
                        out.write(line)
        size = sum(len(t.encode()) for t in documents(docs)) / 1e6
        print(f"{size:.1f} MB of text\n| arm | kept | processor s | MB/s | resident MiB |\n|---|---|---|---|---|")
        own = {"datatrove": a.datatrove, "text-dedup": a.text_dedup}
        for name in a.arms.split(",") * a.runs:
            python = own.get(name, sys.executable)
            if not python:
                continue
            more = ["--kept", str(a.kept.resolve())] if a.kept else []
            r = subprocess.run([python, __file__, a.quern, docs, "--arm", name, *more], check=True, stdout=subprocess.PIPE,
                               env=dict(os.environ, OMP_NUM_THREADS="1"), text=True)
            kept, s, memory = r.stdout.split()[-3:]
            print(f"| {name} | {kept} | {float(s):.2f} | {size / float(s):.1f} | {float(memory):.0f} |", flush=True)


if __name__ == "__main__":
    main()
