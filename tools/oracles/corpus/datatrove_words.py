"""Goldens for quern/corpus/text: the words that datatrove's simplify_text leaves, split at spaces.

    python tools/oracles/corpus/datatrove_words.py quern/corpus/text/testdata/datatrove_words.json

A row is [text, words]. Needs datatrove (0.10.1).
"""

import json
import sys

from datatrove.utils.text import PUNCTUATION, simplify_text

TEXTS = [
    "",
    "  \n\t ",
    "The quick brown fox, 12 years old, jumps: over 3.14 lazy dogs!",
    "1.2.3 and 1,234,567 and 1,2,,3 and 12. 7 a1b22c 0x1F 10^6 5-6",
    "don't can't \u201cquoted\u201d \u2018single\u2019 \u00abguillemets\u00bb well-known e.g. i.e. U.S.A.",
    "\u00c9t\u00e9 \u00e0 l\u2019\u00e9cole: \u00c5ngstr\u00f6m, na\u00efve, \u015a\u0107 \u0141\u00f3d\u017a, \u00f8 \u00df \u0131 \u0130stanbul",
    "\u039f\u0394\u039f\u03a3 \u03a3\u039f\u03a6\u039f\u03a3. \u0391\u03a3\u0392 \u03ac\u03ad\u03ae \u037e \u0387",
    "\u0440\u0443\u0441\u0441\u043a\u0438\u0439 \u0419\u043e\u0433\u0443\u0440\u0442 \u0401\u043b\u043a\u0430 \u0457\u0436\u0430",
    "\u0663\u0664\u066b\u0665 \u0967\u0968.\u0969 \uff11\uff12\uff0e\uff13 \u2460 \u00bd \u00b2",
    "\u4e2d\u6587\uff0c\u5b57\u7b26\u3002\u201c\u5f15\u53f7\u201d \u300c\u304b\u304c\u300d \ud55c\uad6d\uc5b4 \u30ac\u30ae",
    "\u0915\u093c \u0939\u093f\u0928\u094d\u0926\u0940 \u0e44\u0e17\u0e22\u0e19\u0e35\u0e49 \u0639\u0631\u0628\u064a\u064c",
    "a\u0301 e\u0308 \u0301alone x \u0301 y n\u0303o",
    "tabs\tand\x0bvertical\x0cform\x1cfile \x85next \xa0nbsp \u2003em\u3000wide \u200bzero \u00adsoft",
    "control\x01chars\x7f and \x9f here",
    "snake_case kebab-case a/b\\c x=y+z <tag> {curly} [square] (round) | pipe ~ tilde ^ hat ` tick $5 & 100% @me #tag *star*",
    "\u2026 \u2014 \u2013 \u2022 \u00b7 \u00b4 \u201a \u2039 \u203a \u20ac \u00a9 \u2122 \u00bf\u00a1 \u25ba \u2223 \u2236",
    "K \u212a \u2126 \u00c5 \u212b \ufb01nd \u01c4 \U0001d400 \U0001f600 \U0001f1e9\U0001f1ea",
    "It's 10:30, on 2024-02-29; v1.0.0-rc.1, +49 30 123456, 192.168.0.1, 3,000.50",
    PUNCTUATION,
    " ".join(f"a{c}b" for c in PUNCTUATION),
    " ".join(f"a{chr(c)}b" for c in range(0x21, 0x250)),
    " ".join(f"a{chr(c)}b" for c in range(0x2000, 0x2070)),
    " ".join(f"a{chr(c)}b" for c in range(0x3000, 0x3040)),
    " ".join(f"a{chr(c)}b" for c in range(0xFF00, 0xFFE0)),
]


def main(path):
    with open(path, "w", encoding="utf-8") as f:
        f.write("[\n" + ",\n".join(json.dumps([t, simplify_text(t).split()]) for t in TEXTS) + "\n]\n")


if __name__ == "__main__":
    main(sys.argv[1])
