"""Small supervised models by fastText itself (PyPI: fasttext-wheel), and its probabilities for some texts.

    python tools/oracles/corpus/fasttext_models.py quern/corpus/filters/testdata/fasttext

Three made-up languages that differ in their letters. Models: softmax with character n-grams (soft.bin), the same
quantised and pruned (soft.ftz), hierarchical softmax (tree.bin), one against all with word bigrams (ova.bin).
"""

import json
import pathlib
import random
import sys
import tempfile

import fasttext

LETTERS = {"en": "etaoinshrdlu", "qu": "aiouqwykpt", "vä": "äöåéîßnrslt"}


def word(r, letters):
    return "".join(r.choice(letters) for _ in range(r.randrange(2, 7)))


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    r = random.Random(5)
    vocabulary = {l: [word(r, s) for _ in range(60)] for l, s in LETTERS.items()}

    def text(language, n):
        return " ".join(r.choice(vocabulary[language]) if r.random() < 0.9 else word(r, LETTERS[language]) for _ in range(n))

    with tempfile.NamedTemporaryFile("w", suffix=".txt") as f:
        for language, weight in zip(LETTERS, (300, 200, 100)):
            for _ in range(weight):
                f.write(f"__label__{language} {text(language, r.randrange(3, 15))}\n")
        f.flush()
        how = dict(input=f.name, dim=6, epoch=8, bucket=600, thread=1, verbose=0, seed=3)
        models = {
            "soft.bin": fasttext.train_supervised(**how, minn=2, maxn=4),
            "tree.bin": fasttext.train_supervised(**how, minn=1, maxn=3, loss="hs"),
            "ova.bin": fasttext.train_supervised(**how, wordNgrams=2, loss="ova"),
        }
        for name, m in models.items():
            m.save_model(str(folder / name))
        small = fasttext.train_supervised(**how, minn=2, maxn=4)
        small.quantize(input=f.name, cutoff=400, retrain=False, qnorm=True, dsub=2, thread=1, verbose=0)
        small.save_model(str(folder / "soft.ftz"))
        models["soft.ftz"] = small
    texts = [text(l, n) for l in LETTERS for n in (1, 4, 20)]
    texts += ["", " ", "zzzz", "a", "Hello, World!", "水車 水車", text("en", 4) + " " + text("vä", 4), "__label__en here", "tab\tand  spaces "]
    rows = []
    for t in texts:
        row = {"text": t}
        for name, m in models.items():
            row[name] = {l: p for p, l in m.f.predict(t + "\n", 10, 0.0, "strict")}
        rows.append(row)
    (folder / "expected.json").write_text("[" + ",\n".join(json.dumps(r, ensure_ascii=False) for r in rows) + "]\n")


main()
