"""Makes tests/goldens/recall/{gram.json,walks.json}: TF-IDF by scikit-learn and its thresholded Gram matrix; on random
graphs personalised PageRank by igraph (PRPACK) and successor representations by a dense inverse (numpy).

    python tools/oracles/recall/graph_and_walks.py [ROOT]
"""
import json
import random
import sys
from pathlib import Path

import igraph
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

out = Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "tests/goldens/recall"
rng = random.Random(11)
vocabulary = [f"w{i}" for i in range(200)]
weights = [1 / (i + 3) for i in range(200)]
documents = sorted({" ".join(sorted(rng.choices(vocabulary, weights, k=rng.randint(1, 14)))) for _ in range(120)})
rng.shuffle(documents)
x = TfidfVectorizer(token_pattern=r"\w+").fit_transform(documents)
s = (x @ x.T).toarray()
pairs = [[i, j, round(float(s[i, j]), 7)] for i in range(len(documents)) for j in range(i) if s[i, j] >= 0.1]
query = "w1 w5 w40 w40 w3"
v = TfidfVectorizer(token_pattern=r"\w+").fit(documents)
similar = (v.transform(documents) @ v.transform([query]).T).toarray()[:, 0]
(out / "gram.json").write_text(json.dumps({"documents": documents, "threshold": 0.1, "pairs": pairs, "query": query,
                                           "similar": [round(float(w), 7) for w in similar]}) + "\n")

walks = []
for directed, n, m, seed in ((False, 40, 90, 1), (False, 60, 50, 2), (True, 30, 120, 3), (True, 50, 260, 4)):
    r = np.random.default_rng(seed)
    edges = {}
    for _ in range(m):
        a, b = int(r.integers(n)), int(r.integers(n))
        edges[(a, b) if directed else (max(a, b), min(a, b))] = float(np.float32(r.uniform(0.1, 1)))
    for a in range(n):  # no node without an edge out
        edges.setdefault((a, a), float(np.float32(0.5)))
    w = np.zeros((n, n))
    for (a, b), x in edges.items():
        w[a, b] = x
        if not directed:
            w[b, a] = x
    p = w / w.sum(1, keepdims=True)
    cue = r.uniform(size=n) * (r.uniform(size=n) < 0.2)
    cue[3] += 0.1
    cue /= cue.sum()
    reward = r.uniform(size=n)
    g = igraph.Graph(n=n, edges=[(a, b) for a in range(n) for b in range(n) if w[a, b] > 0], directed=True)
    g.es["weight"] = [w[e.source, e.target] for e in g.es]
    entry = {"directed": directed, "nodes": n, "edges": [[a, b, x] for (a, b), x in edges.items()],
             "cue": cue.tolist(), "reward": reward.tolist(), "runs": []}
    for alpha in (0.6, 0.15, 0.05):
        pi = np.array(g.personalized_pagerank(damping=1 - alpha, reset=cue.tolist(), weights="weight",
                                              implementation="prpack"))
        successor = np.linalg.inv(np.eye(n) - (1 - alpha) * p)
        assert abs(pi - alpha * cue @ successor).max() < 1e-8
        entry["runs"].append({"alpha": alpha, "pagerank": [round(float(x), 12) for x in pi],
                              "values": [round(float(x), 10) for x in successor @ reward],
                              "row_3": [round(float(x), 10) for x in successor[3]]})
    walks.append(entry)
(out / "walks.json").write_text(json.dumps(walks) + "\n")
print(len(documents), "documents,", len(pairs), "pairs,", len(walks), "graphs")
