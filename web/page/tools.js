/* Tools of MCP servers that the server knows: which a chat may use, and the permission that every call waits for. */
const MAX_TOOL_ROUNDS = 16;
let mcpTools = [];
const toolsOf = chat => chat.tools || [];  // the functions that this chat may use

async function loadTools() {
  try { $("tools").hidden = !(await askJson("v1/mcp/servers")).data.length; } catch { return void ($("tools").hidden = true); }  // a server without MCP
  if (!$("tools").hidden && chats.some(c => toolsOf(c).length)) try { mcpTools = (await askJson("v1/mcp/tools")).data; } catch { /* shown when they are asked for */ }
}
function toolFields() {
  const on = mcpTools.filter(t => toolsOf(current).includes(t.function));
  return on.length ? { tools: on.map(t => ({ type: "function", function: { name: t.function, description: t.description || t.title || "", parameters: t.input_schema || { type: "object" } } })) } : {};
}
async function showTools() {
  $("toolsBox").showModal();
  const body = $("toolsBody");
  body.replaceChildren(make("p", { class: "hint", textContent: "Asking the servers …" }));
  let list;
  try { list = await askJson("v1/mcp/tools"); } catch (e) { return body.replaceChildren(make("p", { class: "error", textContent: e.message })); }
  mcpTools = list.data;
  const chat = current, groups = {};
  for (const t of mcpTools) (groups[t.server] = groups[t.server] || []).push(t);
  const set = (name, on) => { chat.tools = toolsOf(chat).filter(f => f !== name).concat(on ? [name] : []); store.put(chat); };
  body.replaceChildren(...Object.entries(groups).map(([server, tools]) => make("fieldset", { class: "card" }, make("legend", { textContent: server }), ...tools.map((t, i) => {
    const id = `tool-${server}-${i}`;
    return make("div", { class: "row" }, make("input", { type: "checkbox", id, checked: toolsOf(chat).includes(t.function), onchange: e => set(t.function, e.target.checked) }),
      make("label", { htmlFor: id }, make("b", { textContent: t.name + " " }), make("span", { class: "hint", textContent: t.description || t.title || "" })));
  }))), ...(list.errors || []).map(e => make("p", { class: "error", textContent: `${e.server}: ${e.message}` })),
    ...(mcpTools.length ? [] : [make("p", { textContent: "The servers offer no tools." })]));
}

// Asks the person, in the conversation: once, for the chat, or not at all. Esc is no.
function permission(chat, call) {
  if ((chat.allowed || []).includes(call.function.name)) return Promise.resolve(true);
  return new Promise(done => {
    const answer = yes => { card.remove(); stop.removeEventListener("click", no); done(yes); }, no = () => answer(false), stop = $("stop");
    const always = () => { (chat.allowed = chat.allowed || []).push(call.function.name); store.put(chat); answer(true); };
    const card = make("div", { class: "card permission", role: "alertdialog", tabIndex: -1, "aria-label": "Permission for a tool call" },
      make("p", {}, "The model wants to call ", make("b", { textContent: call.function.name }), " with"), make("pre", { tabIndex: 0, textContent: pretty(call.function.arguments) }),
      make("div", { class: "row" }, button("Allow once", () => answer(true), { class: "main" }), button("Allow for this chat", always), button("Deny", no)));
    card.addEventListener("keydown", e => { if (e.key === "Escape") e.stopPropagation(), no(); });
    $("log").append(card);
    toEnd();
    card.focus();  // not a button: the Enter that sent the question must not allow anything
    stop.addEventListener("click", no);
  });
}
async function useTools(chat, node, model, round) {
  if (current !== chat) openChat(chat);
  let parent = node;
  for (const call of node.tool_calls) {
    const yes = await permission(chat, call), turn = { role: "tool", call: call.id, name: call.function.name };
    if (!yes) Object.assign(turn, { content: "The person did not allow this call.", denied: true });
    else
      try {
        const said = await askJson("v1/mcp/call", { function: call.function.name, arguments: JSON.parse(call.function.arguments || "{}") });
        Object.assign(turn, { content: said.text, failed: said.is_error || undefined });
      } catch (e) { Object.assign(turn, { content: "Error: " + e.message, failed: true }); }
    parent = addNode(chat, parent, turn);
    await store.put(chat);
    if (current === chat) showChat(), toEnd();
  }
  if (current !== chat || running) return;
  if (round + 1 < MAX_TOOL_ROUNDS) return reply({ parent, model, round: round + 1 });
  note(`Stopped after ${MAX_TOOL_ROUNDS} rounds of tool calls`);
}
