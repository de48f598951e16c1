"""Vectors of the shipped word encoder, computed with NumPy from models/words/words.bin by the format that
quern/encoders/words/word_encoder.h describes. The texts are of words that are their own stems.

    python tools/oracles/encoders/words.py            (numpy)
"""

import json
import pathlib
import struct

import numpy as np

ROOT = pathlib.Path(__file__).parents[3]
MAGIC = b"quern-words-1\n"
TEXTS = ["dog", "car price", "kernel file system disk", "boat river boat", "qqqqxyz dog"]


def main():
    data = (ROOT / "models/words/words.bin").read_bytes()
    assert data.startswith(MAGIC)
    rows, width, letters, _ = struct.unpack_from("<IIIQ", data, len(MAGIC))
    at = len(MAGIC) + 20
    words = data[at : at + letters].decode().splitlines()
    at += letters
    scales = np.frombuffer(data, "<f4", rows, at)
    packed = np.frombuffer(data, np.uint8, rows * width // 2, at + 4 * rows).reshape(rows, width // 2)
    table = np.stack([packed & 15, packed >> 4], axis=2).reshape(rows, width).astype(np.float64) - 8
    table *= scales[:, None]
    out = []
    for text in TEXTS:
        known = sorted({words.index(w) for w in text.split() if w in words})
        v = table[known].sum(axis=0)
        v /= np.linalg.norm(v)
        out.append({"text": text, "vector": [round(float(x), 7) for x in v]})
    target = ROOT / "quern/encoders/words/testdata/vectors.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text("[\n" + ",\n".join(json.dumps(o) for o in out) + "\n]\n")


if __name__ == "__main__":
    main()
