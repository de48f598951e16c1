/* Shortcuts, and the sheet that lists them. Those without Ctrl or Alt work outside of text fields only, and can be turned off. */
const answers = () => path(current).filter(n => n.role === "assistant"), lastAnswer = () => answers().pop(), lastQuestion = () => path(current).filter(n => n.role === "user").pop();
const KEYS = [
  ["Enter", "Send"], ["Shift Enter", "New line"], ["↑", "Edit the last question, when the field is empty"],
  ["Esc", "Stop the answer", e => e.key === "Escape" && running && !document.querySelector("dialog[open]"), stopReply],
  ["/", "To the question field", "/", () => $("ask").focus()],
  ["s  or  Ctrl K", "Search chats", e => (e.ctrlKey || e.metaKey) && e.key === "k", () => search()], ["", "", "s", () => search()],
  ["n", "New chat", "n", () => freshChat()],
  ["j, k", "Next turn, turn before", "j", () => step(1)], ["", "", "k", () => step(-1)],
  ["e", "Edit the focused turn, or the last question", "e", () => { const n = focused() || lastQuestion(); if (n) edit(n); }],
  ["r", "Regenerate the focused or last answer", "r", () => { const n = focused() || lastAnswer(); if (n && n.role === "assistant") regenerate(n); }],
  ["[, ]", "Version before, next version", "[", () => version(-1)], ["", "", "]", () => version(1)],
  ["c", "Copy the focused or last answer", "c", () => { const n = focused() || lastAnswer(); if (n) copyText(n.content); }],
  ["o", "Open or fold the reasoning", "o", () => { const n = focused() || lastAnswer(), v = n && views.get(n); if (v && v.thinking) v.thinking.open = !v.thinking.open; }],
  ["f", "Format of the answer", "f", () => $("format").click()], ["a", "Attach files", "a", () => $("attach").click()],
  [",", "Settings", ",", () => $("settings").click()], ["m", "Server", "m", () => showStatus()], ["t", "Theme", "t", () => $("theme").click()], ["?", "This sheet", "?", () => showHelp()],
];
function focused() { const a = document.activeElement.closest && document.activeElement.closest("article"); return a ? current.nodes[a.dataset.node] : null; }
function search() {
  if (getComputedStyle($("side")).display === "none") $("sideOpen").click();
  $("search").focus();
}
function step(by) {
  const all = [...document.querySelectorAll("#log article")], at = all.indexOf(document.activeElement.closest("article"));
  const to = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.max(0, Math.min(all.length - 1, at + by))];
  if (to) to.focus(), to.scrollIntoView({ block: "nearest" });
}
function version(by) {
  const n = focused() || [...path(current)].reverse().find(x => current.nodes[x.parent].children.length > 1);
  if (!n) return;
  const all = current.nodes[n.parent].children, to = all.indexOf(n.id) + by;
  if (to >= 0 && to < all.length) choose(current, n, to);
}
function showHelp() { $("helpBox").showModal(); }
function bindKeys() {
  $("help").addEventListener("click", showHelp);
  $("helpBody").replaceChildren(...KEYS.filter(k => k[0]).map(([keys, what]) => make("tr", {}, make("th", { scope: "row" }, ...keys.split(/( +or +|, | )/).map(k => /^( +or +|, | )$/.test(k) ? k.replace(/^ $/, " + ") : make("kbd", { textContent: k }))), make("td", { textContent: what }))));
  document.addEventListener("keydown", e => {
    if (e.defaultPrevented || e.isComposing) return;
    for (const [, , when, act] of KEYS) {
      if (!act) continue;
      const plain = typeof when === "string";
      if (plain ? e.key !== when || e.ctrlKey || e.metaKey || e.altKey || textField(e.target) || document.querySelector("dialog[open], .menu") || $("letters").value === "off" : !when(e)) continue;
      e.preventDefault();
      return void act();
    }
  });
}
