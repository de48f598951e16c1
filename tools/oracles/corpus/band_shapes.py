"""Goldens for quern/corpus/sketch: the LSH bands that datasketch chooses for a threshold, and the probabilities they have.

    python tools/oracles/corpus/band_shapes.py quern/corpus/sketch/testdata/band_shapes.json

A row is [threshold, rows, weight of false positives, bands, rows per band, area of false positives, of false negatives];
the weight of false negatives is what is left of 1. Needs datasketch (2.0.0), whose optimizer integrates by scipy's quad.
"""

import json
import sys

from datasketch.lsh import _false_negative_probability, _false_positive_probability, _optimal_param

THRESHOLDS = [round(0.05 * i, 2) for i in range(1, 20)] + [0.33, 0.72, 0.97, 0.99]


def main(path):
    rows = []
    for signature in (32, 112, 128, 240):
        for weight in (0.5, 0.1, 0.9):
            for t in THRESHOLDS:
                b, r = _optimal_param(t, signature, weight, 1 - weight)
                areas = _false_positive_probability(t, b, r), _false_negative_probability(t, b, r)
                rows.append([t, signature, weight, b, r, *(round(a, 9) for a in areas)])
    with open(path, "w", encoding="utf-8") as f:
        f.write("[\n" + ",\n".join(json.dumps(r, separators=(",", ":")) for r in rows) + "\n]\n")


if __name__ == "__main__":
    main(sys.argv[1])
