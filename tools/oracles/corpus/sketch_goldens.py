"""Goldens for quern/corpus: what datasketch, numpy, ftfy and NLTK say about sketches.

    python tools/oracles/corpus/sketch_goldens.py quern/corpus/sketch/testdata/sketch.json

Needs datasketch, numpy, ftfy and nltk. Rows are datasketch 1.5.9's arithmetic in numpy (its releases from 2 on draw other
constants). Murmur3 is written out here after its public description. The normaliser is
the reference pipeline's (ftfy with NFC, lower case, punctuation deleted, white space collapsed, NLTK's word tokenizer).
"""

import hashlib
import json
import re
import string
import struct
import sys
import unicodedata

import ftfy
import numpy as np
from datasketch.lsh import _optimal_param
from nltk.tokenize import NLTKWordTokenizer

GOLDEN = (
    "The quick brown fox jumps over the lazy dog. It\u2019s \u201cquoted\u201d \u2014 and costs $3.50; cannot stop, "
    "gonna go! See http://x.org/a_b?c=1 now, please."
)
DELETE = str.maketrans("", "", string.punctuation)
WORDS = NLTKWordTokenizer()
# NLTK 3.8.1, which the published pipeline pins, has no rule for dashes.
WORDS.PUNCTUATION = [(r, to) for r, to in WORDS.PUNCTUATION if "u2012" not in r.pattern]


def normalise(text, mend=True):
    if mend:
        text = ftfy.fix_text(text, normalization="NFC")
    return re.sub(r"\s+", " ", text.lower().translate(DELETE).strip())


def shingles(tokens, k=13):
    return [" ".join(tokens[i : i + k]) for i in range(len(tokens) - k + 1)]


def sha1_32(text):
    return struct.unpack("<I", hashlib.sha1(text.encode()).digest()[:4])[0]


P = np.uint64((1 << 61) - 1)


def permutations(rows, seed):
    draw = np.random.RandomState(seed)
    pairs = [(draw.randint(1, P, dtype=np.uint64), draw.randint(0, P, dtype=np.uint64)) for _ in range(rows)]
    return np.array(pairs, dtype=np.uint64).T


def minima(hashes, a, b):
    rows = np.full(len(a), 0xFFFFFFFF, dtype=np.uint64)
    for h in hashes:
        rows = np.minimum(rows, (a * np.uint64(h) + b) % P & np.uint64(0xFFFFFFFF))
    return rows.tolist()


def murmur3(data, seed):
    mask, h = 0xFFFFFFFF, seed
    rot = lambda x, n: ((x << n) | (x >> (32 - n))) & mask
    part = lambda k: rot(k * 0xCC9E2D51 & mask, 15) * 0x1B873593 & mask
    whole = len(data) // 4 * 4
    for i in range(0, whole, 4):
        h = rot(h ^ part(int.from_bytes(data[i : i + 4], "little")), 13) * 5 + 0xE6546B64 & mask
    if data[whole:]:
        h ^= part(int.from_bytes(data[whole:], "little"))
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & mask
    h = (h ^ h >> 13) * 0xC2B2AE35 & mask
    return h ^ h >> 16


TEXTS = [
    GOLDEN,
    "",
    "  \n\t ",
    "one two three",
    "I cannot, gimme, gonna; got-ta lemme wanna\tGIMME Wanna wannabe cannots xcannot can\u00adnot",
    "wanna",
    "\u00abcannot\u00bb \u00ablemme go\u00bb a\u00bbb \u00e9cannot cannot\u00e9 \u2014cannot\u2014wanna\u2014 wanna",
    "\u201eso\u201c \u201aso\u2018 \u2039so\u203a \u2019tis o\u02bcclock",
    "AT&amp;T &lt;b&gt; &eacute;t&eacute; &#233; &#xE9; &nbsp;x &hellip; &unknownthing; &#0; &copy;2001",
    "AT&amp;T first\n<b>then</b> &amp; no more\n&amp; here",
    "\ufb01nd the \ufb02ow, \u0132ssel, \u01c4, \uff26\uff35\uff2c\uff2c width \u3000 kana \uff76\uff9e",
    "a\u2028b\u2029c\u0085d\u00a0e\u200bf\u202fg\u1680h",
    "\x1b[1mbold\x1b[0m \x07bell \x0bvt \x0cff \x1cfs \x7fdel \ufeffbom \u206a",
    "\u0130stanbul I\u0307 \u039f\u0394\u039f\u03a3 \u03a3\u039f\u03a6\u039f\u03a3. \u03a3 A\u03a3B",
    "e\u0301 o\u0308 n\u0303 \u1112\u1161\u11ab \u0915\u093c",
    "\u4e2d\u6587\u5b57\u7b26 \u0440\u0443\u0441\u0441\u043a\u0438\u0439 \u0422\u0415\u041a\u0421\u0422 \U0001f600 emoji \U0001d4d0",
    "snake_case kebab-case 3.14 a.b.c 100% C++ `code` ~tilde^ {x|y}",
    "sch\u00c3\u00b6n don\u00e2\u20ac\u2122t caf\u00c3\u00a9 \u0093quoted\u0094 a\u0085b\nVoil\u00e0\u2026 \u00c9\u2026",
    "line one\r\nline two\rline three\n\n\nline four",
    " ".join(f"word{i % 7}" for i in range(60)),
]


def ranges(test):
    out, begin = [], None
    for c in range(0x110000 + 1):
        on = c < 0x110000 and not 0xD800 <= c < 0xE000 and test(chr(c))
        if on and begin is None:
            begin = c
        elif not on and begin is not None:
            out += [begin, c]
            begin = None
    return out


def main(path):
    a, b = permutations(128, 1)
    cases = []
    for text in TEXTS:
        tokens = WORDS.tokenize(normalise(text))
        rows = minima([sha1_32(s) for s in shingles(tokens)], a, b)
        cases.append({"text": text, "tokens": tokens, "plain": normalise(text, mend=False), "rows": rows})
    seeds = np.random.RandomState(10).randint(0, 10**6, 128).tolist()
    raw = GOLDEN[:80] + "\U0001f600\u00e9"
    windows = [raw[i : i + 25].encode() for i in range(len(raw) - 24)]
    out = {
        "a": [str(x) for x in a],
        "b": [str(x) for x in b],
        "murmur_seeds": seeds,
        "murmur": [[t, s, murmur3(t.encode(), s)] for t in ("", "a", "abc", "abcd", "hello, world") for s in (0, 1, 999)],
        "raw_text": raw,
        "raw_rows": [min(murmur3(w, s) for w in windows) for s in seeds],
        "sha1": [[t, sha1_32(t)] for t in ("", "abc", "x" * 55, "x" * 56, "x" * 63, "x" * 64, "x" * 119, "x" * 120, "y" * 300)],
        "bands": [[t, *_optimal_param(t, 128, 0.5, 0.5)] for t in (0.4, 0.5, 0.7, 0.75, 0.8, 0.85)],
        "cases": cases,
        "word_ranges": ranges(lambda c: c.isalnum() or c == "_"),
        "space_ranges": ranges(str.isspace),
        "unknown_ranges": ranges(lambda c: unicodedata.category(c) == "Cn"),
        "digit_ranges": ranges(lambda c: re.fullmatch(r"\d", c) is not None),
    }
    with open(path, "w", encoding="utf-8") as f:
        json.dump(out, f, ensure_ascii=True, separators=(",", ":"))
        f.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
