"""Markdown and mathematics of the page against other implementations: markdown-it-py (CommonMark, tables, strikethrough) and
latex2mathml. Compared is what a reader sees: elements and their text, without the page's own frames around code and tables."""
import html.parser, json, re

# A case a line; ⏎ is a line break, → a tab.
CASES = r"""
plain *em* **strong** ***both*** _em_ __strong__
~~gone~~ and a ~~b~~
snake_case_name and 2*3*4 and a * b * c
**bold *nested em* text** and *em **nested** text*
**foo*bar**baz* and *foo**bar*
`code` and ``a ` b`` and `` ` ``
a\*b\_c \` \# \!\[x](y)
[link](https://example.org) [titled](https://example.org/a?b=1 "a title") [*em* link](<https://example.org/(b>)
[ref] and [text][ref] and [other][nowhere]⏎⏎[ref]: https://example.org/r
<https://example.org/auto> and <mail@example.org>
[a [b](https://x.org) c](y)
&amp; &lt;b&gt; &copy; &#65; &#x42; &unknown;
<b>raw</b> <script>alert(1)</script> <img src=x onerror=y>
# One⏎## Two ##⏎###### Six⏎####### seven⏎#nospace
Setext one⏎===⏎⏎Setext two⏎---
para one⏎still one⏎⏎para two
hard  ⏎break and back\⏎slash
***⏎---⏎_ _ _
- a⏎- b⏎- c
- a⏎⏎- b⏎⏎- c
* a⏎  * b⏎    * c⏎  * d⏎* e
1. one⏎2. two⏎3. three
3) three⏎4) four
1. one⏎   - in one⏎   - more⏎2. two⏎⏎   para of two⏎3. three
- a⏎⏎  para of a⏎⏎  - nested⏎- b
- a⏎- b⏎⏎⏎- c
- one⏎+ two⏎* three
text⏎- list without a blank line⏎- more
text⏎14. not a list
- item⏎  lazy⏎continued⏎- next
- ```py⏎  x = 1⏎    y⏎  ```⏎- after
1. a⏎⏎       indented code in a⏎2. b
> quote⏎> more⏎lazy⏎⏎after
> - list in quote⏎> - more⏎>⏎> para
> # heading⏎> ```⏎> code⏎> ```
> a⏎>> b⏎>>> c
```⏎plain fence⏎```
```python⏎def f():⏎    return "<b>"⏎```
~~~⏎tildes ``` inside⏎~~~
````⏎```⏎inner⏎```⏎````
```⏎not closed⏎  still code
    indented code⏎⏎    more of it⏎⏎after
| a | b |⏎|---|---|⏎| 1 | 2 |⏎| 3 | 4 |
a | b⏎:-|-:⏎`x \| y` | **z**⏎only one
| a |⏎|---|⏎| b |⏎⏎after
| left | center | right |⏎|:-----|:------:|------:|⏎| 1 | 2 | 3 | 4 |
no | table⏎here | really
text before⏎| a | b |⏎|---|---|⏎| 1 | 2 |
- a⏎  > quote in item⏎- b⏎  | x | y |⏎  |---|---|⏎  | 1 | 2 |
* * *⏎* item
-⏎- filled⏎-
a*"foo"*b and **(bold)** text
*(em)*, **a**b**c**
line with trailing spaces   ⏎⏎⏎⏎next
→code by tab⏎⏎- a⏎⏎→para by tab
** not bold ** and * not em *
10. ten⏎11. eleven⏎    - deep⏎⏎    text
5 * 3 = 15 and __init__.py and a_b_
"""
FORMULAS = r"""
a+b=c
x^2+y^2=z^2
x_{i,j}^{n+1}
\frac{a+b}{c}
\sqrt{x+1}
\sqrt[3]{x}
\sum_{i=1}^{n} i
\int_0^1 f(x) dx
\alpha+\beta\leq\Gamma
\left(\frac{1}{2}\right)
\begin{pmatrix}a&b\\c&d\end{pmatrix}
\begin{cases}1&x>0\\0&x<0\end{cases}
\mathbb{R}
\hat{x}
f'(x)
\sin x
a\cdot b\times c
\forall x\in A
A\cup B\subseteq C
x\to\infty
\binom{n}{k}
p\neq q
\prod_{k=1}^{m} k
\{1,2,3\}
|x|
3.14159
\nabla\times E
""".strip().split("\n")
VOID = {"br", "hr", "input", "img"}


class Shape(html.parser.HTMLParser):
    """What is seen: [tag, …text…, /tag], with blanks joined outside of code."""
    def __init__(self):
        super().__init__()
        self.out, self.open = [], []

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        shown = {"a": a.get("href"), "ol": a.get("start"), "th": (re.search("text-align: ?(right|center)", a.get("style") or "") or [None, None])[1], "td": (re.search("text-align: ?(right|center)", a.get("style") or "") or [None, None])[1]}.get(tag)
        self.out.append(f"<{tag}{' ' + shown if shown else ''}>")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            self.out.append(f"</{tag}>")
            self.open.pop()

    def handle_data(self, data):
        text = data if "pre" in self.open else re.sub(r"\s+", " ", data)
        if self.out and not self.out[-1].startswith("<"):
            self.out[-1] += text
        else:
            self.out.append(text)

    def shape(self, source):
        self.feed(source)
        block = r"</?(p|ul|ol|li|blockquote|h\d|hr|pre|table|thead|tbody|tr|th|td|br)\b"
        out = []
        for i, t in enumerate(self.out):
            if not t.startswith("<") or t == "<":
                before, after = (self.out[i - 1] if i else "<p>"), (self.out[i + 1] if i + 1 < len(self.out) else "<p>")
                if "<code>" != before or (i > 1 and self.out[i - 2] != "<pre>"):
                    if re.match(block, before):
                        t = t.lstrip()
                    if re.match(block, after):
                        t = t.rstrip()
                else:
                    t = t.rstrip("\n")
                if not t:
                    continue
            out.append(t)
        return out


def shape(source):
    return Shape().shape(source)


# The page's own frames: code stands in a block with a bar, a table in a region that scrolls; a bare address is a link.
SHOWN = """(text => { const box = document.createElement('div'); showMarkdown(box, text);
  for (const b of box.querySelectorAll('.block')) { const pre = b.querySelector('pre'), plain = document.createElement('pre'), code = document.createElement('code'); code.textContent = pre.textContent; plain.append(code); b.replaceWith(plain); }
  for (const t of box.querySelectorAll('.over')) t.replaceWith(t.firstChild);
  return box.innerHTML; })"""
LEAVES = """(tex => { const e = mathNode(tex, true); return e.localName === 'math' ? [...e.querySelectorAll('mi, mo, mn, mtext')].map(x => x.textContent).join('') : 'not parsed'; })"""


def markdown_differences(browser):
    """What of the cases the page shows otherwise than markdown-it-py: (source, page, other)."""
    from markdown_it import MarkdownIt
    other = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    out = []
    for line in CASES.strip("\n").split("\n"):
        source = line.replace("⏎", "\n").replace("→", "\t")
        mine, theirs = shape(browser.run(f"{SHOWN}({json.dumps(source)})")), shape(other.render(source).replace("<s>", "<del>").replace("</s>", "</del>"))
        if mine != theirs:
            out.append((source, mine, theirs))
    return out


def formula_differences(browser):
    """Formulas whose symbols are others, or in another order, than latex2mathml's."""
    import latex2mathml.converter, unicodedata
    plain = lambda s: "".join(c for c in unicodedata.normalize("NFKC", s) if not c.isspace() and c not in "\u2061\u2062\u2063").replace("−", "-").replace("∗", "*").replace("\u2223", "|").replace("ˆ", "^").replace("′", "'").replace("⋅", "·").replace("¯", "‾")
    out = []
    for tex in FORMULAS:
        mine = browser.run(f"{LEAVES}({json.dumps(tex)})")
        leaves = "".join(html.unescape(x) for x in re.findall(r"<m[ion](?: [^>]*)?>([^<]*)</m[ion]>", latex2mathml.converter.convert(tex)))
        if plain(mine) != plain(leaves):
            out.append((tex, plain(mine), plain(leaves)))
    return out
