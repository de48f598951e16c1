"""Quern's recall beside its peers, in one run on one machine: bm25s and rank-bm25 (BM25 in Python), SQLite FTS5 (BM25 in
C) and igraph (personalised PageRank). Prints a table and writes build/peers/recall.json.

    python bench/peers/recall.py QUERN [--documents N] [--queries N] [--pairs N]

All index the same made-up documents (words by Zipf's law) from raw text and answer the same queries, one thread each.
bm25s, method "lucene", has the same formula: scores must agree to 1e-4 or the run fails. A ratio is the median of
`pairs` alternating measurements. Packages: bm25s, rank_bm25, igraph, numpy, scipy.
"""
import argparse
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from machine import headline, machine

os.environ.setdefault("OMP_NUM_THREADS", "1")
import bm25s
import igraph
import numpy as np
from rank_bm25 import BM25Okapi


def corpus(documents, queries, rng):
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = sorted({"".join(rng.choice(letters, rng.integers(2, 10))) for _ in range(60000)})
    rng.shuffle(words)
    p = 1 / (np.arange(len(words)) + 2.7)
    p /= p.sum()
    text = [" ".join(words[i] for i in rng.choice(len(words), rng.integers(8, 40), p=p)) for _ in range(documents)]
    ask = [" ".join([words[i] for i in rng.choice(len(words), 3, p=p)] + [words[i] for i in rng.integers(50, 5000, 4)])
           for _ in range(queries)]
    return text, ask


def timed(f):
    start = time.perf_counter()
    r = f()
    return time.perf_counter() - start, r


def run_quern(quern, folder, *flags):
    out = subprocess.run([quern, "--threads", "1", "recall", "speed", folder / "d", folder / "q", *flags],
                         check=True, capture_output=True, text=True)
    return json.loads(out.stdout)


def with_bm25s(text, ask, k):
    def build():
        tokens = bm25s.tokenize(text, stopwords=None, token_pattern=r"(?u)\b\w+\b", show_progress=False)
        index = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
        index.index(tokens, show_progress=False)
        return index
    index_s, index = timed(build)
    asked = [a.split() for a in ask]

    def answer():
        return [index.retrieve([a], k=k, show_progress=False, n_threads=1) for a in asked]
    answer()
    query_s, found = timed(answer)
    return index_s, query_s, [list(zip(f[0][0].tolist(), f[1][0].tolist())) for f in found]


def with_rank_bm25(text, ask, k, few):
    index_s, index = timed(lambda: BM25Okapi([t.split() for t in text]))
    query_s, _ = timed(lambda: [np.argpartition(index.get_scores(a.split()), -k)[-k:] for a in ask[:few]])
    return index_s, query_s * len(ask) / few


def with_fts5(text, ask, k):
    def build():
        db = sqlite3.connect(":memory:")
        db.execute("create virtual table t using fts5(x, content='', tokenize='unicode61')")
        db.executemany("insert into t(rowid, x) values (?, ?)", enumerate(text))
        db.commit()
        return db
    index_s, db = timed(build)
    match = [" OR ".join(f'"{w}"' for w in a.split()) for a in ask]
    query_s, _ = timed(lambda: [db.execute("select rowid from t where t match ? order by rank limit ?", (m, k)).fetchall()
                                for m in match])
    return index_s, query_s


def with_igraph(nodes, degree, rng, asks):
    edges = rng.integers(0, nodes, (nodes * degree // 2, 2))
    g = igraph.Graph(n=nodes, edges=edges.tolist())
    seconds, _ = timed(lambda: [g.personalized_pagerank(damping=0.4, reset_vertices=int(v)) for v in range(asks)])
    return seconds / asks


def main():
    a = argparse.ArgumentParser()
    a.add_argument("quern")
    a.add_argument("--documents", type=int, default=40000)
    a.add_argument("--queries", type=int, default=300)
    a.add_argument("--pairs", type=int, default=3)
    a.add_argument("-k", type=int, default=10)
    o = a.parse_args()
    rng = np.random.default_rng(1)
    text, ask = corpus(o.documents, o.queries, rng)
    with tempfile.TemporaryDirectory() as t:
        folder = Path(t)
        (folder / "d").write_text("\n".join(text) + "\n")
        (folder / "q").write_text("\n".join(ask) + "\n")
        rows = {"bm25s": [], "rank-bm25": [], "sqlite fts5": []}
        for pair in range(o.pairs):
            mine = run_quern(o.quern, folder, "-k", str(o.k), "--rounds", "1", "--no-graph", "--show", str(o.queries))
            q_index, q_query = mine["bm25_index_s"], o.queries / mine["bm25_query"]["per_second"]
            index_s, query_s, found = with_bm25s(text, ask, o.k)
            for theirs, ours in zip(found, mine["results"]):
                theirs = [s for _, s in theirs if s > 0]
                ours = [s for _, s in ours]
                if len(theirs) != len(ours) or any(abs(x - y) > 1e-4 * max(1, x) for x, y in zip(theirs, ours)):
                    sys.exit(f"scores differ: {theirs} {ours}")
            rows["bm25s"].append((index_s, query_s, q_index, q_query))
            rows["sqlite fts5"].append((*with_fts5(text, ask, o.k), q_index, q_query))
            if pair == 0:
                rows["rank-bm25"].append((*with_rank_bm25(text, ask, o.k, 20), q_index, q_query))
        graph = run_quern(o.quern, folder, "-k", str(o.k), "--rounds", "1")
    here = machine(o.quern)
    print(headline(here))
    out = {"machine": here, "documents": o.documents, "words": mine["words"], "queries": o.queries, "peers": {}}
    print(f"{o.documents} documents, {mine['words']} words, {o.queries} queries, k = {o.k}, one thread, {o.pairs} pairs")
    print(f"{'':14}{'index s':>10}{'quern s':>10}{'ratio':>8}{'query ms':>11}{'quern ms':>11}{'ratio':>8}")
    for name, r in rows.items():
        m = [statistics.median(x) for x in zip(*r)]
        ratios = [statistics.median(x[0] / x[2] for x in r), statistics.median(x[1] / x[3] for x in r)]
        out["peers"][name] = {"index_s": m[0], "query_ms": 1000 * m[1] / o.queries, "quern_index_s": m[2],
                              "quern_query_ms": 1000 * m[3] / o.queries, "index_ratio": ratios[0], "query_ratio": ratios[1]}
        print(f"{name:14}{m[0]:10.3f}{m[2]:10.3f}{ratios[0]:8.1f}{1000 * m[1] / o.queries:11.3f}"
              f"{1000 * m[3] / o.queries:11.3f}{ratios[1]:8.1f}")
    degree = max(2, graph["edges"] // o.documents)
    pagerank = with_igraph(o.documents, degree, rng, 5) * 1000
    walk = graph["mixpr_query_1e-6"]["median_ms"]
    out["pagerank"] = {"igraph_ms": pagerank, "quern_push_ms": walk, "nodes": o.documents, "degree": degree}
    print(f"personalised PageRank, {o.documents} nodes of degree {degree}: igraph (PRPACK, whole vector) {pagerank:.2f} ms, "
          f"MixPR query by push {walk:.3f} ms")
    Path("build/peers").mkdir(parents=True, exist_ok=True)
    Path("build/peers/recall.json").write_text(json.dumps(out, indent=2) + "\n")


main()
