"""Makes retrieval questions with known answers from a folder of documentation.

    python3 bench/peers/recall_questions.py DOCS --copy BLIND --out QUESTIONS.jsonl [--each 60] [--seed 1]

DOCS holds one folder per package with HTML, Markdown, reStructuredText or man pages. A question is answered by one
section: the text from its heading to the next heading of any level. Four kinds:

    heading   the heading, in the documents as they are
    manual    what the NAME line of a man page says about it; the answer is the page
    blind     the heading, which has been taken out of the copy of the documents in BLIND
    sentence  a sentence from the middle of a section, which has been taken out of the copy in BLIND

Headings that occur twice are left out, as are short ones (fewer than two words of three letters). Every line of the
output is {"kind", "package", "question", "path", "section"}; `quern recall eval --questions` reads it. The parsers here
are independent of Quern's own and simpler.
"""
import argparse
import collections
import gzip
import html.parser
import json
import os
import random
import re
import shutil

WORD = re.compile(r"[^\W_]+")
HTML = (".html", ".htm")
MARKDOWN = (".md",)
RST = (".rst", ".rst.txt")


def words(text):
    return [w.lower() for w in WORD.findall(text)]


class Sections(html.parser.HTMLParser):
    """[(heading, text)] of an HTML page."""

    def __init__(self):
        super().__init__()
        self.out, self.heading, self.skip = [], None, 0

    def handle_starttag(self, tag, attrs):
        if tag in ("script", "style"):
            self.skip += 1
        elif re.fullmatch("h[1-6]", tag):
            self.out.append(["", ""])
            self.heading = tag

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self.skip = max(0, self.skip - 1)
        elif tag == self.heading:
            self.heading = None

    def handle_data(self, data):
        if self.skip or not self.out:
            return
        if self.heading:
            self.out[-1][0] += data.replace("¶", "")
        else:
            self.out[-1][1] += " " + data


def html_sections(text):
    p = Sections()
    p.feed(text)
    return p.out


def markdown_sections(text):
    out, fence = [], False
    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            fence = not fence
        found = None if fence else re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
        if found:
            out.append([re.sub(r"[`*]", "", found[1]), ""])
        elif out:
            out[-1][1] += line + "\n"
    return out


def rst_sections(text):
    out, lines, i = [], text.split("\n"), 0
    while i < len(lines):
        line = lines[i].rstrip()
        under = lines[i + 1].rstrip() if i + 1 < len(lines) else ""
        if line and line[0].isalnum() and re.fullmatch(r"([=\-~^\"'`*+#:.])\1{2,}", under) and len(under) >= len(line):
            out.append([re.sub(r"[`*]", "", line), ""])
            i += 2
            continue
        if out:
            out[-1][1] += line + "\n"
        i += 1
    return out


def read(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rb") as f:
        return f.read().decode("utf-8", "replace")


def sections_of(path, text):
    if path.endswith(HTML):
        return html_sections(text)
    if path.endswith(MARKDOWN):
        return markdown_sections(text)
    if path.endswith(RST):
        return rst_sections(text)
    return []


def manual(text):
    """(name, description) of a man page."""
    found = re.search(r"^\.S[Hh]\s+\"?NAME\"?\s*\n(?:\.[A-Za-z].*\n)*(.*?)\\-\s*(.*)$", text, re.M)
    return (found[1].strip(), re.sub(r"\\f.|\\", "", found[2]).strip()) if found else None


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("docs")
    a.add_argument("--copy", required=True)
    a.add_argument("--out", required=True)
    a.add_argument("--each", type=int, default=60)
    a.add_argument("--seed", type=int, default=1)
    o = a.parse_args()
    rng = random.Random(o.seed)
    questions = []
    shutil.rmtree(o.copy, ignore_errors=True)
    shutil.copytree(o.docs, o.copy)
    pages, found, seen = {}, collections.defaultdict(list), collections.Counter()
    for folder, _, names in sorted(os.walk(o.docs)):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), o.docs)
            package = path.split(os.sep)[0]
            try:
                text = read(os.path.join(o.docs, path))
            except OSError:
                continue
            if re.search(r"\.\d\w*(\.gz)?$", name):
                described = manual(text)
                if described and len(words(described[1])) >= 4:
                    found[package, "manual"].append((described[1], path, text))
                continue
            sections = sections_of(path, text)
            if sections:
                pages[path] = text
            for heading, body in sections:
                heading = " ".join(heading.split())
                key = tuple(words(heading))
                seen[key] += 1
                if len([w for w in key if len(w) >= 3]) >= 2 and len(words(body)) >= 40:
                    found[package, "heading"].append((heading, path, body))
    for (package, kind), items in sorted(found.items()):
        items = [i for i in items if kind == "manual" or seen[tuple(words(i[0]))] == 1]
        rng.shuffle(items)
        for question, path, body in items[:o.each]:
            section = body if kind == "manual" else question + "\n" + body
            questions.append({"kind": kind, "package": package, "question": question, "path": path, "section": section})
        if kind == "manual":
            continue
        blind = 0
        for question, path, body in items[o.each:]:
            if blind == 2 * o.each:
                break
            text = pages[path]
            if blind % 2 == 0:
                if text.count(question) != 1:
                    continue
                pages[path] = text.replace(question, "Section")
                entry = {"kind": "blind", "question": question, "section": body}
            else:
                sentences = re.findall(r"(?<=[.] )[A-Z][^.<>&`*:|]{40,200}[.](?=\s)", body)
                sentences = [s for s in sentences if text.count(s) == 1]
                if not sentences:
                    continue
                taken = rng.choice(sentences)
                pages[path] = text.replace(taken, "")
                entry = {"kind": "sentence", "question": " ".join(taken.split()), "section": body.replace(taken, "")}
            questions.append(entry | {"package": package, "path": path})
            with open(os.path.join(o.copy, path), "w") as f:
                f.write(pages[path])
            blind += 1
    with open(o.out, "w") as f:
        for q in questions:
            f.write(json.dumps(q) + "\n")
    print(collections.Counter((q["package"], q["kind"]) for q in questions))


if __name__ == "__main__":
    main()
