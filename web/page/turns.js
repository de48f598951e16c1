/* How turns look: questions, answers with their reasoning, rounds, what was found, tool calls and figures, and what can be done with each. */
const views = new WeakMap();  // node → its elements, while they are shown
const scroll = $("scroll");
const atEnd = () => scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 80;
const toEnd = () => { scroll.scrollTop = scroll.scrollHeight; };

function viewOf(node) {
  const said = make("div", { class: "said" }), who = make("div", { class: "who" }), acts = make("div", { class: "acts" });
  const article = make("article", { class: node.role, tabIndex: -1, "aria-label": node.role === "user" ? "You" : node.role === "tool" ? "Tool" : node.model || "Model" }, who, said, acts);
  const v = { article, who, said, acts };
  article.dataset.node = node.id;
  views.set(node, v);
  if (node.role === "user") showQuestion(node, v);
  else if (node.role === "tool") showToolResult(node, v);
  else {
    who.append(make("span", { textContent: node.model || "Model" }));
    if (node.rounds && node.rounds.length) article.insertBefore((v.rounds = new Rounds(node.rounds)).box, said);
    for (const f of node.found || []) showFound(node, f);
    render(node);
  }
  showActs(node);
  return article;
}
function showQuestion(node, v) {
  v.who.remove();
  v.said.textContent = node.content;
  for (const f of node.attachments || [])
    v.said.before(make("details", { class: "fold" }, make("summary", { textContent: `${f.name}, ${size(f.text.length)}` }), make("div", { class: "body" }, make("pre", { tabIndex: 0, textContent: f.text.slice(0, 20000) }))));
  if (node.attachments && !node.content) v.said.remove();
}
function showToolResult(node, v) {
  v.article.insertBefore(make("details", { class: "fold tool" }, make("summary", { textContent: `${node.name} ${node.denied ? "was not allowed" : node.failed ? "failed" : "returned"}` }),
    make("div", { class: "body" }, make("pre", { tabIndex: 0, textContent: node.content }))), v.said);
  v.said.remove();
}

// The text and reasoning of an answer, as far as they are there.
function render(node) {
  const v = views.get(node);
  if (!v) return;
  if (node.reasoning) {
    if (!v.thinking) {
      v.thoughts = make("div", { class: "body said" });
      v.thought = make("summary");
      v.thinking = make("details", { class: "fold thinking" }, v.thought, v.thoughts);
      v.thinking.addEventListener("toggle", () => v.thinking.open && showMarkdown(v.thoughts, node.reasoning));
      v.article.insertBefore(v.thinking, v.said);
    }
    const t = node.thought || {};
    v.thought.textContent = (node.live && !node.content ? "Thinking" : "Thought") + (t.seconds ? ` for ${t.seconds.toFixed(t.seconds < 1 ? 2 : 1)} s` : "") + (t.tokens ? ` · ${plural(t.tokens, "token")}` : "");
    if (v.thinking.open) showMarkdown(v.thoughts, node.reasoning);
  }
  let text = node.content || "";
  if (node.json && !node.live && text) try { text = "```json\n" + JSON.stringify(JSON.parse(text), null, 2) + "\n```"; } catch { /* it was cut: as it is */ }
  showMarkdown(v.said, text);
  v.said.classList.toggle("cursor", !!node.live);
  v.article.setAttribute("aria-busy", String(!!node.live));
  for (const call of node.tool_calls || []) {
    const id = "call " + call.id;
    let box = [...v.article.querySelectorAll("details.call")].find(d => d.dataset.call === id);
    if (!box) v.acts.before(box = make("details", { class: "fold call" }, make("summary"), make("div", { class: "body" }, make("pre", { tabIndex: 0 })))), box.dataset.call = id;
    box.querySelector("summary").textContent = `Calls ${call.function.name}`;
    box.querySelector("pre").textContent = pretty(call.function.arguments);
  }
}
function pretty(text) { try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; } }

// What the server found before it answered, and why: {title, why, rows: [heading, text]}.
function showFound(node, f) {
  const v = views.get(node);
  if (!v) return;
  const body = make("div", { class: "body plain" }, f.why, ...f.rows.map(([head, text]) => make("p", {}, make("b", { textContent: head + " " }), text)));
  v.article.insertBefore(make("details", { class: "fold recalled" }, make("summary", { textContent: `${f.title}: ${f.rows.length}` }), body), v.said);
}
const foundInMemory = m => ({ title: "From memory", why: `Looked for by ${m.route}` + (m.plan && m.plan !== "[]" ? `: ${m.plan}` : "") + (m.notes.length ? `. ${m.notes.join(". ")}` : ""), rows: m.responses.map(r => [`${r.time} · ${r.speaker} · ${r.why}`, r.text]) });
const foundInDocuments = d => ({ title: "From documents", why: `${d.mode}${d.fallback ? ", " + d.fallback : ""}, ${d.tokens} tokens` + ((d.notes || []).length ? `. ${d.notes.join(". ")}` : ""), rows: d.chunks.map(c => [`[${c.cite}] ${c.path}`, c.text]) });

function statsText(s) {
  if (!s) return "";
  return [`${s.completion} tokens`, s.rate ? `${s.rate.toFixed(s.rate < 10 ? 1 : 0)} tokens/s` : "", s.first ? `first after ${s.first.toFixed(2)} s` : "",
          s.prompt ? `prompt ${s.prompt}` + (s.cached ? `, ${s.cached} from cache` : "") : ""].filter(Boolean).join(" · ");
}
function showActs(node) {
  const v = views.get(node);
  if (!v) return;
  v.acts.replaceChildren();
  if (node.live || node.role === "tool") return;
  const siblings = current.nodes[node.parent].children, at = siblings.indexOf(node.id), chat = current;
  if (siblings.length > 1)
    v.acts.append(make("span", { class: "versions" }, quiet("‹", () => choose(chat, node, at - 1), { "aria-label": "Previous version", disabled: at === 0 }),
      make("span", { textContent: `${at + 1}/${siblings.length}` }), quiet("›", () => choose(chat, node, at + 1), { "aria-label": "Next version", disabled: at === siblings.length - 1 })));
  v.acts.append(quiet("Copy", () => copyText(node.content)), quiet("Edit", () => edit(node)));
  if (node.role === "assistant") {
    v.acts.append(quiet("Regenerate", () => regenerate(node)));
    const others = modelIds().filter(id => id !== node.model);
    if (others.length) v.acts.append(quiet("With…", e => menu(e.currentTarget, modelIds().map(id => [id, () => regenerate(node, id)])), { "aria-label": "Regenerate with another model", "aria-haspopup": "menu" }));
  }
  v.acts.append(quiet("⋯", e => menu(e.currentTarget, [
    ["Branch into a new chat", () => branch(node)], ["Delete this turn and what follows", () => dropTurn(node)],
    ...(node.role === "assistant" ? [["Copy as plain text", () => copyText(v.said.innerText)], ["Details", () => details(node)]] : [])]), { "aria-label": "More", "aria-haspopup": "menu" }));
  if (node.stopped) v.acts.append(make("span", { class: "stats", textContent: "stopped" }));
  if (node.cut) v.acts.append(make("span", { class: "stats", textContent: "ended at max tokens" }));
  if (node.stats) v.acts.append(make("span", { class: "stats", textContent: statsText(node.stats) }));
}
function details(node) {
  const v = views.get(node), old = v.article.querySelector(".facts");
  if (old) return old.remove();
  const s = node.stats || {}, rows = [["Model", node.model], ["Time", new Date(node.time).toLocaleString()], ["Seconds", s.seconds && s.seconds.toFixed(2)], ["Time to first token", s.first && s.first.toFixed(3) + " s"],
    ["Prompt tokens", s.prompt], ["of them from cache", s.cached], ["Completion tokens", s.completion], ["of them reasoning", s.reasoning], ["Tokens per second", s.rate && s.rate.toFixed(1)], ["Settings", node.settings], ...(node.warnings || []).map(w => ["Warning", w])];
  v.acts.after(make("div", { class: "card facts" }, make("table", {}, make("tbody", {}, ...rows.filter(r => r[1] !== undefined && r[1] !== "").map(([k, t]) => make("tr", {}, make("th", { scope: "row", textContent: k }), make("td", { class: "n", textContent: String(t) })))))));
}

// Any turn can be edited: a changed question is answered anew, a changed answer stands as another version.
function edit(node) {
  const v = views.get(node);
  if (running || v.article.querySelector(".editor")) return;
  const area = make("textarea", { value: node.content, "aria-label": "Edited text" }), mine = node.role === "user";
  const end = () => { box.remove(); v.said.hidden = v.acts.hidden = false; v.article.focus(); };
  const take = () => {
    if (!area.value.trim() || area.value === node.content) return end();
    const { attachments, model, reasoning } = node;
    addNode(current, current.nodes[node.parent], mine ? { role: "user", content: area.value, attachments } : { role: "assistant", content: area.value, reasoning, model, edited: true });
    store.put(current);
    showChat();
    if (mine) reply();
  };
  const box = make("div", { class: "editor" }, area, make("div", { class: "row" }, button(mine ? "Send" : "Save", take, { class: "main" }), button("Cancel", end)));
  area.addEventListener("keydown", e => { if (e.key === "Escape") e.stopPropagation(), end(); if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) take(); });
  v.said.hidden = v.acts.hidden = true;
  v.said.after(box);
  area.style.height = Math.min(area.scrollHeight + 8, innerHeight * .6) + "px";
  area.focus();
}
function choose(chat, node, at) {
  if (running && running.chat === chat) return;
  chat.nodes[node.parent].chosen = at;
  store.put(chat);
  showChat();
  const shown = chat.nodes[chat.nodes[node.parent].children[at]], v = views.get(shown);
  if (v) v.article.scrollIntoView({ block: "nearest" }), (v.acts.querySelector(".versions button:not(:disabled)") || v.article).focus();
}
function regenerate(node, model) {
  if (running) return;
  const parent = current.nodes[node.parent];
  reply({ parent, model: model || undefined });
}
function branch(node) {
  const copy = newChat();
  let at = copy.nodes.root;
  for (const n of path(current)) {
    const { id, parent, children, chosen, ...fields } = n;
    at = addNode(copy, at, structuredClone(fields));
    if (n === node) break;
  }
  copy.title = titleOf(current) + " (branch)";
  store.put(copy).then(() => openChat(copy));
}
function dropTurn(node) {
  if (running) return;
  removeNode(current, node);
  store.put(current);
  showChat();
}
