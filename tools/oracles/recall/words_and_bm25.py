"""Makes tests/goldens/recall/{stems.txt,bm25.json}: stems by NLTK's Porter stemmer (original rules), and BM25 scores by
bm25s (method "lucene") of a generated collection.

    python tools/oracles/recall/words_and_bm25.py [ROOT]
"""
import json
import random
import sys
from pathlib import Path

import bm25s
from nltk.stem import PorterStemmer

root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
out = root / "tests/goldens/recall"
out.mkdir(parents=True, exist_ok=True)

# Words of English texts, kept since they were drawn once, and stems with all endings of Porter's rules.
words = {line.split()[0] for line in (out / "stems.txt").read_text().splitlines()}
stems = "relat condition valen hesit digit conform radic differ vile analog vietnam predic operat feud decis hope callous formal sens tri contr rol".split()
ends = ("s es ed ing eed ies sses y ational tional enci anci izer abli alli entli eli ousli ization ation ator alism iveness fulness ousness "
        "aliti iviti biliti icate ative alize iciti ical ful ness ement ance ence able ible ment ant ent ion ism ate iti ous ive ize al er ic ou e ll").split()
words |= {s + e for s in stems for e in ends}
stemmer = PorterStemmer(mode=PorterStemmer.ORIGINAL_ALGORITHM)
with open(out / "stems.txt", "w") as f:
    for w in sorted(words):
        f.write(f"{w} {stemmer.stem(w)}\n")

rng = random.Random(2)
vocabulary = [f"w{i}" for i in range(300)]
weights = [1 / (i + 1) for i in range(300)]
documents = [rng.choices(vocabulary, weights, k=rng.randint(1, 60)) for _ in range(400)]
queries = [rng.choices(vocabulary, k=rng.randint(1, 3)) + rng.choices(vocabulary, weights, k=rng.randint(0, 5)) for _ in range(25)]
golden = {"documents": [" ".join(d) for d in documents], "runs": []}
for k1, b in ((0.9, 0.4), (1.5, 0.75)):
    index = bm25s.BM25(method="lucene", k1=k1, b=b, dtype="float64")
    index.index(documents, show_progress=False)
    for q in queries:
        scores = index.get_scores(q)
        order = sorted(range(len(documents)), key=lambda d: (-scores[d], d))[:10]
        golden["runs"].append({"k1": k1, "b": b, "query": " ".join(q), "ids": [d for d in order if scores[d] > 0],
                               "scores": [round(float(scores[d]), 7) for d in order if scores[d] > 0]})
(out / "bm25.json").write_text(json.dumps(golden) + "\n")
print(len(words), "words,", len(golden["runs"]), "queries")
