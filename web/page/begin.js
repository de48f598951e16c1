/* Themes, what is kept of the settings, and how the page begins. */
// Kinds of question that the small model which comes with Quern answers rightly; any other model does too.
const TRIES = [["Nora is older than Iris. Iris is older than Lena. Who is the youngest?", "logic"], ["Today is Sunday. What day is it 4 days from now?", "dates"], ["Which of 14, 9, 28 is the largest?", "lists"],
  ["Ana has 7 marbles. Ana finds 5 more. How many marbles does Ana have now?", "stories"], ["How many ml are 8 l?", "units"], ["What is 12 + 15?", "arithmetic"]];
const KEPT = ["system", "temperature", "topP", "topK", "minP", "maxTokens", "seed", "budget", "custom", "plan", "effort", "memory", "documents"];
const LOOKS = ["themeChoice", "contrast", "zoom", "letters", "keep"];

function applyLook() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches, more = matchMedia("(prefers-contrast: more)").matches, root = document.documentElement;
  const t = $("themeChoice").value, c = $("contrast").value;
  root.dataset.theme = t === "system" ? (dark ? "dark" : "light") : t;
  root.dataset.contrast = c === "system" ? (more ? "more" : "normal") : c;
  root.style.fontSize = $("zoom").value + "px";
  document.querySelector("meta[name=theme-color]").content = getComputedStyle(root).getPropertyValue("--ground").trim();
  $("theme").textContent = "Theme: " + { system: "system", light: "light", dark: "dark" }[t];
}
function bindSettings() {
  for (const [ids, place] of [[KEPT, inBrowser], [LOOKS, inBrowser], [["key"], inTab]])
    for (const id of ids) {
      const v = place.get(id);
      if (v !== null) $(id).value = v;
      $(id).addEventListener("change", () => place.set(id, $(id).value));
    }
  for (const id of LOOKS) $(id).addEventListener("change", applyLook);
  for (const q of ["(prefers-color-scheme: dark)", "(prefers-contrast: more)"]) matchMedia(q).addEventListener("change", applyLook);
  $("theme").addEventListener("click", () => {
    const all = ["system", "light", "dark"];
    $("themeChoice").value = all[(all.indexOf($("themeChoice").value) + 1) % 3];
    $("themeChoice").dispatchEvent(new Event("change"));
    $("numbers").textContent = $("theme").textContent;
  });
  $("keep").addEventListener("change", async () => { if ($("keep").value === "off") await store.call("readwrite", s => s.clear()); else for (const c of chats) await store.put(c); });
  $("settings").addEventListener("click", () => { showAdapters(); $("settingsBox").showModal(); });
  $("settingsBox").addEventListener("close", () => { for (const id of KEPT) inBrowser.set(id, $(id).value); inTab.set("key", $("key").value); if (!$("model").value || $("state").textContent !== "ready") load(); });
  $("plan").addEventListener("change", () => { if ($("plan").value === "custom" && !$("custom").value) $("settingsBox").showModal(), $("custom").focus(); });
}
function bindInstall() {
  let offer = null;
  addEventListener("beforeinstallprompt", e => { e.preventDefault(); offer = e; $("install").hidden = false; });
  $("install").addEventListener("click", () => { if (offer) offer.prompt(), $("install").hidden = true; });
  if (!navigator.serviceWorker || !isSecureContext) return;
  const policy = window.trustedTypes ? trustedTypes.createPolicy("worker", { createScriptURL: () => "service-worker.js" }).createScriptURL("") : "service-worker.js";
  navigator.serviceWorker.register(policy).catch(() => { /* a browser that keeps none: the page works without */ });
}
async function load() {
  try {
    await loadModels();
    defaults = await askJson("props");
    await Promise.all([poll(), loadTools(), defaults.runs && loadRuns().then(list => { $("runs").hidden = !list; })]);
    showGauge(), refreshActs();
  } catch (e) {
    $("dot").className = "dot down", $("state").textContent = e.status === 401 ? "needs a key" : "no answer";
    $("numbers").textContent = e.message;
  }
}
async function begin() {
  $("plan").append(...options(PLANS));
  $("effort").append(...options(EFFORTS));
  $("tries").append(...TRIES.map(([text, kind]) => make("button", { type: "button", onclick: () => send(text) }, text, make("small", { textContent: kind }))));
  bindSettings(), bindFormat(), applyLook(), bindChats(), bindComposer(), bindKnowledge(), bindTransfer(), bindKeys(), bindInstall();
  $("status").addEventListener("click", showStatus);
  $("tools").addEventListener("click", showTools);
  $("runs").addEventListener("click", showRuns);
  $("run").addEventListener("change", drawRun);
  $("model").addEventListener("change", () => { inBrowser.set("model", $("model").value); showAdapters(), showGauge(), countDraft(); });
  for (const d of document.querySelectorAll("dialog")) d.addEventListener("click", e => { if (e.target === d && d.id !== "askBox") d.close(); });
  await store.open();
  try { chats = await store.all(); } catch { chats = []; }
  for (const c of chats) for (const n of Object.values(c.nodes)) delete n.live;  // of a tab that was closed meanwhile
  current = chats.find(c => c.id === inTab.get("chat")) || current;
  showChat(), toEnd(), listChats();
  $("ask").value = inTab.get("draft") || "";
  grow();
  await load();
  setInterval(() => document.hidden || running || poll(), 5000);
  // Another tab may have written: its chats, not the one that is open here.
  document.addEventListener("visibilitychange", async () => {
    if (document.hidden || running || $("keep").value === "off") return;
    const now = await store.all();
    chats = now.map(c => c.id === current.id ? current : c);
    if (path(current).length && !chats.includes(current)) chats.push(current);
    listChats();
  });
}
begin();
