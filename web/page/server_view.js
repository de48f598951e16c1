/* The state of the server: counters, models, running requests, the prefix cache. */
function readMetrics(text) {
  const sums = {};
  for (const line of text.split("\n")) {
    const m = /^quern_([a-z_]+)(?:\{.*\})? ([-+.\de]+)$/.exec(line);
    if (m) sums[m[1]] = (sums[m[1]] || 0) + Number(m[2]);
  }
  return sums;
}
async function poll() {
  try {
    const s = readMetrics(await (await ask("metrics")).text());
    $("dot").className = "dot up";
    $("state").textContent = s.requests_running ? `${s.requests_running} running` : "ready";
    return s;
  } catch (e) {
    $("dot").className = "dot down";
    $("state").textContent = e.status === 401 ? "needs a key" : "no answer";
    return null;
  }
}
const tableOf = (head, rows) => make("table", {}, head.length ? make("thead", {}, make("tr", {}, ...head.map((h, i) => make("th", { scope: "col", class: i ? "n" : "", textContent: h })))) : null,
  make("tbody", {}, ...rows.map(r => make("tr", {}, make("th", { scope: "row" }, r[0]), ...r.slice(1).map(x => make("td", { class: "n" }, x instanceof Node ? x : String(x)))))));

async function drawStatus() {
  const s = await poll(), rows = [];
  if (s) {
    rows.push(["Running, waiting", `${s.requests_running}, ${s.requests_waiting}`], ["Requests so far", s.requests_total], ["Tokens generated", s.generated_tokens_total],
      ["Tokens per busy second", s.engine_busy_seconds_total ? (s.generated_tokens_total / s.engine_busy_seconds_total).toFixed(1) : "–"],
      ["Prompt tokens, from cache", `${s.prompt_tokens_total}, ${s.prompt_tokens_total ? Math.round(100 * s.cached_tokens_total / s.prompt_tokens_total) : 0} %`],
      ["State of running requests", size(s.state_bytes || 0)], ["Prefix cache", size(s.cache_bytes || 0)]);
  }
  if (defaults.version) rows.push(["Quern", defaults.version]);
  const list = models.map(m => [make("span", {}, make("span", { class: "dot" + (m.loaded ? " up" : ""), "aria-hidden": "true" }), m.id), m.loaded ? "loaded" : "not loaded", m.root && m.root !== m.id ? "alias of " + m.root : m.family || "–", m.context_length ? m.context_length.toLocaleString("en") : "–"]);
  $("statusBody").replaceChildren(rows.length ? tableOf([], rows) : make("p", { class: "error", textContent: "The server does not answer." }), make("h3", { textContent: "Models" }), make("div", { class: "over" }, tableOf(["Model", "State", "Family", "Context"], list)));
}
async function drawSlots() {
  let list;
  try { list = await askJson("slots"); } catch (e) { return void $("slotsBody").replaceChildren(make("p", { class: "hint", textContent: e.message })); }
  const doing = { waiting: "waiting", reading: "prefill", answering: "decode", thinking: "thinking" };
  $("slotsBody").replaceChildren(list.length ? tableOf(["Model", "State", "Prompt", "Cached", "Generated", "Seconds"], list.map(r => [r.model, doing[r.state] || r.state, r.plan ? r.plan : `${r.read_tokens} / ${r.prompt_tokens}`, r.cached_tokens ?? "–", r.candidates !== undefined ? `${r.candidates} of ${r.all_candidates}` : `${r.generated_tokens} / ${r.max_tokens}`, (r.age_seconds || 0).toFixed(1)]))
    : make("p", { class: "hint", textContent: "None." }));
}
// What API keys have used: one's own, or all for a key of an administrator; nothing without keys.
async function drawUsage() {
  let all = [];
  try { all = (await askJson("v1/usage")).data; } catch { /* the state above says it */ }
  const limits = k => [["requests_per_minute", " requests/min"], ["tokens_per_minute", " tokens/min"], ["tokens_per_day", " tokens/day"], ["concurrent", " at once"]].filter(([name]) => k.limits[name]).map(([name, unit]) => k.limits[name].toLocaleString("en") + unit).join(", ");
  $("usageBody").replaceChildren(...(all.length ? [make("h3", { textContent: "API keys" }), tableOf(["Key", "Requests today", "Tokens today", "Tokens left today", "Refused today", "Limits"],
    all.map(k => [k.name, k.today.requests, k.today.total_tokens.toLocaleString("en"), k.tokens_left_today === undefined ? "–" : k.tokens_left_today.toLocaleString("en"), k.today.refused, limits(k) || "–"]))] : []));
}
// The tree of cached prefixes. Texts are for keys of administrators, which only the server knows.
let cacheKey = "";  // the key that it refused texts to
async function drawCache() {
  let c, key = $("key").value;
  try {
    if (key && key !== cacheKey) c = await askJson("v1/cache?text=true").catch(e => { if (e.status !== 403) throw e; cacheKey = key; });
    c = c || await askJson("v1/cache");
  } catch (e) { return void $("cacheBody").replaceChildren(make("p", { class: "hint", textContent: e.message })); }
  if (!c.models.length) return void $("cacheBody").replaceChildren(make("p", { class: "hint", textContent: "No model is loaded." }));
  $("cacheBody").replaceChildren(...c.models.map(m => make("div", { class: "card" }, make("b", { textContent: m.model }),
    make("p", { class: "hint", textContent: `${size(m.memory_bytes)} of ${size(m.memory_budget_bytes)} in memory` + (m.disk ? `, ${size(m.disk.bytes)} of ${size(m.disk.budget_bytes)} on disk` : "") }),
    make("div", { class: "meter", "aria-hidden": "true" }, make("i", { style: `width: ${Math.min(100, 100 * m.memory_bytes / (m.memory_budget_bytes || 1))}%` })),
    m.trees.some(t => t.children.length) ? null : make("p", { class: "hint", textContent: "Nothing is kept yet." }),
    ...m.trees.flatMap(t => [t.adapter ? make("p", { class: "hint", textContent: "adapter " + t.adapter }) : null, cacheTree(t.children, 0)]).filter(Boolean),
    m.omitted_nodes ? make("p", { class: "hint", textContent: `${plural(m.omitted_nodes, "more prefix").replace(/xs$/, "xes")}` }) : null)));
}
const cacheFacts = n => [`tokens ${n.begin} to ${n.begin + n.tokens}`, { both: "in memory and on disk", memory: "in memory", disk: "on disk" }[n.where] || "", size(n.memory_bytes + n.disk_bytes), plural(n.hits, "hit"), `used ${Math.round(n.age_seconds)} s ago`].filter(Boolean).join(" · ");
// Indented where prefixes part: a chain without a branch, such as the turns of one chat, is one item.
function cacheTree(nodes, depth) {
  const part = n => make("div", {}, n.preview ? make("code", { textContent: n.preview.slice(0, 120) + " " }) : null, make("span", { class: "hint", textContent: cacheFacts(n) }));
  return make("ul", { class: "tree" }, ...nodes.map(n => {
    const chain = [n];
    while (chain[chain.length - 1].children.length === 1) chain.push(chain[chain.length - 1].children[0]);
    const parting = chain[chain.length - 1].children;
    return make("li", {}, ...chain.map(part), !parting.length ? null : depth < 100 ? cacheTree(parting, depth + 1) : make("span", { class: "hint", textContent: "…" }));
  }));
}
let watching = 0;
async function showStatus() {
  $("statusBox").showModal();
  await Promise.all([loadModels().catch(() => 0).then(drawStatus), drawSlots(), drawUsage(), drawCache()]);
  clearInterval(watching);
  watching = setInterval(() => { if ($("statusBox").open) drawStatus(), drawSlots(), $("usageBody").firstChild && drawUsage(); else clearInterval(watching); }, 1000);
}
