/* Memory, documents, and chats that the server keeps: what is in use, what was found, and looking without an answer. */
function showKnowledge() {
  const m = !!defaults.memory, d = !!defaults.documents;
  $("memory").disabled = !m, $("documents").disabled = !d, $("look").disabled = $("lookGo").disabled = !m && !d;
  $("memoryHint").textContent = m ? "Turns are kept on the server under this name, and those that fit a question come back with it." : "This server has no memory: start it with --db FILE.";
  $("documentsHint").textContent = d ? "Passages that fit a question go before it, with numbers to cite them by." : "This server has no documents: start it with --documents DIR, an index of quern recall index.";
  $("lookBody").replaceChildren();
  $("saveName").value = $("saveName").value || fileName(current).replace(/[^a-z0-9-]/g, "").slice(0, 40);
  drawFound(), drawSaved();
  $("knowledgeBox").showModal();
}
function drawFound() {
  const all = path(current).flatMap(n => (n.found || []).map(f => [n, f]));
  $("foundBody").replaceChildren(...(all.length ? all.map(([n, f]) => foundCard(`${f.title}, ${new Date(n.time).toLocaleTimeString()}`, f)) : [make("p", { class: "hint", textContent: "Nothing yet." })]));
}
const foundCard = (title, f) => make("div", { class: "card" }, make("b", { textContent: title }), make("p", { class: "hint", textContent: f.why }), ...f.rows.map(([head, text]) => make("p", { class: "plain" }, make("b", { textContent: head + " " }), text)));

// A request for one token: what it found is all that is wanted of it, and nothing is kept.
async function look(e) {
  e.preventDefault();
  const words = $("look").value.trim(), name = $("memory").value.trim();
  if (!words) return;
  const body = { model: $("model").value, messages: [{ role: "user", content: words }], max_tokens: 1 };
  if (defaults.memory && name) body.x_memory = { conversation: name, keep: false };
  if (defaults.documents) body.x_documents = true;
  if (!body.x_memory && !body.x_documents) return void $("lookBody").replaceChildren(make("p", { class: "hint", textContent: "Name the conversation first." }));
  $("lookBody").replaceChildren(make("p", { class: "hint", textContent: "Looking …" }));
  try {
    const said = await askJson("v1/chat/completions", body);
    const found = [said.x_memory && foundInMemory(said.x_memory), said.x_documents && foundInDocuments(said.x_documents)].filter(Boolean);
    $("lookBody").replaceChildren(...found.map(f => foundCard(`${f.title}: ${f.rows.length}`, f)));
  } catch (x) { $("lookBody").replaceChildren(make("p", { class: "error", textContent: x.message })); }
}

async function drawSaved() {
  let list;
  try { list = await askJson("v1/sessions"); } catch (e) {
    $("saveForm").hidden = true;
    return void $("savedBody").replaceChildren(make("p", { class: "hint", textContent: e.message + " The flag is --session-dir DIR." }));
  }
  $("saveForm").hidden = false;
  const all = list.data || list.sessions || list;
  const act = (text, name, run) => quiet(text, async () => { try { await run(); } catch (e) { note(e.message); } }, { "aria-label": `${text} ${name}` });
  $("savedBody").replaceChildren(all.length ? tableOf(["Name", "Model", "Tokens", "Size", ""], all.map(s => { const name = s.name || s.id; return [name, s.model || "–", s.tokens ?? "–", s.bytes ? size(s.bytes) : "–", make("span", {},
    act("Open", name, () => restore(name)), act("Delete", name, async () => { if (await question(`Delete ${name} on the server?`, { yes: "Delete" })) await ask("v1/sessions/" + encodeURIComponent(name), null, undefined, "DELETE"), await drawSaved(); }))]; }))
    : make("p", { class: "hint", textContent: "None yet." }));
}
async function restore(name) {
  const said = await askJson(`v1/sessions/${encodeURIComponent(name)}/restore`, {}, undefined, "POST");
  const chat = chatOfMessages(said.messages || [], name);
  if (!chat) throw new Error(`${name} was saved without messages`);
  await store.put(chat);
  $("knowledgeBox").close();
  openChat(chat);
}
async function saveOnServer(e) {
  e.preventDefault();
  const name = $("saveName").value.trim();
  if (!name || !path(current).length) return note(name ? "The chat is empty" : "Give it a name");
  try {
    await askJson("v1/sessions/" + encodeURIComponent(name), { model: $("model").value, messages: messagesOf(path(current)) });
    note("Saved as " + name);
    await drawSaved();
  } catch (x) { note(x.message); }
}
function bindKnowledge() {
  $("knowledge").addEventListener("click", showKnowledge);
  $("lookForm").addEventListener("submit", look);
  $("saveForm").addEventListener("submit", saveOnServer);
}
