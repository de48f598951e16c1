"""Makes retrieval questions from lists of frequently asked questions: a heading with a question mark is the question, and what
follows is the answer. The headings of the copy are "Section 1", "Section 2" and so on, so that no question stands in its text.

    python3 bench/peers/recall_faq.py DOCS --faq PATTERN --copy BLIND --out QUESTIONS.jsonl

DOCS holds HTML (.html), reStructuredText (.rst, .rst.txt) and Perl's documentation (.pod, which becomes Markdown). Questions come
from files whose path matches PATTERN; the others stand beside them. Lines are those of recall_questions.py, of the kind "faq".
"""
import argparse
import json
import pathlib
import re

HEADING = {
    ".html": re.compile(r"(?s)<h[2-4][^>]*>(?P<text>.*?)</h[2-4]>"),
    ".rst": re.compile(r"(?m)^(?P<text>[^\n]*\?[^\n]*)\n[-=~.]{4,}$"),
    ".md": re.compile(r"(?m)^## (?P<text>.*\?.*)$"),
}


def markdown(pod):
    text = re.sub(r"(?m)^=head(\d)\s+(.*)$", lambda m: "#" * int(m[1]) + " " + m[2], pod)
    text = re.sub(r"(?m)^=(over|back|cut|encoding|for|begin|end).*$", "", text)
    return re.sub(r"[CFBILEX]<+([^<>]*)>+", r"\1", re.sub(r"(?m)^=item ", "* ", text))


def questions_of(name, text):
    """The questions of a file, and its text without them."""
    kind = pathlib.PurePath(name).suffix
    found, out = list(HEADING[kind].finditer(text)), []
    for i, m in enumerate(found):
        question = re.sub(r"<[^>]*>|[`*¶]", "", m["text"])
        question = " ".join(re.sub(r"^[\d.]+\s*", "", question.strip()).split())
        body = text[m.end() : found[i + 1].start() if i + 1 < len(found) else len(text)]
        if kind == ".html":
            body = re.sub(r"<[^>]*>", " ", body)
        if "?" in question and len(re.findall(r"\w+", body)) >= 25:
            out.append({"kind": "faq", "question": question, "path": name, "section": body})
    for i, m in reversed(list(enumerate(found))):
        if "?" not in m["text"]:
            continue
        if kind == ".rst":
            text = f"{text[: m.start()]}Section {i + 1}\n------------{text[m.end() :]}"
        else:
            text = f"{text[: m.start('text')]}Section {i + 1}{text[m.end('text') :]}"
    return out, text


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("docs", type=pathlib.Path)
    a.add_argument("--faq", required=True)
    a.add_argument("--copy", required=True, type=pathlib.Path)
    a.add_argument("--out", required=True)
    o = a.parse_args()
    questions = []
    for file in sorted(o.docs.rglob("*")):
        name = str(file.relative_to(o.docs)).removesuffix(".txt")
        if not file.is_file() or not name.endswith((".html", ".rst", ".pod")):
            continue
        text = file.read_text(errors="replace")
        if name.endswith(".pod"):
            name, text = name[:-4] + ".md", markdown(text)
        if re.search(o.faq, name):
            found, text = questions_of(name, text)
            questions += found
        (o.copy / name).parent.mkdir(parents=True, exist_ok=True)
        (o.copy / name).write_text(text)
    with open(o.out, "w") as f:
        for q in questions:
            f.write(json.dumps(q) + "\n")
    print(f"{len(questions)} questions")


if __name__ == "__main__":
    main()
