/* The shown chat, the list of all with its search, and what can be done with one. */
function showChat() {
  const turns = path(current);
  $("log").replaceChildren(...turns.map(viewOf));
  $("hello").hidden = turns.length > 0;
  $("title").textContent = titleOf(current);
  document.title = (turns.length ? titleOf(current) + " · " : "") + "Quern";
  showGauge(), showDown();
}
function openChat(chat) {
  current = chat;
  inTab.set("chat", chat.id);
  document.body.classList.remove("side-open");
  $("numbers").textContent = "";
  showChat(), toEnd(), listChats();
}
function freshChat() {
  openChat(newChat());
  $("ask").focus();
}
function showDown() { $("down").hidden = atEnd(); }

// Where the words stand in a chat: in its title, or in a turn, with what is around them.
function hit(chat, wanted) {
  const inTitle = titleOf(chat).toLowerCase().indexOf(wanted);
  for (const n of Object.values(chat.nodes)) {
    const text = (n.content || "").replace(/\s+/g, " "), at = text.toLowerCase().indexOf(wanted);
    if (at >= 0) return { node: n, before: (at > 24 ? "…" : "") + text.slice(Math.max(0, at - 24), at), match: text.slice(at, at + wanted.length), after: text.slice(at + wanted.length, at + wanted.length + 60) };
  }
  return inTitle >= 0 ? { before: "" } : null;
}
function dayOf(time) {
  const days = Math.floor((new Date().setHours(0, 0, 0, 0) - new Date(time).setHours(0, 0, 0, 0)) / 864e5);
  return days <= 0 ? "Today" : days === 1 ? "Yesterday" : days < 7 ? "This week" : new Date(time).toLocaleDateString("en", { month: "long", year: "numeric" });
}
function listChats() {
  const wanted = $("search").value.trim().toLowerCase(), rows = [];
  let day = "";
  for (const chat of [...chats].sort((a, b) => b.updated - a.updated)) {
    const found = wanted ? hit(chat, wanted) : null;
    if (wanted && !found) continue;
    if (!wanted && dayOf(chat.updated) !== day) rows.push(make("li", { class: "day", textContent: day = dayOf(chat.updated) }));
    const open = make("button", { class: "open", type: "button", onclick: () => openFound(chat, found) }, make("b", { textContent: titleOf(chat) }));
    if (found && found.match) open.append(make("small", {}, found.before, make("mark", { textContent: found.match }), found.after));
    if (chat === current) open.setAttribute("aria-current", "true");
    rows.push(make("li", { class: chat === current ? "on" : "" }, open, quiet("⋯", e => menu(e.currentTarget, [["Rename", () => rename(chat)], ["Export as Markdown", () => exportMarkdown(chat)], ["Delete", () => dropChat(chat)]]),
      { "aria-label": "Options of " + titleOf(chat), "aria-haspopup": "menu" })));
  }
  if (!rows.length) rows.push(make("li", { class: "day", textContent: wanted ? "No chat has these words" : "No chats yet" }));
  $("chats").replaceChildren(...rows);
}
// Opens the version of the turn where the words stand.
function openFound(chat, found) {
  if (found && found.node && !(running && running.chat === chat))
    for (let n = found.node; n.id !== "root"; n = chat.nodes[n.parent]) chat.nodes[n.parent].chosen = chat.nodes[n.parent].children.indexOf(n.id);
  openChat(chat);
  const v = found && found.node && views.get(found.node);
  if (v && v.article.isConnected) v.article.scrollIntoView({ block: "center" }), v.article.focus(); else $("ask").focus();
}
async function rename(chat) {
  const title = await question("Rename the chat", { yes: "Rename", text: titleOf(chat) });
  if (!title) return;
  chat.title = title;
  await store.put(chat);
  listChats();
  if (chat === current) showChat();
}
async function dropChat(chat) {
  if (running && running.chat === chat) stopReply();
  if (!await question(`Delete “${titleOf(chat)}”?`, { yes: "Delete" })) return;
  await store.remove(chat);
  if (chat === current) freshChat(); else listChats();
}
function bindChats() {
  $("fresh").addEventListener("click", freshChat);
  $("search").addEventListener("input", listChats);
  $("search").addEventListener("keydown", e => {
    if (e.key === "Enter" && $("chats").querySelector(".open")) $("chats").querySelector(".open").click();
    if (e.key === "Escape" && $("search").value) e.stopPropagation(), $("search").value = "", listChats();
  });
  const side = on => {
    const small = matchMedia("(max-width: 52rem)").matches;
    document.body.classList.toggle("side-open", small && on);
    if (!small) document.body.classList.toggle("no-side", !on), inBrowser.set("side", on ? "on" : "off");
    $("sideOpen").setAttribute("aria-expanded", String(on));
    (on ? $("search") : $("sideOpen")).focus();
  };
  if (inBrowser.get("side") === "off") document.body.classList.add("no-side");
  $("sideOpen").addEventListener("click", () => side(true));
  $("sideClose").addEventListener("click", () => side(false));
  $("shadeOver").addEventListener("click", () => side(false));
  scroll.addEventListener("scroll", showDown, { passive: true });
  new ResizeObserver(showDown).observe(scroll);
  $("down").addEventListener("click", () => { toEnd(); $("ask").focus(); });
}
