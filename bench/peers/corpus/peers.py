"""Quern beside its peers: near-duplicate removal of one JSON-lines file, end to end, with Zyda's settings (13 words, 128
rows, 32 bands of 4), on one thread.

    python bench/peers/corpus/peers.py QUERN DOCS.jsonl [--every N]

Arms, each a process of its own, timed in processor time (user and system), which a loaded machine distorts least:
  reference   ftfy, lower case, punctuation, NLTK's word tokenizer, datasketch's legacy permutations and its LSH
  datasketch  lower case, punctuation, split; datasketch (its own default scheme) and its LSH
  rensa       the same words; rensa's R-MinHash and LSH
  quern       fast and compat, exact verification and zstd output included
All but quern stop at the set of kept rows and write nothing. --every N takes every Nth document.
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

    lsh, kept = MinHashLSH(params=(32, 4), num_perm=128), 0
    for i, text in enumerate(documents(path)):
        m = MinHash(num_perm=128, seed=1, **options)
        m.update_batch([w.encode() for w in windows(words(text))])
        if not lsh.query(m):
            lsh.insert(i, m)
            kept += 1
    return kept


def run_rensa(path):
    import rensa

    lsh, kept = rensa.RMinHashLSH(threshold=0.4, num_perm=128, num_bands=32), 0
    for i, text in enumerate(documents(path)):
        m = rensa.RMinHash(num_perm=128, seed=1)
        m.update(windows(plain(text)))
        if not lsh.query(m):
            lsh.insert(i, m)
            kept += 1
    return kept


def run_quern(quern, path, mode):
    with tempfile.TemporaryDirectory() as out:
        r = subprocess.run([quern, "--threads", "1", "corpus", "dedup", path, "--mode", mode, "--out", out, "--json"],
                           check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return json.loads(r.stdout)["kept"]


def arm(name, quern, path):
    if name == "reference":
        return run_datasketch(path, reference_words(), scheme="legacy")
    if name == "datasketch":
        return run_datasketch(path, plain)
    if name == "rensa":
        return run_rensa(path)
    return run_quern(quern, path, name.removeprefix("quern-"))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("quern")
    p.add_argument("docs")
    p.add_argument("--every", type=int, default=1)
    p.add_argument("--arm")
    a = p.parse_args()
    if a.arm:
        print(arm(a.arm, a.quern, a.docs))
        return
    with tempfile.TemporaryDirectory() as d:
        docs = a.docs
        if a.every > 1:
            docs = str(pathlib.Path(d) / "docs.jsonl")
            with open(docs, "w", encoding="utf-8", newline="\n") as out:
                for i, line in enumerate(open(a.docs, encoding="utf-8", newline="\n")):
                    if i % a.every == 0:
                        out.write(line)
        size = sum(len(t.encode()) for t in documents(docs)) / 1e6
        print(f"{size:.1f} MB of text\n| arm | kept | processor s | MB/s |\n|---|---|---|---|")
        for name in ("reference", "datasketch", "rensa", "quern-compat", "quern-fast"):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            env = dict(os.environ, OMP_NUM_THREADS="1")
            r = subprocess.run([sys.executable, __file__, a.quern, docs, "--arm", name], check=True, stdout=subprocess.PIPE,
                               env=env, text=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(f"| {name} | {r.stdout.split()[-1]} | {s:.2f} | {size / s:.1f} |", flush=True)


if __name__ == "__main__":
    main()
