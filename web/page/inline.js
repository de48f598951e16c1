/* Markdown inside of a block: code, emphasis, links, breaks, mathematics; to DOM nodes. The delimiter run algorithm of CommonMark. */
const PUNCTUATION = /[\p{P}\p{S}]/u, BLANK = /\s/u;
const LINK_TARGET = /\(\s*(?:<([^<>\n]*)>|((?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*\))*))(?:\s+(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|\(((?:[^()\\]|\\.)*)\)))?\s*\)/y;
const AUTOLINK = /<([a-zA-Z][a-zA-Z0-9+.-]{1,31}:[^\s<>]*)>/y, MAIL = /<([\w.!#$%&'*+\/=?^`{|}~-]+@[\w.-]+\.[a-zA-Z]{2,})>/y;
const BARE = /https?:\/\/[^\s<>]*[^\s<>?!.,:;*_~'"]/y;
const unescapeText = s => s.replace(/\\([!-\/:-@\[-`{-~])/g, "$1").replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|nbsp|copy|mdash|ndash|hellip|rarr|larr|times|deg));/g, entity);
function entity(whole, decimal, hex, name) {
  if (name) return { amp: "&", lt: "<", gt: ">", quot: "\"", nbsp: "\u00a0", copy: "©", mdash: "—", ndash: "–", hellip: "…", rarr: "→", larr: "←", times: "×", deg: "°" }[name];
  const n = parseInt(decimal || hex, decimal ? 10 : 16);
  return n > 0 && n < 0x110000 && (n < 0xd800 || n > 0xdfff) ? String.fromCodePoint(n) : "\ufffd";
}

// A link leads only to the web, to mail or to a place of its own page; anything else stays text.
function link(target, children, title) {
  if (!/^(https?:|mailto:)/i.test(target)) return make("span", { title: target }, ...children);
  return make("a", { href: target, rel: "noopener noreferrer nofollow", target: "_blank", title: title || undefined }, ...children);
}

// Pieces are DOM nodes, strings and delimiter runs {run, count, opens, closes}; brackets stay indices into the list.
class Inline {
  constructor(text, references = {}, deep = 0) {
    this.text = text, this.at = 0, this.references = references, this.deep = deep, this.list = [], this.brackets = [];
  }
  nodes() {
    while (this.at < this.text.length) this.step();
    return this.emphasis(this.list);
  }
  push(x) {
    const last = this.list.length - 1;
    if (typeof x === "string" && typeof this.list[last] === "string" && !this.brackets.some(b => b.index > last - 1)) this.list[last] += x;
    else this.list.push(x);
  }
  match(re) {
    re.lastIndex = this.at;
    const m = re.exec(this.text);
    if (m) this.at += m[0].length;
    return m;
  }
  step() {
    const c = this.text[this.at], t = this.text;
    if (c === "\\") return this.backslash();
    if (c === "`") return this.code();
    if (c === "*" || c === "_" || c === "~") return this.run(c);
    if (c === "$") return this.dollar();
    if (c === "[" || (c === "!" && t[this.at + 1] === "[")) {
      this.brackets.push({ index: this.list.length, image: c === "!", begin: this.at + (c === "!" ? 2 : 1) });
      this.list.push(c === "!" ? "![" : "[");
      return void (this.at += c === "!" ? 2 : 1);
    }
    if (c === "]") return this.close();
    let m;
    if (c === "<") {
      if ((m = this.match(AUTOLINK))) return this.push(link(m[1], [m[1]]));
      if ((m = this.match(MAIL))) return this.push(link("mailto:" + m[1], [m[1]]));
      if ((m = this.match(/<br\s*\/?>/iy))) return this.push(make("br"));
      return this.push(c), void ++this.at;
    }
    if (c === "\n") {
      ++this.at;
      const last = this.list.length - 1, before = typeof this.list[last] === "string" ? this.list[last] : "";
      if (before) this.list[last] = before.replace(/ +$/, "");
      if (/ {2,}$/.test(before)) this.push(make("br"));
      return this.push("\n");
    }
    if (c === "&" && (m = this.match(/&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-z]{2,6});/y))) return this.push(unescapeText(m[0]));
    if (c === "h" && !this.brackets.length && !/\w/.test(t[this.at - 1] || "") && (m = this.match(BARE))) {
      let url = m[0];
      while (url.endsWith(")") && url.split(")").length > url.split("(").length) url = url.slice(0, -1), --this.at;
      return this.push(link(url, [url]));
    }
    m = this.match(/[^\\`*_~$\[\]!<\n&h]+|./suy);
    this.push(m[0]);
  }
  backslash() {
    const next = this.text[this.at + 1] || "";
    const close = next === "(" ? "\\)" : next === "[" ? "\\]" : "";
    const end = close ? this.text.indexOf(close, this.at + 2) : -1;
    if (end > 0) {
      this.push(mathNode(this.text.slice(this.at + 2, end), next === "["));
      return void (this.at = end + 2);
    }
    this.at += 2;
    if (next === "\n") this.push(make("br")), this.push("\n");
    else if (/[!-\/:-@\[-`{-~]/.test(next)) this.push(next);
    else this.push("\\"), --this.at;
  }
  code() {
    const ticks = this.match(/`+/y)[0];
    for (const re = /`+/g; ;) {
      re.lastIndex = re.lastIndex || this.at;
      const m = re.exec(this.text);
      if (!m) return this.push(ticks);
      if (m[0].length !== ticks.length) continue;
      let body = this.text.slice(this.at, m.index).replace(/\n/g, " ");
      if (body.trim() && body.startsWith(" ") && body.endsWith(" ")) body = body.slice(1, -1);
      this.at = m.index + ticks.length;
      return this.push(make("code", { textContent: body }));
    }
  }
  // $…$ as pandoc reads it: no blank inside of the signs, no digit after them; so that prices stay text.
  dollar() {
    const m = this.match(/\$\$([^$]+)\$\$/y) || this.match(/\$(?![\s$])((?:[^$\\\n]|\\.|\n(?!\n))*?[^\s\\])\$(?!\d)/y) || this.match(/\$(?![\s$])((?:[^$\\\n]|\\.)+\\.)\$(?!\d)/y);
    if (m) this.push(mathNode(m[1], m[0].startsWith("$$")));
    else this.push("$"), ++this.at;
  }
  run(c) {
    const run = this.match(new RegExp(`\\${c}+`, "y"))[0], begin = this.at - run.length;
    const before = [...this.text.slice(Math.max(0, begin - 2), begin)].pop() || " ", after = [...this.text.slice(this.at, this.at + 2)][0] || " ";
    const left = !BLANK.test(after) && (!PUNCTUATION.test(after) || BLANK.test(before) || PUNCTUATION.test(before));
    const right = !BLANK.test(before) && (!PUNCTUATION.test(before) || BLANK.test(after) || PUNCTUATION.test(after));
    if (c === "~" && run.length > 2) return this.push(run);
    this.list.push({ run: c, count: run.length, whole: run.length,
                     opens: left && (c !== "_" || !right || PUNCTUATION.test(before)), closes: right && (c !== "_" || !left || PUNCTUATION.test(after)) });
  }
  close() {
    const open = this.brackets.pop();
    const end = this.at++;
    if (!open) return this.push("]");
    let target = null, title = "";
    const m = open.dead ? null : this.match(LINK_TARGET);
    if (m) target = unescapeText(m[1] ?? m[2] ?? ""), title = unescapeText(m[3] ?? m[4] ?? m[5] ?? "");
    else if (!open.dead) {
      const r = this.match(/\[([^\[\]]*)\]/y), name = (r && r[1].trim()) || this.text.slice(open.begin, end);
      target = this.references[name.trim().toLowerCase()] ?? null;
      if (target === null && r) this.at -= r[0].length;
    }
    if (target === null) return this.list.push("]");
    const inner = this.emphasis(this.list.splice(open.index).slice(1));
    if (!open.image) for (const b of this.brackets) if (!b.image) b.dead = true;  // no link inside of a link
    // An image of elsewhere is never fetched: it is a link with its name.
    this.list.push(link(target, open.image && !inner.length ? [target] : inner, title));
  }
  emphasis(list) {
    for (let i = 0; i < list.length; ++i) {
      const closer = list[i];
      if (!closer.run || !closer.closes) continue;
      let j = i - 1;
      for (; j >= 0; --j) {
        const o = list[j];
        if (o.run !== closer.run || !o.opens || !o.count) continue;
        if (closer.run === "~" ? o.count === closer.count : !((o.closes || closer.opens) && (o.whole + closer.whole) % 3 === 0 && (o.whole % 3 || closer.whole % 3))) break;
      }
      if (j < 0) continue;
      const opener = list[j], strike = closer.run === "~", n = strike ? closer.count : opener.count > 1 && closer.count > 1 ? 2 : 1;
      opener.count -= n, closer.count -= n;
      const inside = list.slice(j + 1, i).map(x => x.run ? x.run.repeat(x.count) : x).filter(x => x !== "");
      const made = make(strike ? "del" : n === 2 ? "strong" : "em", {}, ...inside);
      list.splice(j + 1, i - j - 1, made);
      i = j + 1;
      if (!opener.count) list.splice(j, 1), --i;
      if (closer.count) continue;
      list.splice(i + 1, 1);
    }
    return list.map(x => x.run ? x.run.repeat(x.count) : x).filter(x => x !== "");
  }
}
const inline = (text, references) => new Inline(text, references).nodes();
