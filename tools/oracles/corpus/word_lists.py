"""How often list entries stand in texts, counted by Python's re as Zyda's published code counts them: every entry as a
regular expression of its own, non-overlapping, a repeated entry twice. The words are made up.

    python tools/oracles/corpus/word_lists.py quern/corpus/filters/testdata/word_lists.json
"""

import json
import random
import re
import sys

LISTS = [["ab", "abab", "b", "bab", "ab", "\u4e2d", "\u4e2d\u6587"], [" red ", " Red ", "red", "ed r", "aa", "aaa"], ["end$", "a.b", r"x\.", "[^ab]b", "(red|blue) ", "\u00e9+"]]


def main(path):
    draw = random.Random(9)
    pieces = ["a", "b", "ab", "aba", " red ", "red", " ", "Red", "x.", "xy", "end", "end\n", "\n", "blue ", "\u00e9", "\u4e2d", "\u6587", "\u4e2d\u6587", "c"]
    texts = ["", "end", "end\n", "end\n\n", " red red red ", "aaaaaaa", "abababab"]
    texts += ["".join(draw.choice(pieces) for _ in range(draw.randint(1, 60))) for _ in range(200)]
    cases = [{"text": t, "counts": [sum(len(re.findall(e, t)) for e in one) for one in LISTS]} for t in texts]
    with open(path, "w") as out:
        json.dump({"lists": LISTS, "cases": cases}, out, separators=(",", ":"))
        out.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
