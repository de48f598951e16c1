"""Controlled additions: documents altered in known ways are put beside a real corpus, and what a deduplication by Quern
makes of them is judged by the exact similarities of all pairs.

    python tools/corpora/additions.py QUERN DOCS.jsonl WORK [--every N] [--each N] [--seeds N] [--json FILE]

The base is every Nth document of DOCS with 200 words and more; each kind below alters --each of them, drawn with a fixed
seed. The base is the better source, so of an addition and its origin the origin is to stay.
  substitute-P   P of a hundred words replaced by words of other documents
  delete         a tenth of the words gone, in stretches of up to 30
  move           blocks of 60 words in another order
  frame          another head and foot of 40 words each
  joined         two documents behind one another
  noise          other case, punctuation, spaces, wide letters: the same words once they are normalised
  cut            the first 60 of a hundred words
  twelve         the first twelve words: too short for a shingle
  chain          windows over one long text, neighbours alike by 0.45, others hardly
  equal          the text as it is
The truth is truth.py's: ftfy's and NLTK's words, exact Jaccard of all pairs. Told for each kind:
  like           additions truly at 0.4 and above to a document of the base or another addition
  removed        removed as exact and as near copies
  left           kept, with a survivor truly at 0.4 and above (residual duplication)
  wrongful       removed, without a survivor truly at 0.4 and above
and for the base the same. Then extremes, timed at half and full size: one document of 50 MB, 10^5 copies of a page, 10^5
different texts of twelve words.
"""

import argparse
import json
import pathlib
import random
import shutil
import subprocess
import time

import numpy as np
import truth

WIDE = {c: 0xFEE0 + c for c in range(0x21, 0x7F)}
PLENTY = 200  # words of a document of the base


def stretches(r, n, share, longest):
    """Places to delete: True where a word goes."""
    gone = np.zeros(n, dtype=bool)
    while gone.sum() < share * n:
        at = r.randrange(n)
        gone[at : at + r.randrange(1, longest)] = True
    return gone


class Additions:
    def __init__(self, base, seed):
        self.base, self.r = base, random.Random(seed)
        self.words = [t.split() for t in base]

    def other_words(self, n):
        return [self.r.choice(self.r.choice(self.words)) for _ in range(n)]

    def substitute(self, words, share):
        return [self.other_words(1)[0] if self.r.random() < share else w for w in words]

    def make(self, kind, words, text):
        r = self.r
        if kind.startswith("substitute-"):
            return " ".join(self.substitute(words, int(kind.split("-")[1]) / 100))
        if kind == "delete":
            gone = stretches(r, len(words), 0.1, 30)
            return " ".join(w for w, g in zip(words, gone) if not g)
        if kind == "move":
            blocks = [words[i : i + 60] for i in range(0, len(words), 60)]
            r.shuffle(blocks)
            return " ".join(w for b in blocks for w in b)
        if kind == "frame":
            return " ".join(self.other_words(40) + words[40:-40] + self.other_words(40))
        if kind == "joined":
            return text + "\n\n" + r.choice(self.base)
        if kind == "noise":
            out = []
            for w in words:
                w = w.swapcase() if r.random() < 0.1 else w
                if w.isascii() and w.isalpha() and r.random() < 0.02:
                    w = w.translate(WIDE)
                out.append(w + (r.choice(",;:!") if r.random() < 0.1 else ""))
                out.append(r.choice([" ", "  ", "\n", "\u00a0", "\t"]))
            return "".join(out)
        if kind == "cut":
            return " ".join(words[: len(words) * 6 // 10])
        if kind == "twelve":
            return " ".join(words[:12])
        if kind == "equal":
            return text
        raise ValueError(kind)

    def chain(self, n):
        """Sets of 388 shingles; two neighbours share 388 - s of 388 + s, which is 0.45 for s = 147."""
        long = [f"{w}{i}" for i, w in enumerate(self.other_words(400 + 147 * n))]
        return [" ".join(long[147 * i : 147 * i + 400]) for i in range(n)]


KINDS = ["substitute-1", "substitute-3", "substitute-5", "substitute-10", "delete", "move", "frame", "joined", "noise", "cut",
         "twelve", "equal"]


def write(path, documents):
    with open(path, "w", encoding="utf-8") as out:
        for kind, text in documents:
            out.write(json.dumps({"text": text, "kind": kind}, ensure_ascii=False) + "\n")


def dedup(quern, out, inputs, *words):
    shutil.rmtree(out, ignore_errors=True)
    begin = time.time()
    subprocess.run([quern, "--threads", "1", "corpus", "dedup", *inputs, "--out", str(out), *words], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return json.loads((out / "manifest.json").read_text()), time.time() - begin


def judge(out, kinds, n_base, t):
    n, a, b, j = len(kinds), t["a"], t["b"], t["j"]
    survivor, exact = np.arange(n), np.zeros(n, dtype=bool)
    row = lambda i: (i & truth.ROW) + n_base * (i >> 56)  # the second source's rows stand behind the base's
    for c in truth.lines(out, "clusters.jsonl.zst"):
        for d in c["removed"]:
            survivor[row(d["id"])] = row(c["survivor"])
            exact[row(d["id"])] = d["copy"] == "exact"
    stays = survivor == np.arange(n)
    like = np.zeros(n, dtype=bool)
    like[a] = like[b] = True
    beside = np.zeros(n, dtype=bool)  # a survivor at 0.4 and above
    beside[a[stays[b]]] = beside[b[stays[a]]] = True
    result = {}
    for kind in sorted(set(kinds)):
        here = np.array([k == kind for k in kinds])
        gone = here & ~stays
        result[kind] = {"documents": int(here.sum()), "like": int((here & like).sum()), "exact": int((gone & exact).sum()),
                        "near": int((gone & ~exact).sum()), "left": int((here & stays & beside).sum()),
                        "wrongful": int((gone & ~exact & ~beside).sum())}
    return result


def extremes(quern, work, docs):
    page = next(t for t in docs if 300 < len(t.split()) < 400)
    big = "\n".join(docs)
    big = (big * (1 + 50_000_000 // len(big)))[:50_000_000]
    words = [w for t in docs[:50] for w in t.split()]
    r = random.Random(5)
    rows = []
    for part in (1, 2):
        n = 50_000 * part
        files = {"big": [("big", big[: 25_000_000 * part])], "copies": [("copy", page)] * n,
                 "twelve": [("twelve", " ".join([f"n{i}"] + r.choices(words, k=11))) for i in range(n)]}
        for name, documents in files.items():
            write(work / "extreme.jsonl", documents)
            m, s = dedup(quern, work / "out", [str(work / "extreme.jsonl")])
            rows.append({"what": name, "documents": len(documents), "kept": m["kept"], "largest": m["clusters"]["largest"],
                         "seconds": round(s, 2)})
            print(json.dumps(rows[-1]), flush=True)
    return rows


def main():
    p = argparse.ArgumentParser()
    p.add_argument("quern")
    p.add_argument("docs", type=pathlib.Path)
    p.add_argument("work", type=pathlib.Path)
    p.add_argument("--every", type=int, default=12)
    p.add_argument("--each", type=int, default=100)
    p.add_argument("--seeds", type=int, default=3)
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--json", type=pathlib.Path)
    a = p.parse_args()
    a.work.mkdir(parents=True, exist_ok=True)
    texts = [json.loads(x)["text"] for x in open(a.docs, encoding="utf-8", newline="\n")][:: a.every]
    texts = [t for t in texts if len(t.split()) >= PLENTY]
    made = Additions(texts, 11)
    added = []
    for kind in KINDS:
        for i in made.r.sample(range(len(texts)), a.each):
            added.append((kind, made.make(kind, made.words[i], texts[i])))
    added += [("chain", t) for t in made.chain(a.each)]
    made.r.shuffle(added)
    base = [("base", t) for t in texts]
    write(a.work / "base.jsonl", base), write(a.work / "added.jsonl", added)
    kinds = [k for k, _ in base + added]
    t = truth.all_pairs([x for _, x in base + added], truth.reference, a.workers)
    print(f"{len(base)} documents and {len(added)} additions; {len(t['j'])} true pairs at 0.4 and above", flush=True)
    inputs = [f"base={a.work / 'base.jsonl'}", f"added={a.work / 'added.jsonl'}"]
    runs = []
    ways = [("fast", s, "star") for s in range(1, a.seeds + 1)] + [("compat", 1, "star"), ("fast", 1, "closure")]
    for mode, seed, clustering in ways:
        m, _ = dedup(a.quern, a.work / "out", inputs, "--mode", mode, "--seed", str(seed), "--clustering", clustering)
        found = judge(a.work / "out", kinds, len(base), t)
        runs.append({"mode": mode, "seed": seed, "clustering": clustering, "kept": m["kept"], "kinds": found})
        print(f"\n{mode}, seed {seed}, {clustering}: {m['kept']} kept, largest {m['clusters']['largest']}")
        print("| kind | documents | like | exact | near | left | wrongful |\n|---|---|---|---|---|---|---|")
        for kind, f in found.items():
            print(f"| {kind} |" + "".join(f" {f[k]} |" for k in ("documents", "like", "exact", "near", "left", "wrongful")))
    print()
    rows = extremes(a.quern, a.work, texts)
    shutil.rmtree(a.work / "out")
    if a.json:
        a.json.write_text(json.dumps({"runs": runs, "extremes": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
