"""Zyda's features and rules, transcribed a second time, with Python's re and Unicode classes.

    python tools/oracles/corpus/zyda_rules.py golden quern/corpus/filters/testdata/zyda_rules.json
    python tools/oracles/corpus/zyda_rules.py check DOCS.jsonl FILTERED_DIR

`golden` writes small hard texts with every count. `check` judges the documents of a JSON-lines file (members id, text)
and compares decisions, first reasons and all reasons with what `quern corpus filter DOCS.jsonl --reasons
--out FILTERED_DIR` wrote, and the squeezed texts with what it kept.
"""

import json
import pathlib
import random
import re
import sys

SQUEEZE = [("-", 10), (" ", 40), ("_", 10), ("/", 10), ("\\", 10), ("\n", 10), ("\t", 20), ("\r", 10), (".", 10), (",", 10),
           (":", 10), ("?", 10), ("\u00a0", 10)]
PATTERNS = {"xml": "xml", "xml_version": "<?xml version=", "lorem_ipsum": "lorem ipsum", "https": "https://", "less": "<",
            "greater": ">", "quote_colon": '":', "www": "www."}
NAMES = ("length<100 mean_word<3 mean_word>12 symbols>0.3 digits>0.2 runs>50 xml>10 xml_version>1 lorem_ipsum>2 "
         "https>0.002 less>0.03 quote_colon>0.002 www>0.01").split()


def squeeze(text):
    for char, least in SQUEEZE:
        text = re.sub(re.escape(char) + "{%d,}" % least, lambda m: char, text)
    return text


def features(text):
    words = re.split(r"[\s\-/\\.]", text)
    squeezed = squeeze(text)
    f = {k: len(re.findall(p, text)) for k, p in PATTERNS.items()}
    f["chars"] = len(text)
    f["separators"] = len(words) - 1
    f["symbols"] = len(re.findall(r"[^\w\s]", text))
    f["digits"] = len(re.findall(r"\d", text))
    f["length"] = len(squeezed)
    f["runs"] = len(re.findall(r"(\w)\1{6,}", squeezed))
    f["mean"] = sum(map(len, words)) / len(words) if text else 0
    return f, squeezed


def failing(f):
    chars, length = max(1, f["chars"]), max(1, f["length"])
    rules = [f["length"] < 100, f["mean"] < 3, f["mean"] > 12, f["symbols"] / chars > 0.3, f["digits"] / chars > 0.2,
             f["runs"] > 50, f["xml"] > 10, f["xml_version"] > 1, f["lorem_ipsum"] > 2, f["https"] / length > 0.002,
             f["less"] / length > 0.03, f["quote_colon"] / length > 0.002, f["www"] / length > 0.01]
    return [NAMES[i] for i, bad in enumerate(rules) if bad]


def golden(path):
    draw = random.Random(4)
    pieces = ["xml", "<?xml version=", "?xml version=", "xml version", "lorem ipsum", "https://", "http://", '":', '": ', "www.",
              "wwww", "www\n", "www\u00e9", "wwwwwwwwwww", "<", ">", "aaaaaaa", "bbbbbb", "\u00e9" * 7, "\u4e2d" * 8, "1234567",
              "_" * 9, "_" * 10, "-" * 9, "-" * 10, "-" * 33, " " * 39, " " * 40, "\t" * 19, "\t" * 20, "\n" * 10, "\r" * 10,
              "." * 12, ",:?/" * 3, "\\" * 10, "\u00a0" * 10, "\u00a0" * 9, "\u00a0" * 4, "\u0663\u0664", "\u00bd", "\u2014", "\u2028",
              "\u001c", "\U0001f600", "word", " ", ". ", "a-b", "c/d", "e\\f", "Some longer words follow here", "\u0130"]
    texts = ["", "a", "\n", "x" * 100, "www", "wwwa", "ordinary text with words. " * 8]
    for _ in range(160):
        texts.append("".join(draw.choice(pieces) for _ in range(draw.randint(1, 40))))
    for n in range(25, 40):  # ends at every place of a block
        texts.append("x" * n + draw.choice(pieces))
        texts.append("word " * 14 + "y" * n + draw.choice(pieces) + draw.choice(pieces))
    cases = []
    for t in texts:
        f, squeezed = features(t)
        cases.append({"text": t, "squeezed": None if squeezed == t else squeezed, "failing": failing(f), **f})
    with open(path, "w") as out:
        json.dump(cases, out, separators=(",", ":"))
        out.write("\n")


def check(docs, folder):
    reasons = {}
    for line in open(pathlib.Path(folder) / "reasons.jsonl", encoding="utf-8"):
        r = json.loads(line)
        reasons[r["row"]] = r["failing"]
    read = differ = dropped = 0
    first = {}
    for row, line in enumerate(open(docs, encoding="utf-8")):
        f, _ = features(json.loads(line)["text"])
        bad = failing(f)
        read += 1
        dropped += bool(bad)
        if bad:
            first[bad[0]] = first.get(bad[0], 0) + 1
        if bad != reasons.get(row, []):
            differ += 1
            print("row", row, "here", bad, "there", reasons.get(row, []))
    print(f"{read} documents, {dropped} rejected, {differ} judged differently; first reasons {first}")
    sys.exit(differ > 0)


if __name__ == "__main__":
    golden(sys.argv[2]) if sys.argv[1] == "golden" else check(sys.argv[2], sys.argv[3])
