"""Labelled text in many languages from Debian packages: translated manuals and message catalogues. Downloads the packages
of languages.txt with apt-get, takes their texts by the language of the folder that they lie in, and writes JSON lines.

    python tools/corpora/languages.py FOLDER [--packages FILE]

Every line of languages.txt is a part (train, dev or test) and names of packages: a package is in one part only. Writes
FOLDER/PART.jsonl: {"language", "package", "kind", "text"}, documents of 200 characters and more: a paragraph of a manual,
a message, or several that follow each other. FOLDER/versions.txt names the versions that were fetched. What stays English
in a translation is left out: a paragraph that an English file has too, and one of 40 characters and more that stands under
two languages. Of a package, a language has at most 2,000 documents of a kind, spread over all of it. The texts have licenses of
their own: they are read here, and go nowhere.
"""

import argparse
import collections
import gzip
import hashlib
import html
import io
import json
import pathlib
import re
import struct
import subprocess
import tarfile
import zipfile
from concurrent.futures import ProcessPoolExecutor

MIN, MAX, MOST = 200, 1000, 2000
SKIP = re.compile(r"(?is)<(script|style|code|pre|screen|cmd|programlisting)\b.*?</\1>|<!--.*?-->|<\?.*?\?>|<!DOCTYPE.*?>")
BREAK = re.compile(r"(?i)</?(p|div|li|ul|ol|tr|table|h[1-6]|br|dd|dt|dl|section|title|item|para|note|page|media)\b[^>]*>")
TAG = re.compile(r"<[^<>]{1,400}>")
ROFF = re.compile(r"(?m)^['.](?!(B|I|BR|IR|RB|RI|BI|IB|SH|SS)\b).*$|^\.[A-Z]+ |\\f(\(..|\[[^]]*\]|.)|\\s[-+]?\d|\\[&\-/,:%c~ ]")
HOLES = re.compile(
    r"\{\{[^{}]*\}\}|\{[^{}]*\}|%\([^)]*\)[a-z]|%[-+#0-9.$']*[a-zA-Z]{1,2}\b|\$\w+|%\d|&[a-z]+;|\[\[|\]\]|https?://\S+|<[^<>]{1,400}>|"
    r"\\[nt\"]|[\x00-\x08\x0b-\x1f]"
)
ACCELERATOR = re.compile(r"[_~&](?=\w)|\(_?[&~]?[A-Z]\)")
SAME = {"c": "en", "no": "nb", "iw": "he", "in": "id", "ji": "yi", "fil": "tl", "kmr": "ku", "bem": "", "sh": "", "als": "sq"}
WHERE = [
    re.compile(r"/locale/([^/]+)/LC_MESSAGES/[^/]+\.mo$"),
    re.compile(r"/translations/([^/]+)/LC_MESSAGES/[^/]+\.mo$"),
    re.compile(r"/resource/([^/]+)/LC_MESSAGES/[^/]+\.mo$"),
    re.compile(r"/wp-content/languages/(?:[a-z-]+-)?([a-z]{2,3}(?:_[A-Z]{2})?(?:@\w+)?)\.mo$"),
    re.compile(r"/usr/share/help/([^/]+)/.*\.(?:page|docbook|xml)$"),
    re.compile(r"/usr/share/gnome/help/[^/]+/([^/]+)/.*\.xml$"),
    re.compile(r"/usr/share/doc/kde/HTML/([^/]+)/.*\.docbook(?:\.bz2)?$"),
    re.compile(r"/debian-handbook/html/([^/]+)/.*\.html$"),
    re.compile(r"/libreoffice/help/([^/]+)/text/.*\.html$"),
    re.compile(r"/usr/share/man/([a-z][^/]*)/man\d/[^/]+\.gz$"),
    re.compile(r"/usr/share/man/(man)\d/[^/]+\.gz$"),
    re.compile(r"/languages/i18n/([a-z-]+)\.json$"),
    re.compile(r"/extensions/[^/]+/i18n/(?:[^/]+/)?([a-z-]+)\.json$"),
    re.compile(r"/langpack-([^/@]+)@[^/]*\.xpi$"),
    re.compile(r"/skycultures/[^/]+/description\.([a-zA-Z_]+)\.utf8$"),
    re.compile(r"/landscapes/[^/]+/description\.([a-zA-Z_]+)\.utf8$"),
    re.compile(r"/stellarium/data/.*\.([a-z]{2,3})\.(?:fab|utf8)$"),
    re.compile(r"/installation-guide-[^/]*/([a-z][a-zA-Z_]+)/.*\.html$"),
    re.compile(r"/aptitude/html/([a-zA-Z_]+)/.*\.html$"),
    re.compile(r"/games/fortunes/([a-z]{2})/[^/.]+$"),
]


def language_of(code):
    code = code.lower().replace("_", "-").replace(".utf-8", "")
    if code == "man":
        return "en"
    base, _, variant = code.replace("@", "-").partition("-")
    if re.search(r"shaw|quot|piglatin|arab|iqtelif|^x-", variant) or base in ("en-shaw", "qqq", "qqx"):
        return ""
    if re.search(r"latn|latin|cyrl|cyrillic", variant) and base not in ("sr", "uz", "kmr", "tg"):
        return ""
    return SAME.get(base, base)


def catalogue(data):
    """(source, translation) of a .mo file."""
    if len(data) < 20:
        return
    order = "<" if data[:4] == b"\xde\x12\x04\x95" else ">"
    n, source, target = struct.unpack(order + "III", data[8:20])
    for i in range(n):
        length, at = struct.unpack_from(order + "II", data, source + 8 * i)
        one = data[at : at + length].split(b"\4")[-1].split(b"\0")
        length, at = struct.unpack_from(order + "II", data, target + 8 * i)
        two = data[at : at + length].split(b"\0")
        if length and one[0]:
            yield one[0].decode("utf-8", "replace"), two[-1].decode("utf-8", "replace")


def plain(text):
    text = SKIP.sub("\n\n", text)
    text = BREAK.sub("\n\n", text)
    return html.unescape(TAG.sub(" ", text))


def paragraphs(text):
    for p in re.split(r"\n\s*\n", text):
        yield " ".join(p.split())


def message(text):
    return " ".join(html.unescape(ACCELERATOR.sub("", HOLES.sub(" ", text))).split())


def archive_messages(data):
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        for name in sorted(z.namelist()):
            text = z.read(name).decode("utf-8", "replace") if name.endswith((".ftl", ".properties")) else ""
            for value in re.findall(r"(?m)^\s*[.\w-]+\s*=[ \t]*(\S.*(?:\n[ \t]+[^ .\[*}\n=][^=\n]*)*)", text):
                yield value


def texts_of(name, data):
    """kind, [(English or empty, text)] of a file."""
    if name.endswith((".gz", ".bz2")):
        data = gzip.decompress(data) if name.endswith(".gz") else __import__("bz2").decompress(data)
        name = name.rsplit(".", 1)[0]
    if name.endswith(".mo"):
        return "message", [(message(a), message(b)) for a, b in catalogue(data)]
    if name.endswith(".xpi"):
        return "message", [("", message(v)) for v in archive_messages(data)]
    if name.endswith(".json"):
        found = json.loads(data.decode("utf-8", "replace"))
        return "message", [("", message(v)) for k, v in found.items() if isinstance(v, str)]
    text = data.decode("utf-8", "replace")
    if "/fortunes/" in name:
        return "manual", [("", " ".join(p.split())) for p in text.split("\n%\n")]
    if "/man/" in name:
        return "manual", [("", p) for p in paragraphs(ROFF.sub("\n", text.replace("\n.PP", "\n\n")))]
    return "manual", [("", p) for p in paragraphs(plain(text))]


def read_package(deb):
    """{(language, kind): [text]} and the English texts of a package."""
    texts, english = collections.defaultdict(list), set()
    process = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE)
    with tarfile.open(fileobj=process.stdout, mode="r|") as tar:
        for member in tar:
            found = next((m for m in (w.search(member.name) for w in WHERE) if m), None) if member.isfile() else None
            language = language_of(found.group(1)) if found else ""
            if not language:
                continue
            try:
                kind, all_texts = texts_of(member.name, tar.extractfile(member).read())
            except (ValueError, OSError, zipfile.BadZipFile, struct.error):
                continue
            for one, two in all_texts:
                if one:
                    english.add(one)
                if one and one == two and language != "en":
                    continue
                if sum(c.isalpha() for c in two) * 2 > len(two):
                    texts[language, kind].append(two)
                    if language == "en":
                        english.add(two)
    process.wait()
    return texts, english


def short_hash(text):
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


def documents(texts):
    out, waiting = [], ""
    for t in texts:
        waiting = f"{waiting}\n{t}" if waiting else t
        if len(waiting) >= MIN:
            out.append(waiting[:MAX])
            waiting = ""
    return out


def main(folder, listing):
    debs = folder / "debs"
    debs.mkdir(parents=True, exist_ok=True)
    part_of = {}
    for line in listing.read_text().splitlines():
        part, *packages = line.split("#")[0].split() or [""]
        part_of.update({p: part for p in packages})
    have = {f.name.split("_")[0]: f for f in sorted(debs.glob("*.deb"))}
    missing = [p for p in part_of if p not in have]
    if missing:
        subprocess.run(["apt-get", "download", *missing], cwd=debs, check=True)
        have = {f.name.split("_")[0]: f for f in sorted(debs.glob("*.deb"))}
    packages = sorted(part_of)
    (folder / "versions.txt").write_text("".join(f"{have[p].name}\n" for p in packages))
    with ProcessPoolExecutor(2) as pool:
        read = dict(zip(packages, pool.map(read_package, [str(have[p]) for p in packages])))
    english, first, shared = set(), {}, set()
    for texts, own in read.values():
        english.update(map(short_hash, own))
        for (language, _), all_texts in texts.items():
            for t in all_texts:
                h = short_hash(t)
                if len(t) >= 40 and first.setdefault(h, language) != language:
                    shared.add(h)
    outs = {part: open(folder / f"{part}.jsonl", "w") for part in ("train", "dev", "test")}
    seen = collections.defaultdict(set)
    for part in ("train", "dev", "test"):
        for p in packages:
            if part_of[p] != part:
                continue
            for (language, kind), all_texts in sorted(read[p][0].items()):
                kept = []
                for t in all_texts:
                    h = short_hash(t)
                    # No text twice, and none of training in the held-out parts.
                    if h in shared or (language != "en" and h in english) or h in seen[language]:
                        continue
                    seen[language].add(h)
                    kept.append(t)
                made = documents(kept)
                step = max(1, len(made) / MOST)
                for i in range(min(len(made), MOST)):
                    row = {"language": language, "package": p, "kind": kind, "text": made[int(i * step)]}
                    outs[part].write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    args = argparse.ArgumentParser()
    args.add_argument("folder", type=pathlib.Path)
    args.add_argument("--packages", type=pathlib.Path, default=pathlib.Path(__file__).with_name("languages.txt"))
    a = args.parse_args()
    main(a.folder, a.packages)
