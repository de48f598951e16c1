"""License texts with their names, from the machine-readable copyright files of the Debian packages that are installed, and how
many of the names `quern corpus annotate --license` and licensecheck find in the texts.

    python tools/corpora/licenses.py QUERN FOLDER first|second

A row is the text of one License paragraph without the line of its name; equal texts are one row. Packages are divided in two
by a hash of their name. Names that say no known license (custom ones) are left out. Writes FOLDER/HALF.jsonl with what was
expected and found. Needs the Debian package licensecheck.
"""

import collections
import hashlib
import json
import pathlib
import re
import subprocess
import sys

GNU = re.compile(r"^(a?l?gpl|gfdl)(?:-nive?)?-?(\d(?:\.\d)?)?(\+?)$")
NAMES = {
    "expat": "MIT", "mit": "MIT", "bsd-2-clause": "BSD-2-Clause", "bsd-3-clause": "BSD-3-Clause", "bsd-4-clause": "BSD-4-Clause",
    "bsd-2": "BSD-2-Clause", "bsd-3": "BSD-3-Clause", "isc": "ISC", "zlib": "Zlib", "apache-2": "Apache-2.0",
    "apache-2.0": "Apache-2.0", "mpl-1.1": "MPL-1.1", "mpl-2.0": "MPL-2.0", "artistic": "Artistic-1.0-Perl",
    "artistic-1": "Artistic-1.0-Perl", "artistic-2": "Artistic-2.0", "artistic-2.0": "Artistic-2.0", "cc0": "CC0-1.0",
    "cc0-1.0": "CC0-1.0", "public-domain": "public-domain", "boost-1.0": "BSL-1.0", "bsl-1.0": "BSL-1.0", "unlicense": "Unlicense",
    "cc-by-3.0": "CC-BY-3.0", "cc-by-4.0": "CC-BY-4.0", "cc-by-sa-3.0": "CC-BY-SA-3.0", "cc-by-sa-4.0": "CC-BY-SA-4.0",
    "0bsd": "0BSD", "hpnd": "HPND", "fsfap": "FSFAP", "fsful": "FSFUL", "fsfullr": "FSFULLR", "ofl-1.1": "OFL-1.1", "x11": "X11",
    "epl-1.0": "EPL-1.0", "wtfpl": "WTFPL", "wtfpl-2": "WTFPL", "postgresql": "PostgreSQL", "permissive": "",
}  # fmt: skip


def identifier(name):
    """The SPDX identifier of a Debian short name; empty: none that is known."""
    name = name.lower().split(" with ")[0].strip()
    if m := GNU.match(name.replace("_", "-")):
        family, version, later = m.groups()
        if not version:
            return family.upper()
        number = version if "." in version else version + ".0"
        return f"{family.upper()}-{number}-{'or-later' if later else 'only'}"
    return NAMES.get(name, "")


def paragraphs(text):
    """(names, text) of every License field that has a text."""
    for field in re.finditer(r"(?m)^License:[ \t]*(.*)\n((?:[ \t].*\n?)+)", text):
        body = "\n".join("" if line.strip() == "." else line[1:] for line in field[2].splitlines())
        names = re.split(r"\s+(?:and|or|and/or)\s+|,\s*|\s*\|\s*", field[1].strip())
        if field[1].strip() and len(body) > 30:
            yield [n for n in names if n], body


def rows(half):
    seen = {}
    for file in sorted(pathlib.Path("/usr/share/doc").glob("*/copyright")):
        package = file.parent.name
        if hashlib.sha1(package.encode()).digest()[0] % 2 != (half == "second"):
            continue
        for names, body in paragraphs(file.read_text("utf-8", "replace")):
            ids = [identifier(n) for n in names]
            if all(ids):
                row = seen.setdefault(body, {"id": f"{package}/{len(seen)}", "text": body, "expected": set()})
                row["expected"] |= set(ids)
    return list(seen.values())


def by_quern(quern, folder, texts):
    file = folder / "texts.jsonl"
    file.write_text("".join(json.dumps({"id": r["id"], "text": r["text"]}) + "\n" for r in texts))
    out = subprocess.run([quern, "corpus", "annotate", file, "--license", "--out", "-"], capture_output=True, text=True, check=True)
    return {row["id"]: set(row["licenses"]) for row in map(json.loads, out.stdout.splitlines())}


def by_licensecheck(folder, texts):
    found = {}
    for n, row in enumerate(texts):
        (folder / "text").mkdir(exist_ok=True)
        (folder / "text" / str(n)).write_text(row["text"])
    names = [str(folder / "text" / str(n)) for n in range(len(texts))]
    for at in range(0, len(names), 200):
        out = subprocess.run(
            ["licensecheck", "--shortname-scheme=spdx,debian", "--lines=0", *names[at : at + 200]], capture_output=True, text=True)
        for line in out.stdout.splitlines():
            name, _, says = line.rpartition(": ")
            ids = set()
            for one in re.split(r"\s+(?:and/or|and|or)\s+", re.sub(r"\*No copyright\*|[\[\]()]|generated file", " ", says)):
                one = one.strip()
                one = {"Expat": "MIT", "LGPL-2+": "LGPL-2.0-or-later"}.get(one, one)
                if m := GNU.match(one.lower().replace("-or-later", "+").replace("-only", "")):
                    one = identifier(m[0])
                if one and one not in ("UNKNOWN"):
                    ids.add(one)
            found[texts[int(pathlib.Path(name).name)]["id"]] = ids
    return found


def main(quern, folder, half):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    texts = rows(half)
    tools = {"quern": by_quern(quern, folder, texts), "licensecheck": by_licensecheck(folder, texts)}
    print(f"{len(texts)} texts, {collections.Counter(i for r in texts for i in r['expected']).most_common(12)}")
    with open(folder / f"{half}.jsonl", "w") as out:
        for r in texts:
            found = {tool: sorted(f.get(r["id"], ())) for tool, f in tools.items()}
            out.write(json.dumps({"id": r["id"], "expected": sorted(r["expected"]), **found, "text": r["text"]}) + "\n")
    for tool, found in tools.items():
        same = hit = said = wanted = 0
        for r in texts:
            f = found.get(r["id"], set())
            same += f == r["expected"]
            hit += len(f & r["expected"])
            said += len(f)
            wanted += len(r["expected"])
        print(f"{tool}: the same set {same / len(texts):.3f}, recall {hit / wanted:.3f}, precision {hit / max(said, 1):.3f}")
    same = sum(tools["quern"].get(r["id"]) == tools["licensecheck"].get(r["id"]) for r in texts)
    print(f"both the same: {same / len(texts):.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:4])
