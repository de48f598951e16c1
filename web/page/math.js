/* TeX's mathematics as MathML. What is not known stays readable: its name in another color; what cannot be parsed stays as it was typed. */
const MATHML = "http://www.w3.org/1998/Math/MathML";
const mml = (tag, of = {}, ...children) => {
  const e = document.createElementNS(MATHML, tag);
  for (const [k, v] of Object.entries(of)) e.setAttribute(k, v);
  e.append(...children);
  return e;
};
const TEX_TABLES = { matrix: ["", ""], smallmatrix: ["", ""], pmatrix: ["(", ")"], bmatrix: ["[", "]"], Bmatrix: ["{", "}"], vmatrix: ["|", "|"], Vmatrix: ["‖", "‖"], cases: ["{", ""], rcases: ["", "}"],
  array: ["", ""], aligned: ["", ""], align: ["", ""], split: ["", ""], gathered: ["", ""], gather: ["", ""], alignat: ["", ""], equation: ["", ""], eqnarray: ["", ""], multline: ["", ""] };

class Tex {
  constructor(text, display) {
    this.tokens = text.replace(/(^|[^\\])%[^\n]*/g, "$1").match(/\\(?:[A-Za-z]+\*?|[\s\S])|\s+|[\s\S]/gu) || [];
    this.at = 0, this.display = display, this.style = "", this.depth = 0;
  }
  get next() { return this.tokens[this.at]; }
  blanks() { while (this.at < this.tokens.length && !this.next.trim()) ++this.at; }
  // A row until one of the ends, which is not taken; the row is never deeper than a person writes.
  row(ends = []) {
    if (++this.depth > 60) throw new Error("too deep");
    const out = [], style = this.style;
    for (this.blanks(); this.at < this.tokens.length && !ends.includes(this.next); this.blanks()) {
      const atom = this.scripted();
      if (atom) out.push(atom);
    }
    if (ends.length && this.at >= this.tokens.length) throw new Error("not closed");
    this.style = style, --this.depth;
    return out.length === 1 ? out[0] : mml("mrow", {}, ...out);
  }
  scripted() {
    let base = this.atom(), under = null, over = null;
    if (!base) return null;
    for (this.blanks(); ["^", "_", "'", "\\limits", "\\nolimits"].includes(this.next); this.blanks()) {
      const sign = this.tokens[this.at++];
      if (sign === "\\limits") { base.limits = true; continue; }
      if (sign === "\\nolimits") { base.limits = false; continue; }
      if (sign === "'") {
        let n = 1;
        while (this.next === "'") ++n, ++this.at;
        const primes = mml("mo", {}, "′".repeat(n));
        over = over ? mml("mrow", {}, over, primes) : primes;
      } else if (sign === "_") under = this.argument();
      else over = over ? mml("mrow", {}, over, this.argument()) : this.argument();
    }
    if (!under && !over) return base;
    const stacked = base.limits === true || (base.limits === "display" && this.display);
    const tag = stacked ? (under && over ? "munderover" : under ? "munder" : "mover") : under && over ? "msubsup" : under ? "msub" : "msup";
    return mml(tag, {}, base, ...[under, over].filter(Boolean));
  }
  argument() {
    this.blanks();
    if (this.next === undefined) throw new Error("an argument is missing");
    if (this.next !== "{") return this.atom() || mml("mrow");
    ++this.at;
    const inside = this.row(["}"]);
    ++this.at;
    return inside;
  }
  // The characters of {…} as they stand.
  raw() {
    this.blanks();
    if (this.next !== "{") return this.tokens[this.at++] || "";
    let depth = 0, out = "";
    do {
      const t = this.tokens[this.at++];
      if (t === undefined) throw new Error("not closed");
      if (t === "{") ++depth;
      if (t === "}") --depth;
      out += t;
    } while (depth);
    return out.slice(1, -1);
  }
  option() {
    this.blanks();
    if (this.next !== "[") return null;
    ++this.at;
    const inside = this.row(["]"]);
    ++this.at;
    return inside;
  }
  atom() {
    const t = this.tokens[this.at++];
    if (t === "{") { --this.at; return this.argument(); }
    if (t === "}") throw new Error("closed without being opened");
    if (t === "^" || t === "_") { --this.at; return mml("mrow"); }
    if (t[0] === "\\") return this.command(t.slice(1));
    if (/\d/.test(t) || (t === "." && /\d/.test(this.next || ""))) {
      let n = t;
      while (this.next && /[\d.]/.test(this.next)) n += this.tokens[this.at++];
      if (n.endsWith(".") && n.length > 1) n = n.slice(0, -1), --this.at;
      return mml("mn", {}, styled(n, this.style));
    }
    if (t === "~") return mml("mspace", { width: "0.28em" });
    if (t === "&") return null;
    if (/\p{L}/u.test(t)) return this.letter(t);
    if (t === "(" || t === ")" || t === "[" || t === "]" || t === "|") return mml("mo", { stretchy: "false" }, t);
    return mml("mo", {}, { "-": "−", "*": "∗", "'": "′" }[t] || t);
  }
  letter(t) {
    if (this.style === "normal" || this.style === "name") return mml("mi", { mathvariant: "normal" }, t);
    return mml("mi", {}, styled(t, this.style));
  }
  command(name) {
    const plain = name.replace(/\*$/, "");
    if (TEX_LETTERS[name]) return this.style === "bold" ? mml("mi", {}, styled(TEX_LETTERS[name], "bold")) : mml("mi", /^[A-Z]|^(ldots|dots|cdots|infty)/.test(name) ? { mathvariant: "normal" } : {}, TEX_LETTERS[name]);
    if (TEX_OPERATORS[name]) return mml("mo", name.match(/vert$|angle$|floor$|ceil$|brac[ek]$/i) ? { stretchy: "false" } : {}, TEX_OPERATORS[name]);
    if (TEX_LARGE[name]) return Object.assign(mml("mo", { largeop: "true", movablelimits: this.display ? "false" : "true" }, TEX_LARGE[name]), { limits: this.display ? true : "display" });
    if (TEX_INTEGRALS[name]) return mml("mo", { largeop: "true" }, TEX_INTEGRALS[name]);
    if (TEX_FUNCTIONS.includes(name)) return mml("mrow", {}, mml("mi", {}, name), mml("mspace", { width: "0.1em" }));
    if (TEX_LIMITS.includes(name)) return Object.assign(mml("mi", { mathvariant: "normal" }, name.replace(/^(arg|lim)(?=max|min|sup|inf)/, "$1 ")), { limits: "display" });
    if (TEX_SPACES[name]) return mml("mspace", { width: TEX_SPACES[name] });
    if (TEX_ACCENTS[name]) return Object.assign(mml("mover", { accent: "true" }, this.argument(), mml("mo", { stretchy: /wide|over/.test(name) ? "true" : "false" }, TEX_ACCENTS[name])), { limits: name === "overbrace" });
    if (TEX_UNDER[name]) return Object.assign(mml("munder", {}, this.argument(), mml("mo", { stretchy: "true" }, TEX_UNDER[name])), { limits: name === "underbrace" });
    if (TEX_STYLES[plain]) return this.styledText(plain, name.endsWith("*"));
    if (/^[{}%$#&_]$/.test(name)) return /[{}]/.test(name) ? mml("mo", { stretchy: "false" }, name) : mml("mi", {}, name);
    if (name === "|") return mml("mo", { stretchy: "false" }, "‖");
    return this.structure(plain);
  }
  styledText(name, star) {
    const style = TEX_STYLES[name];
    if (style === "text") return mml("mtext", name === "textbf" ? { style: "font-weight:bold" } : name === "textit" || name === "emph" ? { style: "font-style:italic" } : {}, unescapeText(this.raw()).replace(/\$/g, "").replace(/^ | $/g, "\u00a0"));
    if (style === "name") return Object.assign(mml("mi", { mathvariant: "normal" }, this.raw().replace(/\\[,;:! ]/g, " ").replace(/[{}\\]/g, "").trim()), { limits: star ? "display" : false });
    const before = this.style;
    this.style = style;
    if (name === "bf" || name === "rm") return null;  // until the group ends
    const inside = this.argument();
    this.style = before;
    // Letters of a word in \mathrm stand together.
    if (style === "normal" && inside.localName === "mrow" && [...inside.children].every(c => c.localName === "mi")) return mml("mi", { mathvariant: "normal" }, inside.textContent);
    return inside;
  }
  structure(name) {
    switch (name) {
      case "frac": case "dfrac": case "tfrac": case "cfrac": { const a = this.argument(); return mml("mfrac", {}, a, this.argument()); }
      case "binom": case "dbinom": case "tbinom": { const a = this.argument(); return this.fenced("(", mml("mfrac", { linethickness: "0" }, a, this.argument()), ")"); }
      case "sqrt": { const index = this.option(), inside = this.argument(); return index ? mml("mroot", {}, inside, index) : mml("msqrt", {}, inside); }
      case "stackrel": case "overset": { const over = this.argument(); return mml("mover", {}, this.argument(), over); }
      case "underset": { const under = this.argument(); return mml("munder", {}, this.argument(), under); }
      case "xrightarrow": case "xleftarrow": { const under = this.option(), over = this.argument(), arrow = mml("mo", { stretchy: "true" }, name === "xrightarrow" ? "→" : "←"); return under ? mml("munderover", {}, arrow, under, over) : mml("mover", {}, arrow, over); }
      case "left": return this.leftRight();
      case "big": case "Big": case "bigg": case "Bigg": case "bigl": case "bigr": case "Bigl": case "Bigr": case "biggl": case "biggr": case "Biggl": case "Biggr": case "bigm": case "middle":
        return mml("mo", { stretchy: "true", minsize: { b: "1.2em", B: "1.8em" }[name[0]] || "1em" }, this.delimiter());
      case "boxed": case "fbox": return mml("mrow", { style: "border:1px solid;padding:.2em .4em;border-radius:.2em" }, this.argument());
      case "phantom": case "hphantom": case "vphantom": return mml("mphantom", {}, this.argument());
      case "begin": return this.table(this.raw().replace(/\*$/, ""));
      case "not": { const of = this.atom(); of.textContent += "\u0338"; return of; }
      case "pmod": return mml("mrow", {}, mml("mspace", { width: "0.5em" }), this.fenced("(", mml("mrow", {}, mml("mi", {}, "mod"), mml("mspace", { width: "0.3em" }), this.argument()), ")"));
      case "color": case "textcolor": this.raw(); return name === "color" ? null : this.argument();
      case "tag": return mml("mtext", {}, `\u2003(${this.raw()})`);
      case "label": case "hspace": case "vspace": this.raw(); return null;
      case "cancel": return mml("menclose", { notation: "updiagonalstrike", style: "text-decoration:line-through" }, this.argument());
      case "displaystyle": case "textstyle": case "scriptstyle": case "nonumber": case "notag": case "hline": case "\\": case "limits": case "nolimits": return null;
      default: return mml("mtext", { class: "math-bad" }, "\\" + name);
    }
  }
  delimiter() {
    this.blanks();
    const t = this.tokens[this.at++] || ".";
    if (t === ".") return "";
    if (t === "\\|") return "‖";
    if (t[0] !== "\\") return t;
    return TEX_OPERATORS[t.slice(1)] || (/[{}]/.test(t[1]) ? t[1] : t);
  }
  fenced(open, inside, close) { return mml("mrow", {}, ...[open && mml("mo", { stretchy: "true", fence: "true" }, open), inside, close && mml("mo", { stretchy: "true", fence: "true" }, close)].filter(Boolean)); }
  leftRight() {
    const open = this.delimiter(), inside = this.row(["\\right"]);
    ++this.at;
    return this.fenced(open, inside, this.delimiter());
  }
  table(name) {
    if (!TEX_TABLES[name]) throw new Error("an environment that is not known");
    const aligned = /align|split|eqnarray/.test(name), rows = [[]], columns = name === "array" ? this.raw().replace(/[^lcr]/g, "") : name.startsWith("alignat") ? (this.raw(), "") : "";
    for (;;) {
      rows[rows.length - 1].push(this.row(["&", "\\\\", "\\end"]));
      const end = this.tokens[this.at++];
      if (end === "\\\\") { if (this.next === "[") this.option(); rows.push([]); }
      if (end === "\\end") { this.raw(); break; }
    }
    if (rows[rows.length - 1].length === 1 && !rows[rows.length - 1][0].childNodes.length) rows.pop();
    const align = i => aligned ? (i % 2 ? "left" : "right") : /cases/.test(name) ? "left" : { l: "left", r: "right" }[columns[i]] || "center";
    const table = mml("mtable", aligned ? { displaystyle: "true" } : {}, ...rows.map(r => mml("mtr", {}, ...r.map((c, i) => mml("mtd", { style: `text-align:${align(i)}` + (aligned ? ";padding-left:0;padding-right:" + (i % 2 ? "1em" : ".2em") : "") }, c)))));
    return this.fenced(TEX_TABLES[name][0], table, TEX_TABLES[name][1]);
  }
}

function mathNode(text, display) {
  try {
    const tex = new Tex(text.trim(), display), row = tex.row();
    if (tex.at < tex.tokens.length) throw new Error("not all was read");
    return mml("math", { display: display ? "block" : "inline", alttext: text.trim() }, row);
  } catch {
    return make("code", { class: "math-bad", textContent: (display ? "$$" : "$") + text + (display ? "$$" : "$") });
  }
}
