/* Checks a GBNF grammar as it is typed: rules, references, brackets; the server compiles it for good. */
const GBNF_TOKEN = /\s+|#[^\n]*|::=|"(?:[^"\\\n]|\\.)*"|\[\^?(?:[^\]\\\n]|\\.)*\]|[A-Za-z][\w-]*|\{\d*(?:,\d*)?\}|[()|*+?.]/y;

function checkGrammar(text) {
  const tokens = [];
  for (let at = 0; at < text.length; at = GBNF_TOKEN.lastIndex) {
    GBNF_TOKEN.lastIndex = at;
    const m = GBNF_TOKEN.exec(text);
    const line = text.slice(0, at).split("\n").length;
    if (!m) return { error: `line ${line}: ${text[at] === "\"" ? "a text is not closed" : text[at] === "[" ? "a set of characters is not closed" : `'${text[at]}' was not expected`}` };
    if (!/^\s|^#/.test(m[0])) tokens.push({ text: m[0], line });
  }
  const rules = new Map(), used = new Map();
  for (let i = 0; i < tokens.length;) {
    const name = tokens[i];
    if (!/^[A-Za-z]/.test(name.text) || (tokens[i + 1] || {}).text !== "::=") return { error: `line ${name.line}: expected a rule, name ::= …` };
    if (rules.has(name.text)) return { error: `line ${name.line}: the rule ${name.text} is there twice` };
    let open = 0, first = true;
    const begins = [];
    for (i += 2; i < tokens.length && (tokens[i + 1] || {}).text !== "::="; ++i) {
      const t = tokens[i].text;
      if (t === "(") ++open;
      if (t === ")" && --open < 0) return { error: `line ${tokens[i].line}: ) closes nothing` };
      if (t === "::=") return { error: `line ${tokens[i].line}: ::= without a name before it` };
      if (/^[*+?{]/.test(t) && (first || /^[(|]$/.test(tokens[i - 1].text))) return { error: `line ${tokens[i].line}: ${t} repeats nothing` };
      if (/^[A-Za-z]/.test(t)) {
        if (!used.has(t)) used.set(t, tokens[i].line);
        if (first && !/^[*?]|^\{0?,/.test((tokens[i + 1] || {}).text || "")) begins.push(t);
      }
      first = t === "|" || (first && t === "(");
    }
    if (open) return { error: `line ${name.line}: the rule ${name.text} has ( that is not closed` };
    rules.set(name.text, begins);
  }
  if (!rules.has("root")) return { error: "the rule root is missing: root ::= …" };
  for (const [name, line] of used) if (!rules.has(name)) return { error: `line ${line}: the rule ${name} is not defined` };
  for (const name of rules.keys()) {
    const seen = new Set(), open = [...rules.get(name)];
    while (open.length) {
      const n = open.pop();
      if (n === name) return { error: `the rule ${name} begins with itself (left recursion)` };
      if (!seen.has(n)) seen.add(n), open.push(...rules.get(n));
    }
  }
  return { good: plural(rules.size, "rule") };
}
