"""The passages that the graders of models/passages were trained on, with their grades.

    python tools/corpora/graded_passages.py QUERN PAGES OUT

PAGES has the HTML pages of the packages in manuals.txt, PAGES/PACKAGE/…. At most 12 passages of each package are drawn with a
fixed seed; graded_passages.txt has the grades by package and by hash of the passage, and no text. Writes OUT/train.jsonl and
OUT/test.jsonl (three tenths of the packages, held out): text, package, education, reading_level. Other versions of the packages
have other passages; how many grades found none is printed.
"""

import collections
import hashlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

OTHER_LANGUAGES = ("-de", "-fr", "-es", "-it", "-ru", "-ja", "-pt-br")


def passages(text):
    all_, current = [], ""
    for paragraph in text.split("\n\n"):
        current += ("\n\n" if current else "") + paragraph[:1500]
        if len(current) >= 700:
            all_.append(current[:1500])
            current = ""
    return all_ + [current] if len(current) >= 300 else all_


def draw(quern, pages):
    rng = random.Random(5)
    for package in sorted(os.listdir(pages)):
        if package.endswith(OTHER_LANGUAGES):
            continue
        files = [p for p in (pages / package).rglob("*") if p.suffix in (".html", ".htm", ".xhtml") and p.is_file() and p.stat().st_size < 300000]
        if len(files) < 5:
            continue
        files.sort(key=str)
        rng.shuffle(files)
        with tempfile.TemporaryDirectory() as d:
            for i, file in enumerate(files[:30]):
                shutil.copy(file, f"{d}/{i:03}.html")
            rows = subprocess.run([quern, "corpus", "extract", d, "--out", "-"], stdout=subprocess.PIPE, check=True).stdout
        count = 0
        for row in rows.splitlines():
            if found := passages(json.loads(row)["text"]):
                yield package, rng.choice(found)
                count += 1
            if count == 12:
                break


def main(quern, pages, out):
    grades = collections.defaultdict(list)
    for line in open(pathlib.Path(__file__).with_suffix(".txt"), encoding="utf-8", newline="\n"):
        if not line.startswith("#"):
            part, package, key, education, level = line.split()
            grades[package, key].append((part, float(education), float(level)))
    found = set()
    files = {part: open(pathlib.Path(out) / f"{part}.jsonl", "w", encoding="utf-8", newline="\n") for part in ("train", "test")}
    for package, text in draw(quern, pathlib.Path(pages)):
        key = package, hashlib.sha256(text.encode()).hexdigest()[:16]
        if key not in grades:
            continue
        found.add(key)
        part, education, level = grades[key][0]
        row = {"text": text, "package": package, "education": education, "reading_level": level}
        files[part].write(json.dumps(row, ensure_ascii=False) + "\n")
    print(f"{len(found)} passages; {len(grades) - len(found)} grades have none in these versions of the packages")


if __name__ == "__main__":
    main(*sys.argv[1:])
