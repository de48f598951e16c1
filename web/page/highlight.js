/* Code blocks: highlighting of common languages by one regular expression each, and a button that copies. */
const words = s => `\\b(?:${s.trim().replace(/\s+/g, "|")})\\b`;
const NUMBER = "\\b(?:0[xX][\\da-fA-F_]+|0[bB][01_]+|\\d[\\d_]*(?:\\.\\d[\\d_]*)?(?:[eE][-+]?\\d+)?)[a-zA-Z]*\\b";
const DOUBLE = "\"(?:[^\"\\\\\\n]|\\\\.)*\"?", SINGLE = "'(?:[^'\\\\\\n]|\\\\.)*'?", SLASHES = "\\/\\/[^\\n]*|\\/\\*[\\s\\S]*?(?:\\*\\/|$)", HASH = "#[^\\n]*";
const CALL = "\\b[A-Za-z_$][\\w$]*(?=\\s*\\()";
const C_WORDS = "if else for while do switch case default break continue return goto struct union enum typedef const static extern inline volatile sizeof void int char short long float double signed unsigned bool true false NULL";
// [comments, strings, keywords, more]: more is [class, pattern] pairs that come first.
const LANGUAGES = {
  python: [HASH, `[rbfuRBFU]{0,2}(?:"""[\\s\\S]*?(?:"""|$)|'''[\\s\\S]*?(?:'''|$)|${DOUBLE}|${SINGLE})`, "and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield True False None self"],
  javascript: [SLASHES, `${DOUBLE}|${SINGLE}|\`(?:[^\`\\\\]|\\\\.)*\`?`, "async await break case catch class const continue debugger default delete do else export extends finally for from function get if import in instanceof interface let new of return set static super switch this throw try type typeof var void while yield true false null undefined enum implements private public readonly as"],
  c: [SLASHES, `${DOUBLE}|${SINGLE}`, C_WORDS, [["k", "^[ \\t]*#[ \\t]*[a-z]+[^\\n]*"]]],
  cpp: [SLASHES, `R"\\([\\s\\S]*?\\)"|${DOUBLE}|${SINGLE}`, C_WORDS + " class public private protected virtual override final template typename namespace using new delete this throw try catch auto constexpr noexcept nullptr operator friend mutable explicit requires concept co_await co_return co_yield static_cast dynamic_cast", [["k", "^[ \\t]*#[ \\t]*[a-z]+[^\\n]*"]]],
  java: [SLASHES, `${DOUBLE}|'(?:[^'\\\\]|\\\\.)'`, "abstract assert boolean break byte case catch char class const continue default do double else enum extends final finally float for if implements import instanceof int interface long native new package private protected public record return sealed short static super switch synchronized this throw throws try var void volatile while true false null fun val when object string using namespace async await foreach in is out params ref get set"],
  go: [SLASHES, `${DOUBLE}|'(?:[^'\\\\]|\\\\.)'|\`[^\`]*\`?`, "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var true false nil string int int64 float64 bool byte error any"],
  rust: [SLASHES, `r#*"[\\s\\S]*?"#*|${DOUBLE}|b?'(?:[^'\\\\]|\\\\.)'`, "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while bool char f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 usize isize str String Vec Option Result"],
  bash: ["(?:^|(?<=\\s))#[^\\n]*", `"(?:[^"\\\\]|\\\\.)*"?|'[^']*'?`, "if then elif else fi for in do done while until case esac function return exit local export readonly set unset shift source echo cd test", [["n", "\\$(?:\\w+|\\{[^}\\n]*\\}|[@#?*!$])|(?<=\\s)--?[A-Za-z][\\w-]*"]]],
  sql: ["--[^\\n]*|\\/\\*[\\s\\S]*?\\*\\/", `'(?:[^']|'')*'?|${DOUBLE}`, "select from where and or not in is null as join left right inner outer full cross on group by order having limit offset insert into values update set delete create table index view drop alter add primary key foreign references unique default distinct union all exists between like case when then else end with recursive count sum avg min max asc desc integer text real varchar int boolean date timestamp"],
  json: ["\\/\\/[^\\n]*", DOUBLE, "true false null", [["f", `${DOUBLE}(?=\\s*:)`]]],
  yaml: ["(?:^|(?<=\\s))#[^\\n]*", `${DOUBLE}|${SINGLE}`, "true false null yes no", [["f", "^[ \\t]*(?:- +)?[\\w.\\/-]+(?=\\s*:(?:\\s|$))"]]],
  toml: [HASH, `"""[\\s\\S]*?(?:"""|$)|${DOUBLE}|${SINGLE}`, "true false", [["k", "^[ \\t]*\\[+[^\\]\\n]*\\]+"], ["f", "^[ \\t]*[\\w.\"-]+(?=\\s*=)"]]],
  css: ["\\/\\*[\\s\\S]*?(?:\\*\\/|$)", `${DOUBLE}|${SINGLE}`, "important inherit initial unset none auto", [["k", "@[\\w-]+"], ["f", "[\\w-]+(?=\\s*:[^{}]*[;}])"], ["n", "#[\\da-fA-F]{3,8}\\b|-?\\d+(?:\\.\\d+)?(?:[a-z]+|%)?"]]],
  html: ["<!--[\\s\\S]*?(?:-->|$)", "(?<==)(?:\"[^\"]*\"?|'[^']*'?)", "", [["k", "<\\/?[A-Za-z][\\w:-]*|\\/?>|<![^>]*>"], ["f", "[\\w:-]+(?==)"], ["n", "&#?\\w+;"]]],
  diff: ["^(?:@@|diff|index|---|\\+\\+\\+)[^\\n]*", "", "", [["add", "^\\+(?!\\+\\+)[^\\n]*"], ["del", "^-(?!--)[^\\n]*"]]],
  latex: ["%[^\\n]*", "\\$[^$]*\\$", "", [["k", "\\\\(?:[A-Za-z]+|.)"], ["n", "[{}]"]]],
  r: [HASH, `${DOUBLE}|${SINGLE}`, "if else for while repeat function return break next in TRUE FALSE NULL NA library"],
  lua: ["--[^\\n]*", `${DOUBLE}|${SINGLE}|\\[\\[[\\s\\S]*?\\]\\]`, "and break do else elseif end false for function if in local nil not or repeat return then true until while"],
};
const ALIASES = { py: "python", js: "javascript", jsx: "javascript", ts: "javascript", tsx: "javascript", typescript: "javascript", node: "javascript", h: "c", cc: "cpp", "c++": "cpp", hpp: "cpp", cxx: "cpp", cs: "java",
  csharp: "java", "c#": "java", kotlin: "java", kt: "java", scala: "java", swift: "java", php: "javascript", ruby: "python", rb: "python", golang: "go", rs: "rust", sh: "bash", shell: "bash", zsh: "bash", console: "bash", make: "bash", makefile: "bash", dockerfile: "bash",
  postgresql: "sql", sqlite: "sql", mysql: "sql", yml: "yaml", ini: "toml", conf: "toml", xml: "html", svg: "html", vue: "html", patch: "diff", tex: "latex", jsonl: "json", json5: "json", scss: "css", less: "css", jsonc: "json" };
const compiled = {};

function languageOf(name) {
  const key = name.toLowerCase().replace(/^\{?\.?|\}$/g, ""), found = ALIASES[key] || key;
  return Object.hasOwn(LANGUAGES, found) ? found : "";
}
function patternOf(name) {
  if (compiled[name]) return compiled[name];
  const [comment, text, keywords, more = []] = LANGUAGES[name], parts = [], classes = [];
  const add = (cls, p) => { if (p) parts.push(`(${p})`), classes.push(cls); };
  for (const [cls, p] of more.filter(m => m[0] !== "n")) add(cls, p);
  add("c", comment), add("s", text);
  for (const [cls, p] of more.filter(m => m[0] === "n")) add(cls, p);
  add("k", keywords && words(keywords));
  if (name !== "diff" && name !== "html") add("n", NUMBER), add("f", CALL);
  return compiled[name] = { re: new RegExp(parts.join("|"), name === "sql" ? "gim" : "gm"), classes };
}
function highlight(text, name) {
  const language = languageOf(name);
  if (!language || text.length > 100000) return [text];
  const { re, classes } = patternOf(language), out = [];
  let at = 0;
  for (const m of text.matchAll(re)) {
    if (!m[0]) continue;
    if (m.index > at) out.push(text.slice(at, m.index));
    out.push(make("span", { class: "hl-" + classes[m.slice(1).findIndex(g => g !== undefined)], textContent: m[0] }));
    at = m.index + m[0].length;
  }
  if (at < text.length) out.push(text.slice(at));
  return out;
}
function codeBlock(text, name) {
  return make("div", { class: "block" },
    make("div", { class: "bar" }, make("span", { textContent: name || "text" }), quiet("Copy", () => copyText(text), { "aria-label": `Copy the code${name ? " in " + name : ""}` })),
    make("pre", { tabIndex: 0, role: "region", "aria-label": "Code" }, make("code", {}, ...highlight(text, name))));
}
