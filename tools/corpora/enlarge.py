"""A corpus of any size from a small one, for measuring memory and time: the documents over and over, each round in other
letters.

    python tools/corpora/enlarge.py DOCS.jsonl OUT.jsonl GIGABYTES [--same PERCENT]

A round replaces the ASCII letters by others (one permutation a round, drawn with a fixed seed; a vowel stays a vowel), so
that copies and near copies within a round stay what they are, and documents of different rounds have no word in common but
short ones. PERCENT of the documents (5) keep their letters: they are exact copies in all rounds.
"""

import argparse
import json
import random

VOWELS, OTHERS = "aeiou", "bcdfghjklmnpqrstvwxyz"


def letters(r):
    to = {}
    for group in (VOWELS, OTHERS):
        to.update(zip(group, r.sample(group, len(group))))
    table = bytearray(range(256))
    for a, b in to.items():
        table[ord(a)], table[ord(a.upper())] = ord(b), ord(b.upper())
    return bytes(table)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("docs")
    p.add_argument("out")
    p.add_argument("gigabytes", type=float)
    p.add_argument("--same", type=float, default=5)
    a = p.parse_args()
    texts = [json.loads(x)["text"].encode() for x in open(a.docs, encoding="utf-8", newline="\n")]
    r, text, n = random.Random(3), 0, 0
    keeps = [r.random() * 100 < a.same for _ in texts]
    with open(a.out, "w", encoding="utf-8", newline="\n") as out:
        while text < a.gigabytes * 1e9:
            table = letters(r)
            for t, keep in zip(texts, keeps):
                t = t if keep else t.translate(table)
                out.write('{"text":' + json.dumps(t.decode(), ensure_ascii=False) + "}\n")
                text, n = text + len(t), n + 1
                if text >= a.gigabytes * 1e9:
                    break
    print(f"{n} documents, {text / 1e9:.2f} GB of text")


if __name__ == "__main__":
    main()
