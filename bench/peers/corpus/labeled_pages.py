r"""Main text of 50 web pages whose text blocks were labeled by reading: quern beside trafilatura.

    python bench/peers/corpus/labeled_pages.py draw PAGES CLONES        # choose the pages, print them; done once
    python bench/peers/corpus/labeled_pages.py fetch PAGES CLONES       # get the pages that tools/corpora/labeled_pages.txt names
    python bench/peers/corpus/labeled_pages.py blocks PAGES [NAME …]    # print pages as numbered blocks, as they were labeled
    python bench/peers/corpus/labeled_pages.py measure QUERN PAGES      # precision, recall and F1

PAGES is the folder that the pages are written to and read from. CLONES is a folder of git clones named OWNER+NAME, of the
repositories below. Debian packages come with apt-get; no page is part of the project. Needs lxml; measure needs
trafilatura and readability-lxml.

A page is rendered as a list of blocks: the text between two borders of block elements (p, div, li, td, h1, option, button …).
Every piece of text in the body stands in exactly one block; scripts, styles, templates, noscript, objects and drawings have none.
tools/corpora/labeled_pages.txt says of each page which blocks are main text and which are undecided; the others are not
main text. Its rules are in docs/log/2026-11-27-fifty-pages.md.

The measure: words of the main blocks against words of the extracted text, both as multisets, letters in lower case,
every Chinese, Japanese, Thai and Burmese character a word of its own. Words of undecided blocks count neither way: they are taken from
the words that were extracted and are not main text. Beside it the measure of trafilatura's own evaluation, with up to six
snippets of main text and up to six of other blocks per page.
"""

import argparse
import collections
import gzip
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import urllib.parse

import lxml.etree
import lxml.html

LABELS = pathlib.Path(__file__).resolve().parents[3] / "tools/corpora/labeled_pages.txt"

# ---- blocks ----

NO_TEXT = {"script", "style", "template", "noscript", "object", "iframe", "svg", "math", "audio", "video", "canvas", "head", "title"}
INLINE = set("a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q rp rt ruby s samp small "
             "span strike strong sub sup time tt u var wbr br img input".split())


def decode(page):
    head = page[:4096].decode("latin-1")
    named = re.search(r"""(?:charset|encoding)\s*=\s*["']?\s*([-\w]+)""", head)
    for encoding in ("utf-8-sig", named[1] if named else "cp1252", "cp1252"):
        try:
            return page.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
    return page.decode("latin-1")


class Renderer:
    """Blocks of a page in document order: (text, tag of the block, share of link text, whether the markup hides it)."""

    def __init__(self):
        self.blocks, self.text, self.links, self.tag, self.hidden = [], [], 0, "body", False

    def cut(self):
        text = re.sub(r"\s+", " ", "".join(self.text)).strip()
        if text:
            self.blocks.append((text, self.tag, min(1.0, self.links / len(text)), self.hidden))
        self.text, self.links = [], 0

    def add(self, text, in_link):
        if text:
            self.text.append(text)
            self.links += in_link * len(re.sub(r"\s+", " ", text).strip())

    def walk(self, node, tag, in_link, hidden):
        if not isinstance(node.tag, str):  # comments, processing instructions
            return
        name = node.tag.lower()
        if name in NO_TEXT:
            self.add(" ", False)
            return
        style = re.sub(r"\s", "", node.get("style") or "").lower()
        hidden = hidden or node.get("hidden") is not None or "display:none" in style or "visibility:hidden" in style
        block = name not in INLINE
        if block:
            self.cut()
            tag = name
        if name == "br":
            self.add(" ", False)
        self.tag, self.hidden = tag, hidden
        in_link = in_link or name == "a" and node.get("href") is not None
        self.add(node.text, in_link)
        for child in node:
            self.walk(child, tag, in_link, hidden)
            self.tag, self.hidden = tag, hidden
            self.add(child.tail, in_link)
        if block:
            self.cut()


def blocks_of(page):
    text = decode(page)
    text = re.sub(r"^\s*<\?xml[^>]*>", "", text)
    try:
        tree = lxml.html.document_fromstring(text, parser=lxml.html.HTMLParser(huge_tree=True))
    except (lxml.etree.LxmlError, ValueError):
        return []
    renderer = Renderer()
    sys.setrecursionlimit(20_000)
    for body in tree.iter("body"):
        renderer.walk(body, "body", False, False)
        break
    return renderer.blocks


# ---- choosing pages ----

SEED = 20261127
DEBIAN_PAGES = 30
REPOSITORIES = {  # pages of the open web, as other projects keep them for their tests: how many, where
    "mozilla+readability": (5, r"test/test-pages/[^/]*/source\.html"),
    "hhursev+recipe-scrapers": (4, r"tests/test_data/.*\.testhtml"),
    "flairNLP+fundus": (4, r"tests/resources/parser/test_data/.*\.html\.gz"),
    "goose3+goose3": (3, r"tests/data/content/.*\.html"),
    "AndyTheFactory+newspaper4k": (2, r"tests/data/html/.*\.html"),
    "scrapinghub+extruct": (2, r"tests/samples/(misc|songkick|wikipedia|websites)/.*\.html"),
}
INDEX_NAME = re.compile(r"^(genindex|py-modindex|search|toc|contents|doc-index|allclasses|allpackages|overview-(frame|tree)|"
                        r"package-(frame|tree|use)|index-(all|\d+)|deprecated-list|constant-values|help-doc|hierarchy|annotated|"
                        r"classes|files|functions|globals|namespaces|modules|frames?|menu|nav\w*)(?![a-z])", re.I)
PER_GENERATOR = 2  # of one generator; pages that name none are limited by PER_NONE
PER_NONE = 10
FAMILIES = [(r"libghc-", 1), (r"lib.*-java-doc|lib.*-java$", 1), (r"python", 4), (r"(manpages|task)-", 0), (r"ruby|lib.*-ocaml", 2)]
GENERATORS = [("sphinx", r"documentation_options\.js|_static/pygments\.css|sphinx"), ("doxygen", r"Generated by Doxygen|doxygen\.css"), ("haddock", r"haddock"), ("javadoc", r"Generated by javadoc"),
              ("docutils", r"docutils"), ("docbook", r"DocBook"),
              ("gtk-doc", r"gtk-doc|GTK-Doc"), ("texinfo", r"texi2any|makeinfo|texi2html"), ("latex2html", r"LaTeX2HTML"),
              ("tex4ht", r"TeX4ht"), ("hevea", r"hevea"), ("pod", r"pod2html|Pod::|name=\"__index__\""), ("rustdoc", r"rustdoc"),
              ("odoc", r"\bodoc\b|ocamldoc"), ("mkdocs", r"mkdocs"), ("yard", r"\bYARD\b"), ("rdoc", r"\brdoc\b|RDoc"),
              ("epydoc", r"[Ee]pydoc"), ("naturaldocs", r"Natural Docs"), ("linuxdoc", r"LinuxDoc|SGML-Tools"), ("debiandoc", r"DebianDoc"),
              ("man2html", r"man2html"), ("ex_doc", r"ExDoc"), ("erldoc", r"otp_doc|erl_docgen"), ("edoc", r"\bEDoc\b"), ("qdoc", r"qdoc"),
              ("asciidoc", r"asciidoc"), ("pandoc", r"pandoc"), ("jsdoc", r"JSDoc"), ("gi-docgen", r"gi-docgen"), ("groff", r"groff")]


def generator_of(page):
    text = decode(page)
    meta = re.search(r"""<meta[^>]*name=["']?generator["']?[^>]*content=["']?\s*([A-Za-z][\w-]*)""", text, re.I)
    for name, pattern in GENERATORS:
        if re.search(pattern, meta[0] if meta and name != "sphinx" else text):  # pages of Sphinx name docutils
            return name
    return meta[1].lower() if meta else "none"


def readable(page):
    """1 to 300 kB, 5 blocks, 200 characters outside of links and at most 20,000 in all, so that every block is read."""
    if not 1000 <= len(page) <= 300_000 or b"<frameset" in page.lower():
        return False
    blocks = blocks_of(page)
    outside = sum(len(text) * (1 - links) for text, _, links, hidden in blocks if not hidden)
    return len(blocks) >= 5 and outside >= 200 and sum(len(b[0]) for b in blocks) <= 20_000


def read_page(path):
    data = path.read_bytes()
    return gzip.decompress(data) if path.name.endswith(".gz") else data


def unpack(package, version, folder):
    downloads = folder / "deb" / package
    downloads.mkdir(parents=True, exist_ok=True)
    if not list(downloads.glob("*.deb")):
        subprocess.run(["apt-get", "-q", "download", f"{package}={version}" if version else package], cwd=downloads, capture_output=True)
    found = list(downloads.glob("*.deb"))
    if not found:
        return None
    fields = subprocess.run(["dpkg-deb", "-f", found[0], "Version"], capture_output=True, text=True, check=True).stdout.strip()
    place = folder / "unpacked" / package
    place.mkdir(parents=True, exist_ok=True)
    subprocess.run(["dpkg-deb", "-x", found[0], place], check=True)
    return place, fields


def draw_debian(folder):
    text = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True).stdout
    sources = {}
    for entry in text.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Section|Source|Size): (\S+)", entry, re.M))
        if fields.get("Section") == "doc" and int(fields["Size"]) <= 60e6:
            sources[fields["Package"]] = fields.get("Source", fields["Package"])
    names = sorted(sources)
    random.Random(SEED).shuffle(names)
    generators, families, used = collections.Counter(), collections.Counter(), set()
    for package in names:
        if sum(generators.values()) == DEBIAN_PAGES:
            return
        family = next((f for f in FAMILIES if re.match(f[0], package)), None)
        if sources[package] in used or family and families[family] >= family[1]:
            continue
        got = unpack(package, None, folder)
        if not got:
            continue
        place, version = got
        pages = sorted(p for p in place.rglob("*") if re.search(r"\.x?html?(\.gz)?$", p.name) and p.is_file() and not p.is_symlink()
                       and not INDEX_NAME.match(p.name) and p.stat().st_size <= 300_000)
        random.Random(f"{SEED} {package}").shuffle(pages)
        for path in pages[:20]:
            page = read_page(path)
            if not readable(page):
                continue
            generator = generator_of(page)
            if generators[generator] < (PER_NONE if generator == "none" else PER_GENERATOR):
                generators[generator] += 1
                used.add(sources[package])
                families[family] += family is not None
                yield f"deb {package} {version} {path.relative_to(place)}", page, generator
            break
        subprocess.run(["rm", "-rf", place], check=True)


def git(clone, *arguments):
    return subprocess.run(["git", "-C", clone, *arguments], capture_output=True, check=True).stdout


def host_of(page):
    text = decode(page)
    for pattern in (r"""<link[^>]*rel=["']?canonical["']?[^>]*>""", r"""<meta[^>]*property=["']?og:url["']?[^>]*>"""):
        found = re.search(pattern, text, re.I)
        url = re.search(r"https?://[^\s\"'>]+", found[0]) if found else None
        if url:
            return re.sub(r"^(www|m|amp)\.", "", urllib.parse.urlsplit(url[0]).netloc.lower())
    hosts = re.findall(r"""href=["']?https?://(?:www\.)?([^/"'\s>?#]+)""", text.lower())
    return collections.Counter(hosts).most_common(1)[0][0] if hosts else "none"


def draw_web(clones):
    data = json.loads(git(clones / "adbar+trafilatura", "show", "HEAD:tests/evaldata.json"))
    used = {re.sub(r"^(www|m|amp)\.", "", urllib.parse.urlsplit(url).netloc.lower()) for url in data} | {"none"}
    for name, (wanted, pattern) in REPOSITORIES.items():
        clone = clones / name
        commit = git(clone, "rev-parse", "HEAD").decode().strip()
        paths = sorted(p for p in git(clone, "ls-tree", "-rz", "--name-only", "HEAD").decode().split("\0") if re.fullmatch(pattern, p))
        random.Random(f"{SEED} {name}").shuffle(paths)
        for path in paths:
            if not wanted:
                break
            try:
                page = git(clone, "show", f"{commit}:{path}")
            except subprocess.CalledProcessError:  # a clone without its largest files
                continue
            page = gzip.decompress(page) if path.endswith(".gz") else page
            if readable(page) and host_of(page) not in used:
                used.add(host_of(page))
                wanted -= 1
                yield f"git {name} {commit} {path}", page, host_of(page)


def write_page(folder, number, page):
    (folder / "html").mkdir(parents=True, exist_ok=True)
    (folder / "html" / f"{number:02}.html").write_bytes(page)


def draw(folder, clones):
    folder.mkdir(parents=True, exist_ok=True)
    number = 0
    for source in (draw_debian(folder), draw_web(clones)):
        for line, page, about in source:
            number += 1
            write_page(folder, number, page)
            print(f"{number:02} {line}\n# {about}, {len(page)} bytes, {len(blocks_of(page))} blocks", flush=True)


# ---- labels ----


def read_labels():
    """Pages of the label file: number, source words, main blocks, undecided blocks (sets of block numbers)."""
    pages = []
    for n, line in enumerate(LABELS.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        key, _, value = line.partition(" ")
        if key == "page":
            number, blocks, *source = value.split(" ", 5)
            pages.append({"number": int(number), "blocks": int(blocks), "source": source, "main": set(), "undecided": set()})
        elif key in ("main", "undecided"):
            for part in value.split():
                first, _, last = part.partition("-")
                pages[-1][key] |= set(range(int(first), int(last or first) + 1))
        else:
            sys.exit(f"{LABELS}:{n}: expected page, main or undecided, found {key!r}")
    return pages


def check(page, blocks):
    last = max(page["main"] | page["undecided"], default=0)
    both = page["main"] & page["undecided"]
    if len(blocks) != page["blocks"] or last > len(blocks) or both or not page["main"]:
        sys.exit(f"page {page['number']}: {len(blocks)} blocks, {page['blocks']} when labeled, labels up to {last}, twice labeled: {sorted(both)}")


def fetch(folder, clones):
    for page in read_labels():
        kind, name, version, path = page["source"]
        if kind == "deb":
            got = unpack(name, version, folder)
            if not got:
                sys.exit(f"page {page['number']}: apt-get cannot download {name}={version}; snapshot.debian.org keeps old versions")
            data = read_page(got[0] / path)
        else:
            data = git(clones / name, "show", f"{version}:{path}")
            data = gzip.decompress(data) if path.endswith(".gz") else data
        check(page, blocks_of(data))
        write_page(folder, page["number"], data)


def show(folder, names):
    for path in sorted((folder / "html").glob("*.html")):
        if names and path.stem not in names:
            continue
        print(f"==== {path.stem}")
        for i, (text, tag, links, hidden) in enumerate(blocks_of(path.read_bytes()), 1):
            marks = tag + (" link" if links > 0.7 else "") + (" hidden" if hidden else "")
            print(f"{i} [{marks}] {text}")


# ---- measure ----

WORD = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff]|[^\W\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff]+")


def words(text):
    return collections.Counter(WORD.findall(text.lower()))


def count_words(page, blocks, text):
    """Words found, extra and missed."""
    parts = {"main": collections.Counter(), "undecided": collections.Counter()}
    for i, block in enumerate(blocks, 1):
        for key, counter in parts.items():
            if i in page[key]:
                counter.update(words(block[0]))
    got = words(text)
    found = got & parts["main"]
    return sum(found.values()), sum((got - found - parts["undecided"]).values()), sum((parts["main"] - found).values())


def normalized(text):
    return re.sub(r"\s+", " ", text).strip()


def snippets_of(page, blocks):
    """Up to six snippets of main blocks and of others, evenly over the page; none that stands in a block of another kind too."""
    kinds = {"main": [], "other": [], "undecided": []}
    for i, block in enumerate(blocks, 1):
        kinds["main" if i in page["main"] else "undecided" if i in page["undecided"] else "other"].append(block)
    chosen = []
    for kind, least in (("main", 4), ("other", 2)):
        rest = "\n".join(b[0] for k in kinds if k != kind for b in kinds[k])
        able = []
        for text, *_ in kinds[kind]:
            pieces = text.split(" ")
            snippet = " ".join(pieces[max(0, len(pieces) // 2 - 4) :][:8])
            if len(pieces) >= least and snippet not in rest:
                able.append(snippet)
        chosen.append([able[k * len(able) // 6] for k in range(6)] if len(able) > 6 else able)
    return chosen


def count_snippets(wanted, unwanted, text):
    text = normalized(text)
    found = sum(s in text for s in wanted)
    return found, sum(s in text for s in unwanted), len(wanted) - found


def scores(found, extra, missed):
    precision = found / (found + extra) if found + extra else 0.0
    recall = found / (found + missed) if found + missed else 0.0
    return precision, recall, 2 * found / (2 * found + extra + missed) if found else 0.0


def run_quern(binary, folder, count):
    with tempfile.TemporaryDirectory() as inputs:
        for path in sorted((folder / "html").glob("*.html")):
            (pathlib.Path(inputs) / path.name).write_bytes(path.read_bytes())
        ran = subprocess.run([binary, "corpus", "extract", inputs, "--out", "-"], stdout=subprocess.PIPE, check=True)
    texts = [""] * count
    for line in ran.stdout.splitlines():
        row = json.loads(line)
        texts[row["id"] >> 36] = row["text"]  # the file's place in sorted order
    return texts


def interval(differences):
    rng, n = random.Random(SEED), len(differences)
    means = sorted(sum(rng.choices(differences, k=n)) / n for _ in range(10_000))
    return means[250], means[9749]


def measure(binary, folder, each, undecided):
    import trafilatura
    from readability import Document

    pages = read_labels()
    data = [(folder / "html" / f"{page['number']:02}.html").read_bytes() for page in pages]
    rendered = [blocks_of(x) for x in data]
    for page, blocks in zip(pages, rendered):
        check(page, blocks)
        if undecided != "out":
            page["main"] |= page["undecided"] if undecided == "main" else set()
            page["undecided"] = set()
    snippets = [snippets_of(page, blocks) for page, blocks in zip(pages, rendered)]

    def peer(extract):
        texts = []
        for x in data:
            try:
                texts.append(extract(x) or "")
            except Exception:  # counts as nothing found, as in trafilatura's evaluation
                texts.append("")
        return texts

    def readability(x):
        summary = Document(trafilatura.utils.decode_file(x)).summary()
        return "\n".join(b[0] for b in blocks_of(("<meta charset=utf-8>" + summary).encode()))

    settings = {"include_comments": False, "include_tables": True, "include_formatting": False}
    arms = {
        "quern": run_quern(binary, folder, len(pages)),
        f"trafilatura {trafilatura.__version__}": peer(lambda x: trafilatura.extract(x, **settings)),
        "trafilatura, fast": peer(lambda x: trafilatura.extract(x, fast=True, **settings)),
        "readability-lxml": peer(readability),
        "all text": ["\n".join(b[0] for b in blocks) for blocks in rendered],
    }
    of_words = {name: [count_words(*x) for x in zip(pages, rendered, texts)] for name, texts in arms.items()}
    of_snippets = {name: [count_snippets(*s, text) for s, text in zip(snippets, texts)] for name, texts in arms.items()}
    parts = {"all": range(len(pages)), "manuals": [i for i, p in enumerate(pages) if p["source"][0] == "deb"],
             "open web": [i for i, p in enumerate(pages) if p["source"][0] == "git"]}
    names = list(arms)
    for part, chosen in parts.items():
        print(f"\n{part}: {len(chosen)} pages, {sum(len(data[i]) for i in chosen) / 1e6:.2f} MB, "
              f"{sum(len(pages[i]['main']) for i in chosen)} main blocks, {sum(len(pages[i]['undecided']) for i in chosen)} undecided, "
              f"of {sum(len(rendered[i]) for i in chosen)}; "
              f"{sum(len(snippets[i][0]) for i in chosen)} snippets of main text, {sum(len(snippets[i][1]) for i in chosen)} others")
        print(f"{'':<20} {'macro P':>8} {'macro R':>8} {'macro F1':>8} {'micro P':>8} {'micro R':>8} {'micro F1':>8} {'snip. P':>8} {'snip. R':>8} {'snip. F1':>8}")
        for name in names:
            each_page = [scores(*of_words[name][i]) for i in chosen]
            row = [sum(s[k] for s in each_page) / len(chosen) for k in range(3)]
            for counts in (of_words[name], of_snippets[name]):
                row += scores(*(sum(counts[i][k] for i in chosen) for k in range(3)))
            print(f"{name:<20} " + " ".join(f"{x:8.4f}" for x in row))
        for other in names[1:]:
            differences = [scores(*of_words["quern"][i])[2] - scores(*of_words[other][i])[2] for i in chosen]
            low, high = interval(differences)
            print(f"quern - {other}: macro F1 {100 * sum(differences) / len(chosen):+.2f} points, 95 % interval {100 * low:+.2f} to {100 * high:+.2f}; "
                  f"better on {sum(d > 0.005 for d in differences)} pages, worse on {sum(d < -0.005 for d in differences)}")
    if each:
        each.mkdir(parents=True, exist_ok=True)
        for i, page in enumerate(pages):
            marks = [f"{100 * scores(*of_words[n][i])[0]:.0f}/{100 * scores(*of_words[n][i])[1]:.0f}" for n in names]
            print(f"{page['number']:02} {' '.join(page['source'][1::2])[-70:]:<70} {' '.join(f'{m:>8}' for m in marks)}")
            for name in names[:2]:
                (each / f"{page['number']:02}.{name.split(' ')[0]}.txt").write_text(arms[name][i], encoding="utf-8")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = p.add_subparsers(dest="verb", required=True)
    for verb in ("draw", "fetch"):
        v = verbs.add_parser(verb)
        v.add_argument("pages", type=pathlib.Path)
        v.add_argument("clones", type=pathlib.Path)
    v = verbs.add_parser("blocks")
    v.add_argument("pages", type=pathlib.Path)
    v.add_argument("names", nargs="*", help="numbers of pages, as 07")
    v = verbs.add_parser("measure")
    v.add_argument("quern")
    v.add_argument("pages", type=pathlib.Path)
    v.add_argument("--each", type=pathlib.Path, help="print every page's precision and recall, write extracted texts to this folder")
    v.add_argument("--undecided", choices=["out", "main", "other"], default="out", help="how undecided blocks count")
    a = p.parse_args()
    if a.verb in ("draw", "fetch"):
        (draw if a.verb == "draw" else fetch)(a.pages, a.clones)
    elif a.verb == "blocks":
        show(a.pages, a.names)
    else:
        measure(a.quern, a.pages, a.each, a.undecided)


if __name__ == "__main__":
    main()
