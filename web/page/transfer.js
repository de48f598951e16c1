/* Chats out and in: this page's own form with all versions, OpenAI messages, Markdown; also ShareGPT and ChatGPT exports. */
const fileName = chat => (titleOf(chat).replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 50) || "chat").toLowerCase();
const clean = chat => ({ ...chat, nodes: Object.fromEntries(Object.entries(chat.nodes).map(([k, { live, ...n }]) => [k, n])) });

function markdownOf(chat) {
  const out = [`# ${titleOf(chat)}`, ""];
  for (const n of path(chat)) {
    out.push(`## ${n.role === "user" ? "You" : n.role === "tool" ? "Tool " + n.name : n.model || "Model"}`, "");
    if (n.reasoning) out.push("<details><summary>Thinking</summary>", "", n.reasoning, "", "</details>", "");
    for (const c of n.tool_calls || []) out.push("Calls `" + c.function.name + "`:", "", "```json", pretty(c.function.arguments), "```", "");
    out.push(n.role === "user" ? withFiles(n) : n.role === "tool" ? "```\n" + n.content + "\n```" : n.content, "");
  }
  return out.join("\n");
}
const exportMarkdown = chat => download(fileName(chat) + ".md", "text/markdown", markdownOf(chat));
const exportMessages = chat => download(fileName(chat) + ".json", "application/json", JSON.stringify({ title: titleOf(chat), messages: messagesOf(path(chat)) }, null, 2));
const exportChats = (list, name) => download(name + ".quern.json", "application/json", JSON.stringify({ quern_chats: 1, chats: list.map(clean) }));

const ROLES = { user: "user", human: "user", assistant: "assistant", gpt: "assistant", model: "assistant", chatgpt: "assistant", bing: "assistant", tool: "tool" };
const textOf = content => typeof content === "string" ? content : Array.isArray(content) ? content.map(p => typeof p === "string" ? p : p && (p.text || p.input_text) || "").filter(Boolean).join("\n\n") : "";

function chatOfMessages(messages, title) {
  const chat = newChat();
  let at = chat.nodes.root;
  for (const m of messages) {
    const role = ROLES[String(m.role || m.from || "").toLowerCase()], content = textOf(m.content ?? m.value ?? m.text);
    if (!role || (!content && !m.tool_calls)) continue;
    at = addNode(chat, at, role === "tool" ? { role, content, name: m.name || "tool", call: m.tool_call_id || "" } : { role, content, ...(m.reasoning_content ? { reasoning: m.reasoning_content } : {}), ...(m.tool_calls ? { tool_calls: m.tool_calls } : {}) });
  }
  chat.title = title || "";
  return at.id === "root" ? null : chat;
}
// A conversation of a ChatGPT export: its tree, without the nodes that say nothing.
function chatOfMapping(c) {
  const chat = newChat(), of = c.mapping, ids = {};
  const walk = Object.keys(of).filter(k => !of[k].parent || !of[of[k].parent]).map(k => [k, chat.nodes.root]);
  for (let i = 0; i < walk.length && i < 1e5; ++i) {
    const [key, above] = walk[i], m = of[key].message, role = m && ROLES[m.author && m.author.role], text = m && m.content ? textOf(m.content.parts || m.content.text).trim() : "";
    const node = (role === "user" || role === "assistant") && text ? addNode(chat, above, { role, content: text, time: (m.create_time || 0) * 1000 || Date.now() }) : above;
    ids[key] = node;
    for (const child of of[key].children || []) if (of[child]) walk.push([child, node]);
  }
  for (let n = ids[c.current_node]; n && n.id !== "root"; n = chat.nodes[n.parent]) chat.nodes[n.parent].chosen = chat.nodes[n.parent].children.indexOf(n.id);
  chat.title = c.title || "", chat.created = (c.create_time || 0) * 1000 || Date.now(), chat.updated = (c.update_time || 0) * 1000 || Date.now();
  return path(chat).length ? chat : null;
}
const figuresOf = o => o && typeof o === "object" ? Object.fromEntries(Object.entries(o).filter(([, v]) => Number.isFinite(v))) : undefined;
const listOf = (list, good) => Array.isArray(list) ? list.filter(x => x && typeof x === "object" && good(x)) : undefined;
// A chat of this page's own form, with nothing in it that it must not have.
function chatOfOwn(c) {
  const chat = newChat(), given = c.nodes || {}, walk = [["root", chat.nodes.root]];
  const text = x => typeof x === "string" ? x : undefined;
  for (let i = 0; i < walk.length && i < 1e5; ++i) {
    const [key, above] = walk[i], from = given[key] || {};
    for (const id of Array.isArray(from.children) ? from.children : []) {
      const n = given[id];
      if (!n || !["user", "assistant", "tool"].includes(n.role)) continue;
      const fields = { role: n.role, content: text(n.content) || "", reasoning: text(n.reasoning), model: text(n.model), time: Number(n.time) || Date.now(), name: text(n.name), call: text(n.call), stats: figuresOf(n.stats), thought: figuresOf(n.thought),
                       rounds: listOf(n.rounds, r => Array.isArray(r.sources) && r.round >= 0), tool_calls: listOf(n.tool_calls, c => c.function && text(c.function.name) !== undefined), found: listOf(n.found, f => Array.isArray(f.rows)),
                       attachments: Array.isArray(n.attachments) ? n.attachments.filter(f => f && text(f.name) && text(f.text) !== undefined) : undefined };
      walk.push([id, addNode(chat, above, Object.fromEntries(Object.entries(fields).filter(([, v]) => v !== undefined && v !== null)))]);
    }
    above.chosen = Math.max(0, Math.min(above.children.length - 1, Number(from.chosen) || 0));
  }
  chat.title = text(c.title) || "", chat.created = Number(c.created) || Date.now(), chat.updated = Number(c.updated) || Date.now();
  return path(chat).length ? chat : null;
}
function chatsOf(o) {
  if (!o || typeof o !== "object") return [];
  if (o.quern_chats) return (o.chats || []).map(chatOfOwn);
  if (o.nodes && o.nodes.root) return [chatOfOwn(o)];
  if (o.mapping) return [chatOfMapping(o)];
  const list = o.messages || o.conversations || o.conversation || o.input;
  if (Array.isArray(list)) return list.length && list[0] && (list[0].messages || list[0].mapping) ? list.flatMap(chatsOf) : [chatOfMessages(list, o.title)];
  if (Array.isArray(o)) return o.length && o[0] && (o[0].role || o[0].from) ? [chatOfMessages(o, "")] : o.flatMap(chatsOf);
  return [];
}
function readChats(text) {
  let values;
  try { values = [JSON.parse(text)]; } catch (e) {
    try { values = text.split("\n").filter(l => l.trim()).map(l => JSON.parse(l)); } catch { throw new Error("is not JSON: " + e.message); }
  }
  const found = values.flatMap(chatsOf).filter(Boolean);
  if (!found.length) throw new Error("has no chats in a form that is known: messages, conversations, or an export of this page or ChatGPT");
  return found;
}
async function importFiles(files) {
  const says = [];
  let first = null;
  for (const f of files)
    try {
      const found = readChats(await f.text());
      for (const chat of found) await store.put(chat);
      first = first || found[0];
      says.push(`${f.name}: ${plural(found.length, "chat")}`);
    } catch (e) { says.push(`${f.name} ${e.message}`); }
  $("transferSays").textContent = says.join(". ");
  if (first) openChat(first);
}
function bindTransfer() {
  $("transfer").addEventListener("click", () => { $("transferSays").textContent = ""; $("transferBox").showModal(); });
  $("exportMarkdown").addEventListener("click", () => exportMarkdown(current));
  $("exportMessages").addEventListener("click", () => exportMessages(current));
  $("exportChat").addEventListener("click", () => exportChats([current], fileName(current)));
  $("exportAll").addEventListener("click", () => exportChats(chats, "chats"));
  $("importPick").addEventListener("click", () => $("importFile").click());
  $("importFile").addEventListener("change", async () => { await importFiles($("importFile").files); $("importFile").value = ""; });
  $("deleteAll").addEventListener("click", async () => {
    if (!await question(`Delete all ${plural(chats.length, "chat")} in this browser?`, { yes: "Delete" })) return;
    stopReply();
    await store.clear();
    $("transferBox").close();
    freshChat();
  });
}
