"""Exact all-pairs similarities of a corpus, and how a deduplication by Quern stands against them.

    python tools/corpora/truth.py QUERN DOCS.jsonl WORK [--words plain|reference] [--seeds N] [--json FILE]

The truth shares nothing with Quern. Words are either `reference` (ftfy, lower case, ASCII punctuation deleted, NLTK's
word tokenizer: what Zyda hashes) or `plain` (lower case, punctuation deleted, split at white space). A shingle is 13
words; its hash is a polynomial over random 64-bit values of the words; every pair of documents that shares a shingle is
counted through a sparse product of the document-shingle matrix, a thousand rows at a time. Cost: sum of df^2 additions,
two or three minutes for 20 000 documents; ftfy and NLTK take as long again. The pairs are kept in WORK.

Then, for each seed and for the published arithmetic (mode compat), Quern runs twice, star and closure, and the script
prints, from its sketches and outputs:
  recall      true pairs whose sketches agree in a band, by similarity
  precision   near copies in star clusters that are truly at 0.4 and above to their survivor (and how many are not)
  largest     cluster of star and closure, beside the closure of all true pairs
  residual    survivors that still have a survivor at 0.4 and above
  wrongful    removed documents without a survivor at 0.4 and above
Needs numpy, scipy, zstandard; for --words reference ftfy and nltk.
"""

import argparse
import concurrent.futures
import io
import json
import pathlib
import re
import shutil
import string
import subprocess
import time

import numpy as np
import scipy.sparse as sp
import zstandard

DELETE = str.maketrans("", "", string.punctuation)
EDGES = [0.4, 0.5, 0.6, 0.7, 0.8, 1.01]
ROW = (1 << 36) - 1
K = 13


def plain(text):
    return text.lower().translate(DELETE).split()


def reference(text):
    import ftfy
    from nltk.tokenize import NLTKWordTokenizer

    if not hasattr(reference, "tokenizer"):
        reference.tokenizer = NLTKWordTokenizer()
        # NLTK after 3.8.1, which Zyda used, cuts at dashes too.
        rules = [r for r in NLTKWordTokenizer.PUNCTUATION if not r[0].search("\u2014")]
        reference.tokenizer.PUNCTUATION = rules
    return reference.tokenizer.tokenize(re.sub(r"\s+", " ", ftfy.fix_text(text).lower().translate(DELETE)).strip())


def shingles(words, values, random):
    """Hashes of the windows, without repeats. A word's value is drawn when it is first seen."""
    w = np.empty(len(words), dtype=np.uint64)
    for i, word in enumerate(words):
        v = values.get(word)
        if v is None:
            v = values[word] = int(random.integers(1 << 63)) * 2 + 1
        w[i] = v
    n = max(0, len(w) - K + 1)
    h = np.zeros(n, dtype=np.uint64)
    for j in range(K):
        h = h * np.uint64(0x9E3779B97F4A7C15) + w[j : j + n]
        h ^= h >> np.uint64(29)
    return np.unique(h)


def all_pairs(documents, tokenize, workers):
    values, random, sets = {}, np.random.default_rng(7), []
    with concurrent.futures.ProcessPoolExecutor(workers) as pool:
        for words in pool.map(tokenize, documents, chunksize=64):
            sets.append(shingles(words, values, random))
    sizes = np.array([len(s) for s in sets])
    row = np.repeat(np.arange(len(sets)), sizes)
    _, column, df = np.unique(np.concatenate(sets), return_inverse=True, return_counts=True)
    shared = df[column] > 1
    m = sp.csr_matrix((np.ones(shared.sum(), dtype=np.int32), (row[shared], column[shared])), shape=(len(sets), len(df)))
    t, out = m.T.tocsr(), []
    for first in range(0, len(sets), 1000):
        c = (m[first : first + 1000] @ t).tocoo()
        a, b, n = c.row + first, c.col, c.data
        a, b, n = a[a < b], b[a < b], n[a < b]
        j = n / (sizes[a] + sizes[b] - n)
        keep = j >= EDGES[0]
        out.append((a[keep], b[keep], j[keep]))
    a, b, j = (np.concatenate(x) for x in zip(*out))
    order = np.lexsort((b, a))
    return {"a": a[order], "b": b[order], "j": j[order], "sizes": sizes}


def lines(folder, pattern):
    for part in sorted(pathlib.Path(folder).glob(pattern)):
        with zstandard.ZstdDecompressor().stream_reader(part.open("rb"), read_across_frames=True) as raw:
            yield from (json.loads(x) for x in io.TextIOWrapper(raw, encoding="utf-8", newline="\n"))


def bands_met(rows, a, b, bands=32, width=4):
    met = np.zeros(len(a), dtype=bool)
    for k in range(bands):
        part = rows[:, k * width : (k + 1) * width]
        met |= (part[a] == part[b]).all(axis=1)
    return met


def components(n, a, b):
    return sp.csgraph.connected_components(sp.coo_matrix((np.ones(len(a)), (a, b)), shape=(n, n)), directed=False)[1]


class Judge:
    def __init__(self, quern, docs, work, truth):
        self.quern, self.docs, self.work = quern, str(docs), work
        self.a, self.b, self.j, self.sizes = (truth[k] for k in ("a", "b", "j", "sizes"))
        self.n = len(self.sizes)
        self.key = self.a.astype(np.int64) * self.n + self.b
        self.closure = components(self.n, self.a, self.b)
        self.largest = int(np.bincount(self.closure).max())

    def run(self, *words):
        out = self.work / "run"
        shutil.rmtree(out, ignore_errors=True)
        subprocess.run([self.quern, "corpus", words[0], self.docs, "--out", str(out), *words[1:]], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return out, json.loads((out / "manifest.json").read_text())

    def clusters(self, out):
        """Of every document the row of its survivor, itself when it stays, and whether it is an exact copy."""
        survivor, exact = np.arange(self.n), np.zeros(self.n, dtype=bool)
        for c in lines(out, "clusters.jsonl.zst"):
            for d in c["removed"]:
                survivor[d["id"] & ROW] = c["survivor"] & ROW
                exact[d["id"] & ROW] = d["copy"] == "exact"
        return survivor, exact

    def similar(self, x, y):
        key = np.minimum(x, y).astype(np.int64) * self.n + np.maximum(x, y)
        at = np.minimum(np.searchsorted(self.key, key), len(self.key) - 1)
        return np.where(self.key[at] == key, self.j[at], 0)

    def judge(self, mode, seed):
        words = ["--mode", mode, "--seed", str(seed)]
        out, _ = self.run("sketch", *words)
        rows = np.array([d["rows"] for d in lines(out, "sketch-*.jsonl.zst")], dtype=np.uint32)
        met = bands_met(rows, self.a, self.b)
        r = {"mode": mode, "seed": seed}
        for lo, hi in zip(EDGES, EDGES[1:]):
            here = (self.j >= lo) & (self.j < hi)
            r[f"recall {lo}"] = float(met[here].mean())
        r["recall 0.7 and above"] = float(met[self.j >= 0.7].mean())
        out, m = self.run("dedup", *words)
        survivor, exact = self.clusters(out)
        gone = np.flatnonzero(survivor != np.arange(self.n))
        near = gone[~exact[gone]]
        similarity = self.similar(near, survivor[near])
        stays = survivor == np.arange(self.n)
        r["kept"], r["star largest"] = int(stays.sum()), m["clusters"]["largest"]
        r["near copies"], r["near copies below"] = len(near), int((similarity < EDGES[0]).sum())
        both = stays[self.a] & stays[self.b]
        left = np.zeros(self.n, dtype=bool)
        left[self.a[both]] = left[self.b[both]] = True
        r["residual survivors"] = int(left.sum())
        r["residual survivors 0.7"] = len(set(self.a[both & (self.j >= 0.7)]) | set(self.b[both & (self.j >= 0.7)]))
        saved = ~np.isin(np.arange(self.n), gone)
        saved[self.a[stays[self.b]]] = saved[self.b[stays[self.a]]] = True
        r["wrongful"] = int((~saved & ~exact).sum())
        out, m = self.run("dedup", *words, "--clustering", "closure")
        survivor, _ = self.clusters(out)
        r["closure kept"], r["closure largest"] = int(m["kept"]), m["clusters"]["largest"]
        alone = self.closure[survivor] != self.closure  # equal texts too short for shingles have no true pair
        r["closure across"] = int((alone & (self.sizes > 0)).sum())
        r["closure wrongful"] = m.get("removed_unlike_survivor", -1)
        out, m = self.run("dedup", *words, "--clustering", "closure", "--verify", "none")
        r["unverified largest"], r["unverified kept"] = m["clusters"]["largest"], m["kept"]
        shutil.rmtree(out)
        return r


def main():
    p = argparse.ArgumentParser()
    p.add_argument("quern")
    p.add_argument("docs", type=pathlib.Path)
    p.add_argument("work", type=pathlib.Path)
    p.add_argument("--words", choices=["plain", "reference"], default="reference")
    p.add_argument("--seeds", type=int, default=5)
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--json", type=pathlib.Path)
    a = p.parse_args()
    a.work.mkdir(parents=True, exist_ok=True)
    kept = a.work / f"truth-{a.words}.npz"
    if not kept.exists():
        begin = time.time()
        texts = [json.loads(x)["text"] for x in open(a.docs, encoding="utf-8", newline="\n")]
        np.savez(kept, **all_pairs(texts, globals()[a.words], a.workers))
        print(f"truth: {time.time() - begin:.0f} s")
    truth = np.load(kept)
    judge = Judge(a.quern, a.docs, a.work, truth)
    counts = np.histogram(judge.j, EDGES)[0]
    print(f"{judge.n} documents; true pairs from {EDGES[0]}, by tenths: {counts.tolist()}; the closure's largest cluster "
          f"{judge.largest}, it removes {judge.n - int(judge.closure.max()) - 1}")
    results = []
    for mode, seed in [("fast", s) for s in range(1, a.seeds + 1)] + [("compat", 1)]:
        results.append(judge.judge(mode, seed))
        print(json.dumps({k: round(v, 5) if isinstance(v, float) else v for k, v in results[-1].items()}), flush=True)
    if a.json:
        a.json.write_text(json.dumps({"pairs": counts.tolist(), "largest": judge.largest, "runs": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
