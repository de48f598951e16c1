r"""Main text of web pages: quern beside trafilatura, with trafilatura's own evaluation set and measure.

    python bench/peers/corpus/main_text.py QUERN TESTS [--half even|odd|all] [--readability] [--misses N]

TESTS is the folder `tests` of a clone of trafilatura's repository: evaluation data (evaldata.json) and pages (cache, eval),
read where they lie. The measure is that of its eval_common.py: of every page, snippets that belong to the main text (`with`)
and snippets that do not (`without`) are looked for in the extracted text, white space normalized; precision, recall and F1 over
all pages together. Pages are sorted by URL; --half takes every other one.

trafilatura comes from PyPI and runs in this process with the settings of its own evaluation; its time is that of the
extraction alone. quern runs as a process on one thread, and its time is all of it: reading, decoding, extraction, JSON.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time


def normalized(text):
    return re.sub(r"\s+", " ", text).strip()


def read_pages(tests, half):
    data = json.loads((tests / "evaldata.json").read_text(encoding="utf-8"))
    urls = sorted(data)
    urls = urls if half == "all" else urls[half == "odd" :: 2]
    pages = []
    for url in urls:
        place = next((tests / d / data[url]["file"] for d in ("cache", "eval") if (tests / d / data[url]["file"]).is_file()), None)
        if place is None:
            sys.exit(f"{url}: no page {data[url]['file']} in {tests}")
        pages.append((url, place.read_bytes(), data[url]))
    return pages


def count(item, text):
    text = normalized(text or "")
    found = sum(normalized(w) in text for w in item["with"])
    wrong = sum(normalized(w) in text for w in item["without"])
    return found, wrong, len(item["with"]) - found, len(item["without"]) - wrong


def run_peer(extract, pages):
    texts, seconds = [], 0.0
    for _, page, _ in pages:
        begin = time.process_time()
        try:
            text = extract(page)
        except Exception:  # counts as nothing found, as in its own evaluation
            text = ""
        seconds += time.process_time() - begin
        texts.append(text or "")
    return texts, seconds


def run_quern(binary, pages):
    with tempfile.TemporaryDirectory() as folder:
        for i, (_, page, _) in enumerate(pages):
            (pathlib.Path(folder) / f"{i:05}.html").write_bytes(page)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        one = {min(os.sched_getaffinity(0))}
        ran = subprocess.run([binary, "corpus", "extract", folder, "--out", "-"], stdout=subprocess.PIPE, check=True,
                             preexec_fn=lambda: os.sched_setaffinity(0, one))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    texts = [""] * len(pages)
    for line in ran.stdout.splitlines():
        row = json.loads(line)
        texts[row["id"] >> 36] = row["text"]  # the file's place in sorted order
    return texts, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("quern")
    p.add_argument("tests", type=pathlib.Path)
    p.add_argument("--half", choices=["even", "odd", "all"], default="all")
    p.add_argument("--readability", action="store_true", help="readability-lxml too")
    p.add_argument("--misses", type=int, default=0, help="print what quern gets wrong on so many pages")
    a = p.parse_args()
    pages = read_pages(a.tests, a.half)
    size = sum(len(page) for _, page, _ in pages) / 1e6

    import trafilatura

    settings = {"include_comments": False, "include_tables": True, "include_formatting": False}
    arms = {
        "quern": lambda: run_quern(a.quern, pages),
        f"trafilatura {trafilatura.__version__}": lambda: run_peer(lambda x: trafilatura.extract(x, **settings), pages),
        "trafilatura, fast": lambda: run_peer(lambda x: trafilatura.extract(x, fast=True, **settings), pages),
    }
    if a.readability:
        from readability import Document

        arms["readability-lxml"] = lambda: run_peer(lambda x: Document(trafilatura.utils.decode_file(x)).summary(), pages)
    print(f"{len(pages)} pages ({a.half}), {size:.1f} MB")
    print(f"{'':<24} {'precision':>9} {'recall':>9} {'F1':>9} {'processor s':>12} {'MB/s':>8}")
    for name, run in arms.items():
        texts, seconds = run()
        counts = [count(item, text) for (_, _, item), text in zip(pages, texts)]
        tp, fp, fn, _ = (sum(c[k] for c in counts) for k in range(4))
        print(f"{name:<24} {tp / (tp + fp):>9.4f} {tp / (tp + fn):>9.4f} {2 * tp / (2 * tp + fp + fn):>9.4f} "
              f"{seconds:>12.2f} {size / seconds:>8.1f}", flush=True)
        if name == "quern":
            wrong = sorted(zip(counts, pages, texts), key=lambda x: -(x[0][1] + x[0][2]))
    for _, (url, _, item), text in wrong[: a.misses]:
        print(url)
        for w in item["with"]:
            if normalized(w) not in normalized(text):
                print(f"  missed: {w}")
        for w in item["without"]:
            if normalized(w) in normalized(text):
                print(f"  extra: {w}")


if __name__ == "__main__":
    main()
