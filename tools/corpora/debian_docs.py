"""A corpus of real near-duplicates from Debian packages: manuals in several versions, one text in two spellings,
translations. Downloads the packages named below with apt-get, unpacks them, strips tags, writes JSON lines.

    python tools/corpora/debian_docs.py FOLDER [PACKAGE …]

Writes FOLDER/docs.jsonl: {"id": "package/path", "source": package, "text": …}, texts of 100 characters and more, sorted
by id. FOLDER/versions.txt names the versions that were fetched: figures are comparable for equal versions only.
"""

import gzip
import html
import json
import pathlib
import re
import subprocess
import sys

PACKAGES = (
    "llvm-13-doc llvm-14-doc llvm-15-doc llvm-16-doc libreoffice-help-en-us libreoffice-help-en-gb perl-doc "
    "postgresql-doc-15 anarchism debian-handbook sqlite3-doc git-doc"
).split()
ENDINGS = (".html", ".htm", ".xhtml", ".txt", ".md", ".rst", ".pod", ".1", ".3", ".5", ".7", ".8")
SKIP = re.compile(r"(?is)<(script|style)\b.*?</\1>|<!--.*?-->")
BREAK = re.compile(r"(?i)</?(p|div|li|ul|ol|tr|table|h[1-6]|br|pre|dd|dt|dl|section)\b[^>]*>")
TAG = re.compile(r"<[^>]*>")
ROFF = re.compile(r"(?m)^['.].*$|\\f.|\\[&\-]")


def plain(name, data):
    text = data.decode("utf-8", "replace")
    if re.search(r"\.x?html?$", name):
        text = html.unescape(TAG.sub("", BREAK.sub("\n", SKIP.sub("", text))))
    elif re.search(r"\.\d\w*$", name):
        text = ROFF.sub("", text)
    text = re.sub(r"[ \t]+\n", "\n", text)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def main(folder, packages):
    folder = pathlib.Path(folder)
    debs = folder / "deb"
    debs.mkdir(parents=True, exist_ok=True)
    for p in packages:
        if not list(debs.glob(f"{p}_*.deb")):
            subprocess.run(["apt-get", "download", p], cwd=debs, check=True)
    docs, versions = [], []
    for p in packages:
        deb = sorted(debs.glob(f"{p}_*.deb"))[-1]
        versions.append(deb.name)
        root = folder / "unpacked" / p
        if not root.exists():
            root.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["dpkg-deb", "-x", str(deb), str(root)], check=True)
        for file in sorted(root.rglob("*")):
            name = file.name[:-3] if file.name.endswith(".gz") else file.name
            if file.is_symlink() or not file.is_file() or not name.endswith(ENDINGS):
                continue
            data = file.read_bytes()
            text = plain(name, gzip.decompress(data) if file.name.endswith(".gz") else data)
            if len(text) >= 100:
                docs.append((f"{p}/{file.relative_to(root)}", p, text))
    docs.sort()
    with open(folder / "docs.jsonl", "w", encoding="utf-8") as out:
        for i, source, text in docs:
            out.write(json.dumps({"id": i, "source": source, "text": text}, ensure_ascii=False) + "\n")
    (folder / "versions.txt").write_text("\n".join(versions) + "\n")
    print(f"{len(docs)} documents, {sum(len(t.encode()) for _, _, t in docs) / 1e6:.1f} MB of text")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:] or PACKAGES)
