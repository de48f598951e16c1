r"""What deduplication of a large file kept, against exact similarities of a sample of its rows.

    python bench/peers/corpus/sampled_truth.py DOCS.jsonl KEPT [--sample N] [--seed N] [--limit X]

KEPT is the folder that peers.py --kept writes: ARM.txt with the numbers of the kept rows. Of N rows drawn at random, the
exact Jaccard similarity to every other row is counted, over windows of 13 words (lower case, punctuation deleted, split
at white space), by a hash of 64 bits of each window. Printed for every arm:
  wrong     sampled rows that were removed although no kept row is as similar as the limit
  left      sampled rows that were kept although an earlier kept row is
  found     of the sampled rows that have an earlier row as similar as 0.8, those that were removed
Rows with fewer than 13 words are left out. Needs numpy and scipy.
"""

import argparse
import json
import pathlib
import string

import numpy as np

DELETE = str.maketrans("", "", string.punctuation)
K = 13


class Words:
    """A random number of 64 bits for every word."""

    def __init__(self):
        self.known, self.random = {}, np.random.default_rng(7)
        self.factors = self.random.integers(1, 2**63, K, dtype=np.uint64) * np.uint64(2) + np.uint64(1)

    def windows(self, text):
        words = text.lower().translate(DELETE).split()
        if len(words) < K:
            return None
        for w in words:
            if w not in self.known:
                self.known[w] = int(self.random.integers(1, 2**64, dtype=np.uint64))
        values = np.array([self.known[w] for w in words], dtype=np.uint64)
        count = len(words) - K + 1
        sums = np.zeros(count, dtype=np.uint64)
        for i in range(K):
            sums += values[i : i + count] * self.factors[i]
        return np.unique(sums)


def rows(path):
    for line in open(path, encoding="utf-8", newline="\n"):
        yield json.loads(line)["text"]


def similar(path, count, number, seed, least):
    """For each sampled row: the rows at least so similar, with their similarity."""
    words = Words()
    chosen = np.sort(np.random.default_rng(seed).choice(count, number, replace=False))
    wanted, sets = set(chosen.tolist()), {}
    for i, text in enumerate(rows(path)):
        if i in wanted and (s := words.windows(text)) is not None:
            sets[i] = s
    keys = np.concatenate([s for s in sets.values()])
    owners = np.concatenate([np.full(len(s), i) for i, s in sets.items()])
    order = np.argsort(keys, kind="stable")
    keys, owners = keys[order], owners[order]
    near = {i: [] for i in sets}
    for j, text in enumerate(rows(path)):
        s = words.windows(text)
        if s is None:
            continue
        first, last = np.searchsorted(keys, s, "left"), np.searchsorted(keys, s, "right")
        hit = np.nonzero(last > first)[0]
        if not len(hit):
            continue
        shared = np.concatenate([owners[first[h] : last[h]] for h in hit])
        for i, n in zip(*np.unique(shared, return_counts=True)):
            jaccard = n / (len(sets[int(i)]) + len(s) - n)
            if j != i and jaccard >= least:
                near[int(i)].append((j, float(jaccard)))
    return near


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("docs")
    p.add_argument("kept", type=pathlib.Path)
    p.add_argument("--sample", type=int, default=2000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--limit", type=float, default=0.4)
    a = p.parse_args()
    count = sum(1 for _ in open(a.docs, "rb"))
    near = similar(a.docs, count, a.sample, a.seed, a.limit)
    early = [i for i, others in near.items() if any(j < i and s >= 0.8 for j, s in others)]
    print(f"{count} rows, {len(near)} sampled, of which {sum(bool(x) for x in near.values())} have a row at {a.limit} or above")
    print("| arm | kept | wrong | left | found |\n|---|---|---|---|---|")
    for file in sorted(a.kept.glob("*.txt")):
        kept = np.zeros(count, dtype=bool)
        kept[np.loadtxt(file, dtype=np.int64, ndmin=1)] = True
        removed = [i for i in near if not kept[i]]
        wrong = sum(not any(kept[j] for j, _ in near[i]) for i in removed)
        stay = [i for i in near if kept[i]]
        left = sum(any(kept[j] and j < i for j, _ in near[i]) for i in stay)
        found = sum(not kept[i] for i in early)
        print(f"| {file.stem} | {kept.sum()} | {wrong} of {len(removed)} | {left} of {len(stay)} | {found} of {len(early)} |")


if __name__ == "__main__":
    main()
