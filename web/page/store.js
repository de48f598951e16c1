/* Chats, and where the browser keeps them: IndexedDB, or nothing but this tab when that is denied or not wanted.
   A chat is a tree of turns, {id, title, created, updated, nodes: {root, …}}: a node has its children in order and the
   index of the one that is shown, so that every edit and every regeneration is another version next to the first. */
const newId = () => [...crypto.getRandomValues(new Uint8Array(9))].map(b => b.toString(36).padStart(2, "0")).join("");
const newChat = () => ({ id: newId(), title: "", created: Date.now(), updated: Date.now(), nodes: { root: { id: "root", children: [], chosen: 0 } } });

function path(chat) {
  const out = [];
  for (let n = chat.nodes.root; n.children.length && out.length < 1e5; out.push(n)) n = chat.nodes[n.children[n.chosen]];
  return out;
}
const lastOf = chat => path(chat).pop() || chat.nodes.root;
function addNode(chat, parent, fields) {
  const node = { id: newId(), parent: parent.id, children: [], chosen: 0, time: Date.now(), ...fields };
  chat.nodes[node.id] = node;
  parent.children.push(node.id);
  parent.chosen = parent.children.length - 1;
  chat.updated = Date.now();
  return node;
}
function removeNode(chat, node) {
  const parent = chat.nodes[node.parent], at = parent.children.indexOf(node.id);
  parent.children.splice(at, 1);
  parent.chosen = Math.max(0, Math.min(parent.chosen, parent.children.length - 1));
  for (const open = [node]; open.length;) {
    const n = open.pop();
    for (const c of n.children) open.push(chat.nodes[c]);
    delete chat.nodes[n.id];
  }
}
const titleOf = chat => chat.title || ((path(chat).find(n => n.role === "user") || {}).content || "New chat").trim().split("\n")[0].slice(0, 80) || "New chat";

let chats = [], current = newChat();
const store = {
  db: null,
  open() {
    return new Promise(done => {
      try {
        const asked = indexedDB.open("quern", 1);
        asked.onupgradeneeded = () => asked.result.createObjectStore("chats", { keyPath: "id" });
        asked.onsuccess = () => { this.db = asked.result; done(); };
        asked.onerror = asked.onblocked = () => done();
      } catch { done(); }
    });
  },
  call(mode, what) {
    return new Promise((done, fail) => {
      if (!this.db) return done([]);
      const t = this.db.transaction("chats", mode), r = what(t.objectStore("chats"));
      t.oncomplete = () => done(r.result);
      t.onerror = t.onabort = () => fail(t.error || new Error("the browser did not keep the chat"));
    });
  },
  all() { return this.call("readonly", s => s.getAll()); },
  // Also while a reply is being written, so that a closed tab loses little of it.
  async put(chat) {
    if (!chats.includes(chat)) chats.push(chat);
    if ($("keep").value === "off") return;
    try { await this.call("readwrite", s => s.put(chat)); } catch (e) { note("Not kept: " + e.message); }
  },
  async remove(chat) {
    chats = chats.filter(c => c !== chat);
    await this.call("readwrite", s => s.delete(chat.id));
  },
  async clear() {
    chats = [];
    await this.call("readwrite", s => s.clear());
  } };
