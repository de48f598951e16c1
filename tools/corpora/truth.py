"""Exact all-pairs similarities of a corpus, and what a deduplicated copy of it left and lost.

    python tools/corpora/truth.py DOCS.jsonl KEPT_DIR [KEPT_DIR …]

Shares nothing with Quern: words are lower case, ASCII punctuation deleted, split at white space; shingles are 13 words;
every pair that shares a shingle is counted through a sparse product. For each KEPT_DIR (part-*.jsonl.zst, members id and
text) it prints how many of the true pairs in a band of similarity are still both there (residual), and how many removed
documents have no kept one at 0.4 and above (wrongful). Texts are matched by member id. Needs numpy, scipy, zstandard.
"""

import io
import json
import pathlib
import string
import sys

import numpy as np
import scipy.sparse as sp
import zstandard

DELETE = str.maketrans("", "", string.punctuation)
BANDS = [(0.4, 0.5), (0.5, 0.6), (0.6, 0.7), (0.7, 0.8), (0.8, 1.01)]


def shingles(text, k=13):
    words = text.lower().translate(DELETE).split()
    return {hash(" ".join(words[i : i + k])) for i in range(len(words) - k + 1)}


def pairs(docs):
    index, rows, sizes = {}, [], []
    indptr = [0]
    for text in docs:
        s = shingles(text)
        rows.append(np.fromiter((index.setdefault(h, len(index)) for h in s), dtype=np.int64, count=len(s)))
        sizes.append(len(s))
        indptr.append(indptr[-1] + len(s))
    m = sp.csr_matrix((np.ones(indptr[-1], dtype=np.int32), np.concatenate(rows), indptr), shape=(len(docs), len(index)))
    m = m[:, np.asarray(m.sum(axis=0)).ravel() > 1].tocsr()
    sizes, t, out = np.array(sizes), m.T.tocsr(), []
    for first in range(0, len(docs), 1000):
        c = (m[first : first + 1000] @ t).tocoo()
        a, b, n = c.row + first, c.col, c.data
        a, b, n = a[a < b], b[a < b], n[a < b]
        j = n / (sizes[a] + sizes[b] - n)
        keep = j >= 0.4
        out.append(np.rec.fromarrays([a[keep], b[keep], j[keep]], names="a,b,j"))
    return np.concatenate(out).view(np.recarray)


def kept_ids(folder):
    ids = set()
    for part in sorted(pathlib.Path(folder).glob("part-*.jsonl.zst")):
        with zstandard.ZstdDecompressor().stream_reader(part.open("rb"), read_across_frames=True) as raw:
            for line in io.TextIOWrapper(raw, encoding="utf-8", newline="\n"):
                ids.add(json.loads(line)["id"])
    return ids


def main(docs, folders):
    ids, texts = [], []
    for line in open(docs, encoding="utf-8", newline="\n"):
        d = json.loads(line)
        ids.append(d["id"])
        texts.append(d["text"])
    p = pairs(texts)
    print(f"{len(ids)} documents, {len(p)} pairs at 0.4 and above")
    for folder in folders:
        kept = kept_ids(folder)
        here = np.array([i in kept for i in ids])
        both = here[p.a] & here[p.b]
        cells = [f"{lo:.1f}: {both[(p.j >= lo) & (p.j < hi)].sum()} of {((p.j >= lo) & (p.j < hi)).sum()}" for lo, hi in BANDS]
        saved = np.zeros(len(ids), dtype=bool)
        saved[p.a[here[p.b]]] = True
        saved[p.b[here[p.a]]] = True
        seen, twins = {}, 0  # copies without shingles count as saved by an equal text
        for i, text in enumerate(texts):
            if here[i]:
                seen[text] = True
        for i, text in enumerate(texts):
            if not here[i] and not saved[i]:
                twins += text in seen
        lost = int((~here & ~saved).sum()) - twins
        print(f"{folder}: {here.sum()} kept; pairs left, " + ", ".join(cells) + f"; wrongful {lost}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
