"""Personal data that Quern finds beside datatrove's formatter (e-mail, IPv4) and phonenumbers' matcher, on lines of documents.

    python bench/peers/corpus/personal_data.py QUERN FOLDER first|second

FOLDER holds .txt and .txt.gz files (Debian's doc-rfc packages, unpacked: people and their numbers stand at the end of each).
They are divided in two by a hash of their name. A line with an '@' or seven digits is a row; a row counts as the same when
both mask the same places. Telephone numbers are those that phonenumbers finds for the region US, without extensions, in
lines with a word for telephone or fax or a plus sign before a digit, and in the others. Writes the rows
that differ to FOLDER/HALF.differ.txt. Needs datatrove and phonenumbers.
"""

import gzip
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import phonenumbers
from datatrove.pipeline.formatters.pii import PIIFormatter

NAMED = re.compile(r"(?i)\b(tele|tel\b|phone|fax\b|voice\b)|\+ ?\d")


def lines(folder, half):
    seen = set()
    for file in sorted(pathlib.Path(folder).rglob("*.txt*")):
        name = file.name.removesuffix(".gz")
        if not name.endswith(".txt") or name.endswith("differ.txt") or file.is_symlink():
            continue
        if hashlib.sha1(name.encode()).digest()[0] % 2 != (half == "second"):
            continue
        data = gzip.decompress(file.read_bytes()) if file.name.endswith(".gz") else file.read_bytes()
        for line in data.decode("utf-8", "replace").splitlines():
            if ("@" in line or sum(c.isdigit() for c in line) >= 7) and line not in seen:
                seen.add(line)
                yield line.strip()


def by_quern(quern, texts, kinds):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as f:
        f.writelines(json.dumps({"id": n, "text": t}) + "\n" for n, t in enumerate(texts))
        f.flush()
        out = subprocess.run([quern, "corpus", "filter", f.name, "--filter", f"pii:{kinds}", "--out", "-"],
                             capture_output=True, text=True, check=True)  # fmt: skip
    rows = {row["id"]: row["text"] for row in map(json.loads, out.stdout.splitlines())}
    return [rows.get(n, t) for n, t in enumerate(texts)]


def by_datatrove(texts, **kinds):
    mask = PIIFormatter(email_replacement="<EMAIL>", ip_replacement="<IP>", **kinds)
    return [mask.format(t) for t in texts]


def by_phonenumbers(texts):
    out = []
    for t in texts:
        last, text = 0, ""
        for m in phonenumbers.PhoneNumberMatcher(t, "US"):
            end = m.start + len(re.sub(r"(?i)[ ,]*(x|ext).*$", "", m.raw_string))
            text, last = text + t[last : m.start] + "<PHONE>", end
        out.append(text + t[last:])
    return out


def compare(name, ours, theirs, texts, differ):
    masks = re.compile("<(EMAIL|IP|PHONE)>")
    found = [(len(masks.findall(a)), len(masks.findall(b))) for a, b in zip(ours, theirs, strict=True)]
    same = sum(a == b for a, b in zip(ours, theirs, strict=True))
    both = sum(min(n) for n in found)
    mine, other = (sum(n[k] for n in found) for k in (0, 1))
    print(f"{name}: {len(texts)} lines, the same {same / len(texts):.4f}; found by Quern {mine}, by the other {other}, "
          f"by both {both}: {both / max(other, 1):.4f} of the other's, {both / max(mine, 1):.4f} of Quern's")  # fmt: skip
    for a, b, t in zip(ours, theirs, texts, strict=True):
        if a != b:
            differ.write(f"{name}\t{t}\n  quern: {a}\n  other: {b}\n")


def main(quern, folder, half):
    texts = list(lines(folder, half))
    digits = [t for t in texts if sum(c.isdigit() for c in t) >= 7]
    with open(pathlib.Path(folder) / f"{half}.differ.txt", "w") as differ:
        compare("email", by_quern(quern, texts, "email"), by_datatrove(texts, remove_ips=False), texts, differ)
        compare("ipv4", by_quern(quern, texts, "ipv4"), by_datatrove(texts, remove_emails=False), texts, differ)
        for name, wanted in (("phone, named", True), ("phone, other", False)):
            part = [t for t in digits if bool(NAMED.search(t)) == wanted]
            compare(name, by_quern(quern, part, "phone"), by_phonenumbers(part), part, differ)


if __name__ == "__main__":
    main(*sys.argv[1:4])
