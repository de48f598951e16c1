"""What Gopher's quality and repetition rules, C4's cleaning, FineWeb's rules and the masking of addresses say about some
texts: a transcription of the papers with Python's own string functions and regular expressions, independent of the
C++ code. The cuts are the documented ones (quern/corpus/text/text_pieces.h): words at white space, lines at line feeds.

    python tools/oracles/corpus/quality_filters.py > quern/corpus/filters/testdata/quality_filters.json
    python tools/oracles/corpus/quality_filters.py DOCS.jsonl > reasons.jsonl      one line a document and filter
"""

import collections
import ipaddress
import json
import random
import re
import string
import sys

PUNCT = string.punctuation


def gopher_quality(text):
    words, lines = text.split(), text.split("\n")
    cores = [c for c in (w.strip(PUNCT) for w in words) if c]
    n = len(words)
    mean = sum(map(len, cores)) / len(cores) if cores else 0
    stop = {c.lower() for c in cores} & {"the", "be", "to", "of", "and", "that", "have", "with"}
    letters = sum(any(ch.isalpha() for ch in w) for w in words)
    bullets = sum(l.strip().startswith(("-", "•")) for l in lines)
    trailing = sum(l.strip().endswith(("...", "…")) for l in lines)
    rules = [
        ("words<50", n < 50),
        ("words>100000", n > 100000),
        ("mean_word<3", mean < 3),
        ("mean_word>10", mean > 10),
        ("hashes>0.1", n and text.count("#") / n > 0.1),
        ("ellipses>0.1", n and (text.count("...") + text.count("…")) / n > 0.1),
        ("bullet_lines>0.9", bullets / len(lines) > 0.9),
        ("ellipsis_lines>0.3", trailing / len(lines) > 0.3),
        ("letter_words<0.8", (letters / n if n else 0) < 0.8),
        ("stop_words<2", len(stop) < 2),
    ]
    return [r for r, fails in rules if fails], text


def again(pieces):
    seen, count, chars = set(), 0, 0
    for p in pieces:
        if p in seen:
            count, chars = count + 1, chars + len(p)
        seen.add(p)
    return count, chars


def gopher_repetition(text):
    failing = []
    whole = len(text)

    def share(n):
        return n / whole if whole else 0

    for name, pieces in (("paragraph", re.split(r"\n{2,}", text.strip())), ("line", re.split(r"\n+", text))):
        count, chars = again(pieces)
        if count / len(pieces) > 0.3:
            failing.append(f"{name}s>0.3")
        if share(chars) > 0.2:
            failing.append(f"{name}_chars>0.2")
    words = text.split()
    for n, most in ((2, 0.2), (3, 0.18), (4, 0.16)):
        grams = collections.Counter(" ".join(words[i : i + n]) for i in range(len(words) - n + 1))
        if grams:
            gram, times = grams.most_common(1)[0]
            if times > 1 and share(len(gram) * times) > most:
                failing.append(f"top_{n}gram>{most}")
    for n, most in ((5, 0.15), (6, 0.14), (7, 0.13), (8, 0.12), (9, 0.11), (10, 0.1)):
        seen, chars, i = set(), 0, 0
        while i + n <= len(words):
            gram = tuple(words[i : i + n])
            if gram in seen:
                chars += sum(map(len, gram))
                i += n
            else:
                seen.add(gram)
                i += 1
        if share(chars) > most:
            failing.append(f"{n}grams>{most}")
    return failing, text


SENTENCE_END = re.compile(r"[.!?…。！？]+[\"')\]”’»]*(?=\s|$)")


def sentences(text):
    ends = list(SENTENCE_END.finditer(text))
    rest = text[ends[-1].end() :] if ends else text
    return len(ends) + bool(rest.strip())


NOTICES = "terms of use|privacy policy|cookie policy|uses cookies|use of cookies|use cookies".split("|")


def ascii_lower(s):
    return "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in s)


def c4(text, any_end=False):
    kept, count, lorem, brace = [], 0, False, False
    for line in text.split("\n"):
        line = line.strip()
        words = line.split()
        if any(len(w) > 1000 for w in words):
            continue
        line = re.sub(r"\[[0-9]*\]|\[edit\]|\[citation needed\]", "", line)
        if not any_end and (line.endswith("...") or not line.endswith((".", "?", "!", '"', "'"))):
            continue
        if len(words) < 3:
            continue
        low = ascii_lower(line)
        lorem, brace = lorem or "lorem ipsum" in low, brace or "{" in low
        if "javascript" in low or any(n in low for n in NOTICES):
            continue
        count += sentences(line)
        kept.append(line)
    rules = [("lorem_ipsum", lorem), ("brace", brace), ("sentences<5", count < 5)]
    return [r for r, fails in rules if fails], "\n".join(kept)


ENDS = (".", "!", "?", '"', "'", "…", "。", "！", "？", "”", "’", "»")


def fineweb(text):
    lines = [l for l in text.split("\n") if l.strip()]
    length = len(text) - text.count("\n")
    n = len(lines)
    words = text.split()
    rules = [
        ("line_ends<0.12", (sum(l.endswith(ENDS) for l in lines) / n if n else 0) < 0.12),
        ("short_lines>0.67", n and sum(len(l) <= 30 for l in lines) / n > 0.67),
        ("repeated_line_chars>0.01", length and again(lines)[1] / length > 0.01),
        ("line_feeds_a_word>0.3", words and text.count("\n") / len(words) > 0.3),
    ]
    return [r for r, fails in rules if fails], text


EMAIL = re.compile(
    r"(?<![A-Za-z0-9_%+-])[A-Za-z0-9_%+-]+(?:\.[A-Za-z0-9_%+-]+)*@"
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,}(?![A-Za-z0-9-])"
)
NUMBER = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]\d|\d)"
IP = re.compile(rf"(?<!\d)(?<!\d\.){NUMBER}(?:\.{NUMBER}){{3}}(?!\d)(?!\.\d)", re.ASCII)


def pii(text):
    def ip(m):
        a = ipaddress.ip_address(m[0])
        stays = a.is_private or a.is_reserved or a.is_multicast or a.is_loopback or a.is_link_local
        return m[0] if stays or a in ipaddress.ip_network("100.64.0.0/10") else "<IP>"

    return [], IP.sub(ip, EMAIL.sub("<EMAIL>", text))


FILTERS = {
    "gopher-quality": gopher_quality,
    "gopher-repetition": gopher_repetition,
    "c4": c4,
    "c4-any-end": lambda t: c4(t, True),
    "fineweb": fineweb,
    "pii": pii,
}

WORDS = (
    "the be to of and that have with mill stone grain river wheel turns slowly while water falls and the miller waits for "
    "flour bread oven morning light village road cart horse sack weight measure copper bell window winter harvest "
    "extraordinarily notwithstanding a I it is 17 2024 — naïve Straße 水車 мельница don't half-open"
).split()


def prose(r, n):
    out = []
    for i in range(n):
        w = r.choice(WORDS)
        out.append(w + r.choice(["", "", "", "", "", ",", ".", ".", "?", "...", "…", '."', ";", " #", ")"]))
    return out


def document(r):
    lines = []
    for _ in range(r.randrange(1, 30)):
        kind = r.random()
        words = prose(r, r.randrange(1, 25))
        line = " ".join(words)
        if kind < 0.05:
            line = r.choice(["Terms of Use apply here.", "Please enable JavaScript now.", "We use cookies on this site.", "home", "{ x }",
                             "Lorem Ipsum dolor sit amet.", "w" * 1001 + " and so on.", "One fact.[12] More of it.[edit]", "Said [citation needed]."])
        elif kind < 0.12:
            line = "- " + line
        elif kind < 0.2 and lines:
            line = r.choice(lines)
        elif kind < 0.6:
            line += r.choice([".", "!", "?", "...", "。", '"'])
        elif kind < 0.65:
            line = "  " + line + " \t"
        lines.append(line)
        if r.random() < 0.2:
            lines.append("")
            if r.random() < 0.2:
                lines.append("")
    text = r.choice(["\n", "\n", "\n", " ", "\n\n"]).join(lines)
    if r.random() < 0.2:
        text = "\n".join([text] * r.randrange(2, 4))
    return text


ADDRESSES = [
    "write to ana.b+c@mail.example.org, or (ben@x.co).", "not.@x.org a..b@x.org @x.org x@y x@y.z x@-a.org x@a-.org", "a@b.c1 a@b.co1 q@w.er-t.com-",
    ".dot@start.org and tail@end.org.", "8.8.8.8 and 10.1.2.3, 192.168.0.1; 172.16.9.9 172.32.9.9 127.0.0.1", "version 1.2.3.4.5 and 256.1.1.1 and 01.2.3.4",
    "9.9.9.9.", "x9.9.9.9y 9.9.9.9:80 1.1.1.1/24", "100.64.1.1 100.128.1.1 169.254.0.9 198.18.0.1 203.0.113.7 224.0.0.1 0.1.2.3", "11.22.33.44.", "5.5.5", "1.2.3.400", "a@b@c.org",
]


def cases():
    r = random.Random(7)
    texts = ["", "\n", "\n\n", "word", "one two three.", " \n \n", *ADDRESSES]
    texts += [document(r) for _ in range(60)]
    return texts


def main():
    if len(sys.argv) > 1:
        for i, line in enumerate(open(sys.argv[1], encoding="utf-8", newline="\n")):
            text = json.loads(line)["text"]
            for name, f in FILTERS.items():
                failing, out = f(text)
                print(json.dumps({"row": i, "filter": name, "failing": failing, "changed": out != text}))
        return
    rows = []
    for t in cases():
        row = {"text": t}
        for name, f in FILTERS.items():
            failing, out = f(t)
            row[name] = {"failing": failing, "text": None if out == t else out}
        rows.append(row)
    print("[" + ",\n".join(json.dumps(r, ensure_ascii=False) for r in rows) + "]")


main()
