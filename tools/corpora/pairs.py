"""Pairs of texts that belong together, from Debian packages: what a small encoder is trained on. Downloads the packages of
pairs.txt with apt-get and writes JSON lines.

    python tools/corpora/pairs.py FOLDER [--packages FILE]

Writes FOLDER/pairs.jsonl: {"package", "kind", "a", "b"}, in an order drawn by seed. Kinds:

    heading    a heading, and the beginning of its section
    sentence   a sentence, and the sentences around it
    next       a paragraph, and the next one of the section
    manual     what the NAME line of a manual page says about it, and its DESCRIPTION
    meaning    a word with words like it, and what a dictionary says that it means; two expressions of one meaning

Of a package at most 40,000 pairs of a kind are taken, spread over all of it, and no text stands twice as `a`.
FOLDER/versions.txt names the versions that were fetched. The texts have licenses of their own: they are read here, and go
nowhere.
"""

import argparse
import gzip
import hashlib
import html
import json
import pathlib
import random
import re
import subprocess
import tarfile
from concurrent.futures import ProcessPoolExecutor

MOST = 40000
SKIP = re.compile(r"(?is)<(script|style|nav|head|svg)\b.*?</\1>|<!--.*?-->|<!DOCTYPE.*?>|<\?.*?\?>")
HEAD = re.compile(r"(?is)<(h[1-6]|title)\b[^>]*>(.*?)</\1>")
BREAK = re.compile(r"(?i)</?(p|div|li|ul|ol|tr|table|br|dd|dt|dl|section|title|item|para|note|pre|page|media|blockquote)\b[^>]*>")
TAG = re.compile(r"<[^<>]{1,600}>")
ROFF = re.compile(r"(?m)^\.\\\".*$|^['.](?!(B|I|BR|IR|RB|RI|BI|IB)\b).*$|^\.[A-Z]+ |\\f(\(..|\[[^]]*\]|.)|\\s[-+]?\d|\\[&/,:%c~ ]")
END = re.compile(r"(?<=[.!?])[\"')]*\s+(?=[A-Z\"'(])")
OTHER = re.compile(r"[./_-](ar|bg|ca|cs|da|de|el|eo|es|et|fa|fi|fr|gl|he|hr|hu|id|it|ja|ko|lt|nb|nl|pl|pt|pt[-_]br|ro|ru|sk|sl|sr|sv|tr|uk|vi|zh|zh[-_]\w+)(/|\.|$)", re.I)


def letters(text):
    return sum(c.isalpha() and c.isascii() for c in text)


def readable(text):
    return len(text) >= 30 and letters(text) > 0.72 * len(text)


def plain(text):
    return html.unescape(TAG.sub(" ", BREAK.sub("\n\n", text)))


def paragraphs(text):
    return [" ".join(p.split()) for p in re.split(r"\n\s*\n", text)]


def sections(name, text):
    """[(heading, [paragraph])] of a document."""
    if re.search(r"\.\d\w*$", name) and "/man/" in name:
        text = re.sub(r"(?m)^\.(PP|LP|P|TP|IP|Pp|It)\b.*$", "\n", text)
        parts = re.split(r"(?m)^\.S[HSh] *\"?(.*?)\"?\s*$", text)
        return [(h.capitalize(), paragraphs(ROFF.sub("", b).replace("\\-", "-"))) for h, b in zip(parts[1::2], parts[2::2])]
    if re.search(r"\.(x?html?|page|docbook|xml)$", name):
        text = SKIP.sub(" ", text)
        parts = HEAD.split(text)
        heads = [" ".join(html.unescape(TAG.sub("", h)).replace("¶", "").split()) for h in parts[2::3]]
        return list(zip(heads, [paragraphs(plain(b)) for b in parts[3::3]]))
    text = re.sub(r"(?m)^\.\. .*$|:[a-z:+-]+:(?=`)|``|\*\*|`_*|<[^>]*>", "", text)
    out, heading, body = [], "", []
    lines = text.split("\n")
    for i, line in enumerate(lines):
        under = lines[i + 1].rstrip() if i + 1 < len(lines) else ""
        marked = re.match(r"(?:#{1,6}|=head\d|==+)\s+(.*?)[\s#=]*$", line)
        if marked or (line[:1].isalnum() and len(under) >= 3 and re.fullmatch(r"([=\-~^\"'*+#:.])\1{2,}", under)):
            out.append((heading, paragraphs("\n".join(body))))
            heading, body = (marked[1] if marked else line.strip()), []
        elif not re.fullmatch(r"([=\-~^\"'*+#:.])\1{2,}", line.rstrip()):
            body.append(line)
    return out + [(heading, paragraphs("\n".join(body)))]


def pairs_of(name, text, rng):
    for heading, body in sections(name, text):
        body = [p for p in body if readable(p)]
        heading = re.sub(r"^[\d.]+\s*", "", heading)
        if not body:
            continue
        all_text = " ".join(body)
        if heading.lower() == "name" and " - " in all_text:
            yield "name", all_text.split(" - ", 1)[1][:300], ""
        if heading.lower() == "description":
            yield "description", "", all_text[:600]
        if len(re.findall(r"[A-Za-z]{3,}", heading)) >= 2 and len(all_text) >= 80:
            yield "heading", heading[:150], all_text[:600]
        for p, q in zip(body, body[1:]):
            if len(p) >= 80 and len(q) >= 80:
                yield "next", p[:500], q[:500]
        sentences = [s for p in body for s in END.split(p) if readable(s)]
        for i in range(0, len(sentences), 2):
            at = min(len(sentences) - 1, i + rng.randrange(2))
            around = " ".join(sentences[max(0, at - 3) : at] + sentences[at + 1 : at + 4])
            if len(around) >= 80 and 40 <= len(sentences[at]) <= 300:
                yield "sentence", sentences[at], around[:600]


def dictionary_pairs(name, data, rng):
    """WordNet's files, and dictd's."""
    if re.search(r"/wordnet/data\.(noun|verb|adj|adv)$", name):
        for line in data.decode("utf-8", "replace").split("\n"):
            fields = line.split(" ")
            if line.startswith(" ") or "|" not in line:
                continue
            words = [fields[4 + 2 * i].replace("_", " ").split("(")[0] for i in range(int(fields[3], 16))]
            gloss, *examples = line.split("|", 1)[1].strip().split('; "')
            yield "meaning", ", ".join(words), gloss
            for e in examples[:2]:
                yield "meaning", e.rstrip('"'), " ".join(words) + ": " + gloss
            for w in words[1:]:
                yield "meaning", words[0], w
        return
    if not name.endswith(".dict.dz"):
        return
    text = gzip.decompress(data).decode("utf-8", "replace")
    if "german" in name:  # a German head word, then English expressions for it
        for entry in re.split(r"\n(?=\S)", text if "german-english" in name else ""):
            said = re.sub(r"\[[^]]*\]|\([^)]*\)|\{[^}]*\}|/[^/]*/", "", entry.partition("\n   ")[2]).split(";")
            said = [" ".join(e.split()) for e in said]
            said = [e for e in said if 2 < len(e) < 80 and letters(e) > 0.75 * len(e)]
            for x, y in zip(said, said[1:]):
                yield "meaning", x, y
        return
    for entry in re.split(r"\n(?=\S)", text):
        head, _, body = entry.partition("\n")
        body = " ".join(re.sub(r"[{}\\\[\]]", " ", body).split())
        if readable(body) and 2 < len(head) < 60:
            yield "meaning", re.split(r"[\\<,(]", head)[0], body[:400]


def wanted(name):
    if OTHER.search(re.sub(r"^\./usr/share/(doc|man|help)/", "/", name)) or re.search(r"(?i)changelog|copyright|licen[cs]e|genindex|search\.html|/news|python3.11.*/faq/", name):
        return False
    return re.search(r"\.(x?html?|page|docbook|txt|rst|md|pod)(\.gz)?$|/man/man\d/[^/]+\.gz$|\.dict\.dz$|/wordnet/data\.\w+$", name)


def read_package(job):
    package, deb, seed = job
    rng = random.Random(f"{seed} {package}")
    kinds, seen = {}, set()
    process = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE)
    with tarfile.open(fileobj=process.stdout, mode="r|") as tar:
        for member in tar:
            if not member.isfile() or not wanted(member.name) or member.size > 1 << 27:
                continue
            data, name, described = tar.extractfile(member).read(), member.name, ""
            if name.endswith(".dict.dz") or "/wordnet/" in name:
                found = dictionary_pairs(name, data, rng)
            else:
                if name.endswith(".gz"):
                    data, name = gzip.decompress(data), name[:-3]
                found = pairs_of(name, data.decode("utf-8", "replace"), rng)
            for kind, a, b in found:
                if kind == "name":
                    described = a
                    continue
                if kind == "description":
                    kind, a = "manual", described
                h = hashlib.blake2b(a.encode(), digest_size=8).digest()
                if a and a != b and h not in seen:
                    seen.add(h)
                    kinds.setdefault(kind, []).append((a, b))
    process.wait()
    most = {"meaning": 4 * MOST}
    out = []
    for kind, found in sorted(kinds.items()):
        step = max(1, len(found) / most.get(kind, MOST))
        out += [{"package": package, "kind": kind, "a": a, "b": b} for a, b in (found[int(i * step)] for i in range(int(len(found) / step)))]
    return out


def main(folder, listing, seed):
    debs = folder / "debs"
    debs.mkdir(parents=True, exist_ok=True)
    packages = sorted(w for line in listing.read_text().splitlines() for w in line.split("#")[0].split())
    have = {f.name.split("_")[0]: f for f in sorted(debs.glob("*.deb"))}
    if missing := [p for p in packages if p not in have]:
        subprocess.run(["apt-get", "download", *missing], cwd=debs, check=True)
        have = {f.name.split("_")[0]: f for f in sorted(debs.glob("*.deb"))}
    (folder / "versions.txt").write_text("".join(f"{have[p].name}\n" for p in packages))
    rows, seen = [], set()
    with ProcessPoolExecutor(2) as pool:
        for package, found in zip(packages, pool.map(read_package, [(p, str(have[p]), seed) for p in packages])):
            before = len(rows)
            for r in found:  # no text of an earlier package again
                h = hashlib.blake2b(r["a"].encode(), digest_size=8).digest()
                if h not in seen:
                    seen.add(h)
                    rows.append(r)
            print(package, len(rows) - before, flush=True)
    random.Random(seed).shuffle(rows)
    with open(folder / "pairs.jsonl", "w", encoding="utf-8") as out:
        for r in rows:
            out.write(json.dumps(r, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    args = argparse.ArgumentParser()
    args.add_argument("folder", type=pathlib.Path)
    args.add_argument("--packages", type=pathlib.Path, default=pathlib.Path(__file__).with_name("pairs.txt"))
    args.add_argument("--seed", type=int, default=1)
    a = args.parse_args()
    main(a.folder, a.packages, a.seed)
