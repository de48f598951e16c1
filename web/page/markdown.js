/* Markdown of a model as DOM nodes: CommonMark's blocks, tables and task lists of GitHub, mathematics; no raw HTML ever. */
const FENCE = /^( {0,3})(`{3,}(?=[^`]*$)|~{3,})\s*(.*?)\s*$/, HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/, RULE = /^ {0,3}(?:(?:-[ \t]*){3,}|(?:_[ \t]*){3,}|(?:\*[ \t]*){3,})$/;
const ITEM = /^( {0,3})([-+*]|\d{1,9}[.)])(?:( {1,4})(?=\S)|([ \t]+)(?=\S)|[ \t]*$)/, QUOTE = /^ {0,3}> ?/, REFERENCE = /^ {0,3}\[([^\[\]]+)\]:\s*<?([^\s<>]+)>?(?:\s+["'(].*["')])?\s*$/;
const DISPLAY = /^ {0,3}(\$\$|\\\[)(.*)$/, TABLE_LINE = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const MAX_DEPTH = 24;
const indentOf = line => /^ */.exec(line)[0].length;

// A table's row as its cells; \| is a bar, and bars of code count as GitHub counts them.
function cells(line) {
  const out = [""];
  for (const m of line.trim().replace(/^\|/, "").replace(/(^|[^\\])\|$/, "$1").matchAll(/\\\||\||[^\\|]+|\\/g))
    if (m[0] === "|") out.push(""); else out[out.length - 1] += m[0] === "\\|" ? "|" : m[0];
  return out.map(c => c.trim());
}

class Blocks {
  constructor(lines, references, depth) { this.lines = lines, this.references = references, this.depth = depth, this.at = 0; }
  // Each block as {from, to, node}: the lines it was made of.
  all() {
    const out = [];
    while (this.at < this.lines.length) {
      if (!this.lines[this.at].trim()) { ++this.at; continue; }
      const from = this.at, node = this.block();
      if (node) out.push({ from, to: this.at, node });
    }
    return out;
  }
  blocks(lines) { return this.depth < MAX_DEPTH ? new Blocks(lines, this.references, this.depth + 1).all() : [{ from: 0, node: new Text(lines.join("\n")) }]; }
  inside(lines) { return this.blocks(lines).map(b => b.node); }
  inline(text) { return inline(text, this.references); }
  block() {
    const line = this.lines[this.at];
    let m;
    if (indentOf(line) >= 4) return this.indented();
    if ((m = FENCE.exec(line))) return this.fenced(m);
    if ((m = HEADING.exec(line))) return ++this.at, make("h" + m[1].length, {}, ...this.inline(m[2] || ""));
    if (RULE.test(line)) return ++this.at, make("hr");
    if (QUOTE.test(line)) return this.quote();
    if (ITEM.test(line)) return this.items();
    if ((m = DISPLAY.exec(line))) { const node = this.display(m); if (node) return node; }
    if (this.references.line(line)) return ++this.at, null;
    if (this.tableAt(this.at)) return this.table();
    return this.paragraph();
  }
  indented() {
    const out = [];
    for (; this.at < this.lines.length && (indentOf(this.lines[this.at]) >= 4 || !this.lines[this.at].trim()); ++this.at) out.push(this.lines[this.at].slice(4));
    while (!out[out.length - 1].trim()) out.pop();
    return codeBlock(out.join("\n"), "");
  }
  fenced([, indent, fence, info]) {
    const end = new RegExp(`^ {0,3}\\${fence[0]}{${fence.length},}[ \\t]*$`), out = [];
    for (++this.at; this.at < this.lines.length && !end.test(this.lines[this.at]); ++this.at)
      out.push(this.lines[this.at].replace(new RegExp(`^ {0,${indent.length}}`), ""));
    ++this.at;
    return codeBlock(out.join("\n"), info.split(/\s/)[0]);
  }
  display([, open, rest]) {
    const close = open === "$$" ? "$$" : "\\]";
    for (let text = rest, to = this.at; ; text += "\n" + this.lines[to]) {
      const end = text.indexOf(close);
      if (end >= 0) {
        if (text.slice(end + close.length).trim()) return null;
        this.at = to + 1;
        return make("div", {}, mathNode(text.slice(0, end), true));
      }
      if (++to >= this.lines.length || !this.lines[to].trim()) return null;
    }
  }
  quote() {
    const out = [];
    for (; this.at < this.lines.length; ++this.at) {
      const line = this.lines[this.at];
      if (QUOTE.test(line)) out.push(line.replace(QUOTE, ""));
      else if (line.trim() && out.length && out[out.length - 1].trim() && !this.interrupts(line) && !FENCE.test(out[out.length - 1])) out.push(line);
      else break;
    }
    return make("blockquote", {}, ...this.inside(out));
  }
  items() {
    const first = ITEM.exec(this.lines[this.at]), kind = first[2].slice(-1), ordered = kind === "." || kind === ")";
    const list = make(ordered ? "ol" : "ul"), items = [];
    if (ordered && first[2].slice(0, -1) !== "1") list.start = Number(first[2].slice(0, -1));
    let loose = false, gap = false;
    while (this.at < this.lines.length) {
      const line = this.lines[this.at], m = ITEM.exec(line);
      if (!m || m[2].slice(-1) !== kind || (RULE.test(line) && !ordered)) break;
      loose = loose || gap;
      const width = m[1].length + m[2].length + (m[3] ? m[3].length : 1), out = [line.slice(width)];
      gap = false;
      for (++this.at; this.at < this.lines.length; ++this.at) {
        const next = this.lines[this.at];
        if (!next.trim()) { if (out.length === 1 && !out[0].trim()) break; gap = true, out.push(""); continue; }
        if (indentOf(next) >= width) { gap = false, out.push(next.slice(width)); continue; }
        if (gap || this.interrupts(next) || ITEM.test(next)) break;
        out.push(next.trimStart());
      }
      while (out.length && !out[out.length - 1].trim()) out.pop();
      const task = /^\[([ xX])\]\s+/.exec(out[0] || "");
      if (task) out[0] = out[0].slice(task[0].length);
      const inner = this.blocks(out);
      loose = loose || inner.some((b, i) => i > 0 && !out[b.from - 1].trim());
      items.push([task, inner]);
    }
    for (const [task, inner] of items) list.append(this.item(task, inner, loose));
    return list;
  }
  item(task, inner, loose) {
    const e = make("li", { class: task ? "task" : undefined });
    if (task) e.append(make("input", { type: "checkbox", checked: task[1] !== " ", disabled: true, "aria-label": task[1] === " " ? "open" : "done" }), " ");
    for (const { node } of inner) if (!loose && node.tagName === "P") e.append(...node.childNodes); else e.append(node);
    return e;
  }
  table() {
    const head = cells(this.lines[this.at]), align = cells(this.lines[this.at + 1]).map(c => c.endsWith(":") ? c.startsWith(":") ? "center" : "right" : "");
    const row = (tag, texts) => make("tr", {}, ...head.map((_, i) => {
      const e = make(tag, tag === "th" ? { scope: "col" } : {}, ...this.inline(texts[i] || ""));
      if (align[i]) e.style.textAlign = align[i];
      return e;
    }));
    const body = make("tbody");
    for (this.at += 2; this.at < this.lines.length && this.lines[this.at].trim() && !this.interrupts(this.lines[this.at]); ++this.at) body.append(row("td", cells(this.lines[this.at])));
    return make("div", { class: "over", tabIndex: 0, role: "region", "aria-label": "Table" }, make("table", {}, make("thead", {}, row("th", head)), body));
  }
  tableAt(at) {
    const line = this.lines[at], next = this.lines[at + 1] || "";
    return line.includes("|") && TABLE_LINE.test(next) && cells(line).length === cells(next).length;
  }
  interrupts(line) {
    const item = ITEM.exec(line);
    return FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || /^ {0,3}(\$\$|\\\[)/.test(line) || (item && line.trim() !== item[2] && (!/\d/.test(item[2]) || parseInt(item[2], 10) === 1));
  }
  paragraph() {
    const out = [this.lines[this.at++]];
    for (; this.at < this.lines.length && this.lines[this.at].trim(); ++this.at) {
      const line = this.lines[this.at], under = /^ {0,3}(=+|-+)[ \t]*$/.exec(line);
      if (under) return ++this.at, make(under[1][0] === "=" ? "h1" : "h2", {}, ...this.inline(out.map(l => l.trimStart()).join("\n").trimEnd()));
      if (this.interrupts(line) || this.tableAt(this.at)) break;
      out.push(line);
    }
    return make("p", {}, ...this.inline(out.map(l => l.trimStart()).join("\n").trimEnd()));
  }
}

function referencesOf(lines) {
  const found = Object.create(null);
  Object.defineProperty(found, "line", { value: line => REFERENCE.test(line) && !line.trim().startsWith("[ ]") });
  for (const line of lines) {
    const m = REFERENCE.exec(line);
    if (m) found[m[1].trim().toLowerCase()] = m[2];
  }
  return found;
}
const linesOf = text => text.replace(/\r\n?/g, "\n").replace(/\0/g, "\ufffd").split("\n").map(l => /^[ \t]*\t/.test(l) ? l.replace(/^[ \t]+/, b => { let n = 0; for (const c of b) n += c === "\t" ? 4 - n % 4 : 1; return " ".repeat(n); }) : l);

// Shows the text in the element. While it grows, blocks that have not changed stay, with what is selected in them.
function showMarkdown(element, text) {
  const lines = linesOf(text), blocks = new Blocks(lines, referencesOf(lines), 0).all(), before = element.shownBlocks || [];
  const now = blocks.map(b => ({ source: lines.slice(b.from, b.to).join("\n"), node: b.node }));
  let same = 0;
  while (same < now.length && same < before.length && now[same].source === before[same].source && before[same].node.parentNode === element) now[same].node = before[same].node, ++same;
  while (element.childNodes.length > same) element.lastChild.remove();
  element.append(...now.slice(same).map(b => b.node));
  element.shownBlocks = now;
}
