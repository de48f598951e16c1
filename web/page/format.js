/* Constrained decoding: chooses the format of the answer, helps to write it, and checks what is typed before it is sent. */
const FORMATS = {
  none: { name: "free", label: "" },
  object: { name: "any JSON object", label: "", fields: () => ({ response_format: { type: "json_object" } }) },
  schema: { name: "JSON schema", label: "JSON schema", check: checkSchemaText, fields: t => ({ response_format: { type: "json_schema", json_schema: { name: "answer", schema: JSON.parse(t) } } }),
    examples: [["Object", { type: "object", properties: { answer: { type: "string", maxLength: 200 }, confidence: { type: "integer", minimum: 0, maximum: 100 } }, required: ["answer", "confidence"] }],
               ["List", { type: "array", items: { type: "string", maxLength: 80 }, minItems: 1, maxItems: 5 }], ["One of", { enum: ["yes", "no", "unknown"] }], ["Date", { type: "object", properties: { date: { type: "string", format: "date" } }, required: ["date"] }]] },
  regex: { name: "regular expression", label: "Regular expression", check: checkRegex, fields: t => ({ regex: t }), examples: [["Part number", "[A-Z]{2}-[0-9]{4}"], ["Date", "[0-9]{4}-[0-9]{2}-[0-9]{2}"], ["Number", "-?[0-9]+(\\.[0-9]+)?"]] },
  grammar: { name: "GBNF grammar", label: "GBNF grammar", check: checkGrammar, fields: t => ({ grammar: t }), examples: [["List", "root ::= item+\nitem ::= \"- \" [^\\n]+ \"\\n\""], ["Sum", "root ::= number (\" + \" number)* \" = \" number\nnumber ::= [0-9]+"]] },
  choice: { name: "one of these", label: "Answers, one a line", check: t => linesIn(t).length > 1 ? { good: plural(linesIn(t).length, "answer") } : { error: "write at least two answers, one a line" }, fields: t => ({ structured_outputs: { choice: linesIn(t) } }), examples: [["Colors", "red\ngreen\nblue"], ["Yes or no", "yes\nno"]] },
};
const linesIn = text => text.split("\n").map(l => l.trim()).filter(Boolean);
let format = { kind: "none", texts: {} };
const formatText = () => format.texts[format.kind] || "";
function formatFields() {
  const f = FORMATS[format.kind];
  if (!f.fields || (f.check && f.check(formatText()).error)) return {};
  return f.fields(formatText());
}

// What the server's constrained decoding supports of JSON Schema; other assertions it refuses.
const SCHEMA_KEYS = "type enum const $ref $defs definitions properties required additionalProperties items minItems maxItems pattern minLength maxLength format minimum maximum exclusiveMinimum exclusiveMaximum anyOf oneOf allOf title description default examples $schema $id $comment".split(" ");
const SCHEMA_TYPES = ["object", "array", "string", "number", "integer", "boolean", "null"], SCHEMA_FORMATS = ["date", "time", "date-time", "uuid", "ipv4"];
function checkSchema(s, at, root) {
  if (typeof s === "boolean") return "";
  if (!s || typeof s !== "object" || Array.isArray(s)) return `${at}: expected an object`;
  for (const k of Object.keys(s)) if (!SCHEMA_KEYS.includes(k)) return `${at}: ${k} is not supported`;
  for (const t of [].concat(s.type === undefined ? [] : s.type)) if (!SCHEMA_TYPES.includes(t)) return `${at}: '${t}' is no type; one of ${SCHEMA_TYPES.join(", ")}`;
  if (s.format && !SCHEMA_FORMATS.includes(s.format)) return `${at}: the format ${s.format} is not supported`;
  if (s.enum && (!Array.isArray(s.enum) || !s.enum.length)) return `${at}: enum needs a list of values`;
  if (s.pattern !== undefined) { const r = checkRegex(s.pattern); if (r.error) return `${at}: pattern: ${r.error}`; }
  if (typeof s.$ref === "string") {
    if (!s.$ref.startsWith("#")) return `${at}: $ref leads out of the schema`;
    let to = root;
    for (const p of s.$ref.slice(1).split("/").slice(1)) to = to && to[decodeURIComponent(p).replace(/~1/g, "/").replace(/~0/g, "~")];
    if (to === undefined) return `${at}: ${s.$ref} is not there`;
  }
  for (const r of s.required || []) if (!s.properties || !Object.hasOwn(s.properties, r)) return `${at}: ${r} is required but not among the properties`;
  for (const [a, b] of [["minLength", "maxLength"], ["minItems", "maxItems"], ["minimum", "maximum"]]) if (s[a] > s[b]) return `${at}: ${a} is larger than ${b}`;
  const below = [...["properties", "$defs", "definitions"].flatMap(k => Object.entries(s[k] || {}).map(([n, x]) => [x, `${at}.${n}`])), ...["anyOf", "oneOf", "allOf"].flatMap(k => (s[k] || []).map((x, i) => [x, `${at}.${k}[${i}]`])),
                 ...["items", "additionalProperties"].filter(k => s[k] !== undefined).map(k => [s[k], `${at}.${k}`])];
  for (const [x, where] of below) { const wrong = checkSchema(x, where, root); if (wrong) return wrong; }
  return "";
}
function checkSchemaText(text) {
  let s;
  try { s = JSON.parse(text); } catch (e) { return { error: e.message }; }
  const wrong = checkSchema(s, "schema", s);
  return wrong ? { error: wrong } : { good: s.properties ? plural(Object.keys(s.properties).length, "property").replace(/propertys$/, "properties") : "a schema" };
}
function checkRegex(text) {
  if (!text) return { error: "write an expression" };
  if (/\(\?[=!<]/.test(text)) return { error: "look-around and named groups are not supported" };
  if (/(^|[^\\])(\\\\)*\\[1-9]/.test(text)) return { error: "back-references are not supported" };
  try { new RegExp(`^(?:${text})$`, "u"); return { good: "an expression that the whole answer matches" }; } catch (e) { return { error: e.message.replace(/^Invalid regular expression: /, "") }; }
}

function drawFormat() {
  const f = FORMATS[format.kind], more = !!f.label;
  $("formatMore").hidden = !more, $("formatAsk").hidden = format.kind === "none", $("sampleRow").hidden = format.kind !== "regex";
  $("format").textContent = "Format: " + (format.kind === "none" ? "free" : f.name);
  $("formatLabel").textContent = f.label;
  if ($("formatText").value !== formatText()) $("formatText").value = formatText();
  $("formatHelp").replaceChildren("Examples: ", ...(f.examples || []).map(([name, text]) => button(name, () => setFormat(typeof text === "string" ? text : JSON.stringify(text, null, 2)))), ...(format.kind === "schema" ? [propertyForm()] : []));
  const says = more ? f.check(formatText()) : {};
  $("formatSays").className = says.error ? "bad" : "good";
  $("formatSays").textContent = !more ? "" : says.error ? "✗ " + says.error : "✓ " + says.good;
  $("formatText").setAttribute("aria-invalid", String(!!says.error));
  if (says.error && more) $("format").textContent += " (not valid: not sent)";
  drawSample();
}
function drawSample() {
  const text = $("sample").value;
  let says = "";
  if (text && format.kind === "regex" && !checkRegex(formatText()).error) says = new RegExp(`^(?:${formatText()})$`, "u").test(text) ? "✓ matches" : "✗ does not match";
  $("sampleSays").textContent = says;
  $("sampleSays").className = says[0] === "✓" ? "good" : "bad";
}
function setFormat(text) {
  format.texts[format.kind] = text;
  inTab.set("format", JSON.stringify(format));
  drawFormat();
}
// Adds a property to the schema that is typed, so that no one has to know the words.
function propertyForm() {
  const name = make("input", { id: "propertyName", placeholder: "name", "aria-label": "Name of a new property", style: "width: 8rem" });
  const type = make("select", { id: "propertyType", "aria-label": "Its type" }, ...options([["string", "text"], ["integer", "whole number"], ["number", "number"], ["boolean", "yes or no"], ["list", "list of texts"]]));
  const add = () => {
    let s;
    try { s = JSON.parse(formatText()); } catch { s = null; }
    if (!s || s.type !== "object") s = { type: "object", properties: {}, required: [] };
    const key = name.value.trim();
    if (!key) return name.focus();
    s.properties = { ...s.properties, [key]: { string: { type: "string", maxLength: 200 }, list: { type: "array", items: { type: "string", maxLength: 80 }, maxItems: 10 } }[type.value] || { type: type.value } };
    s.required = [...new Set([...(s.required || []), key])];
    setFormat(JSON.stringify(s, null, 2));
    $("propertyName").focus();
  };
  name.addEventListener("keydown", e => { if (e.key === "Enter") e.preventDefault(), add(); });
  return make("span", { class: "row", style: "width: 100%" }, "A property: ", name, type, button("Add property", add));
}
async function askFormat() {
  const says = $("formatSays"), fields = formatFields();
  if (!Object.keys(fields).length) return;
  says.className = "", says.textContent = "Asking the server …";
  try {
    await askJson("v1/chat/completions", { model: $("model").value, messages: [{ role: "user", content: "Hello" }], max_tokens: 1, ...fields });
    says.className = "good", says.textContent = "✓ the server accepts it";
  } catch (e) { says.className = "bad", says.textContent = "✗ " + e.message; }
}
function bindFormat() {
  try { format = { ...format, ...JSON.parse(inTab.get("format") || "{}") }; } catch { /* not ours */ }
  if (!FORMATS[format.kind]) format = { kind: "none", texts: {} };
  $("formatKind").append(...options(Object.entries(FORMATS).map(([k, f]) => [k, f.name])));
  const choose = kind => {
    format.kind = $("formatKind").value = kind;
    if (FORMATS[kind].examples && !formatText()) { const t = FORMATS[kind].examples[0][1]; format.texts[kind] = typeof t === "string" ? t : JSON.stringify(t, null, 2); }
    setFormat(formatText());
  };
  $("format").addEventListener("click", () => { $("formatKind").value = format.kind; drawFormat(); $("formatBox").showModal(); });
  $("formatKind").addEventListener("change", () => choose($("formatKind").value));
  $("formatText").addEventListener("input", () => setFormat($("formatText").value));
  $("sample").addEventListener("input", drawSample);
  $("formatAsk").addEventListener("click", askFormat);
  $("formatOff").addEventListener("click", () => { choose("none"); $("formatBox").close(); });
  drawFormat();
}
