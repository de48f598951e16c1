"""How often `quern corpus extract` reads pages rightly that are in a legacy encoding and do not say in which.

    python tools/corpora/encodings.py QUERN FOLDER development|held-out

Texts are those of Debian 12 packages in their languages: manual pages and synaptic's messages for development,
evolution's messages (3, 6 or 20 of them to a page) held out. FOLDER gets the packages and the pages. A page is read rightly
when it is, character by character, what its declared twin is read as.
"""

import collections
import gettext
import gzip
import html
import json
import pathlib
import random
import subprocess
import sys

ENCODINGS = {
    "ru": ["windows-1251", "koi8-r", "iso-8859-5", "cp866"], "uk": ["windows-1251", "iso-8859-5"], "mk": ["windows-1251"],
    "bg": ["windows-1251"], "sr": ["windows-1251"], "el": ["windows-1253", "iso-8859-7"], "ja": ["euc-jp", "shift_jis", "iso-2022-jp"],
    "zh_CN": ["gb18030"], "zh_TW": ["big5"], "ko": ["euc-kr"], "he": ["windows-1255"], "ar": ["windows-1256", "iso-8859-6"],
    "th": ["tis-620"], "de": ["windows-1252"], "fr": ["windows-1252"], "es": ["windows-1252"], "pt": ["windows-1252"],
    "sv": ["windows-1252"], "pl": ["iso-8859-2"], "cs": ["iso-8859-2"], "hu": ["iso-8859-2"], "tr": ["iso-8859-9"],
}  # fmt: skip
MANUALS = ["manpages-" + x for x in "ru el ja zh uk mk de fr pl cs tr".split()]
PAGES = 40  # of a language at most


def unpack(folder, packages):
    for p in packages:
        if not (folder / p).exists():
            subprocess.run(["apt-get", "download", "-qq", p], cwd=folder, check=True, stderr=subprocess.DEVNULL)
            subprocess.run(["dpkg-deb", "-x", next(folder.glob(p + "_*.deb")), folder / p], check=True)
        yield folder / p


def messages(package):
    for f in sorted(package.rglob("LC_MESSAGES/*.mo")):
        try:
            catalog = gettext.GNUTranslations(open(f, "rb"))._catalog
        except ValueError:  # its plural form was never filled in
            continue
        texts = [v for k, v in catalog.items() if isinstance(k, str) and k and isinstance(v, str) and len(v) > 20]
        if texts:
            yield f.parts[-3], texts


def texts(folder, part):
    if part == "held-out":
        for package in unpack(folder, ["evolution-common"]):
            for language, all_of_it in messages(package):
                for _ in range(PAGES):
                    yield language, random.sample(all_of_it, min(len(all_of_it), random.choice([3, 6, 20])))
        return
    for package in unpack(folder, MANUALS):
        pages = sorted(package.rglob("man/*/man*/*.gz"))
        for f in random.sample(pages, min(len(pages), PAGES)):
            yield f.parts[-3], gzip.decompress(f.read_bytes()).decode("utf-8", "replace").splitlines()
    for package in unpack(folder, ["synaptic"]):
        for language, all_of_it in messages(package):
            for _ in range(10):
                yield language, random.sample(all_of_it, min(len(all_of_it), 12))


def main(quern, folder, part):
    random.seed(3)
    folder = pathlib.Path(folder)
    silent, declared = folder / part / "silent", folder / part / "declared"
    for d in (silent, declared):
        d.mkdir(parents=True)
    kinds = []
    for language, paragraphs in texts(folder, part):
        for encoding in ENCODINGS.get(language, ENCODINGS.get(language.split("_")[0], [])):
            body = "".join(f"<p>{html.escape(p)}</p>\n" for p in paragraphs).encode(encoding, "ignore")
            if all(b < 128 for b in body) and encoding != "iso-2022-jp":
                continue
            name = f"{len(kinds):05}.html"
            (silent / name).write_bytes(b"<html><body>" + body)
            (declared / name).write_bytes(f"<html><meta charset={encoding}><body>".encode() + body)
            kinds.append((language, encoding))
    read = []
    for d in (silent, declared):
        out = subprocess.run([quern, "corpus", "extract", d, "--out", "-"], capture_output=True, check=True).stdout
        read.append({pathlib.Path(r["file"]).name: r["text"] for r in map(json.loads, out.splitlines())})
    right, of = collections.Counter(), collections.Counter()
    for n, kind in enumerate(kinds):
        name = f"{n:05}.html"
        if read[1].get(name):
            of[kind] += 1
            right[kind] += read[0].get(name) == read[1][name]
    for kind in sorted(of):
        print(*kind, f"{right[kind]} of {of[kind]}")
    print(f"all: {sum(right.values())} of {sum(of.values())}")


if __name__ == "__main__":
    main(*sys.argv[1:4])
