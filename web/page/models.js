/* Models and adapters with their load state, plans, efforts, and the gauge of the context. */
const PLANS = [["", "One answer"], ["vote:8", "Vote of 8"], ["mrsa:8x4x1", "Markovian RSA 8×4×1"], ["mrsa:8x4x2", "Markovian RSA 8×4×2"], ["custom", "Own plan"]];
const EFFORTS = [["", "Effort: model's"], ["none", "No thinking"], ["low", "Effort: low"], ["medium", "Effort: medium"], ["high", "Effort: high"]];
let models = [], adapterList = [];
const modelIds = () => models.map(m => m.id);
const modelOf = id => models.find(m => m.id === id);
const options = list => list.map(([value, textContent]) => make("option", { value, textContent }));

async function loadModels() {
  const list = await askJson("v1/models"), chosen = $("model").value || inBrowser.get("model");
  try { adapterList = await askJson("lora-adapters"); } catch { adapterList = []; }
  models = list.data;
  const parents = Object.fromEntries(adapterList.map(a => [a.id, a.parent]));
  const option = m => make("option", { value: m.id, textContent: m.id + (m.loaded ? "" : " (not loaded)") });
  const bases = models.filter(m => !parents[m.id]), out = [];
  for (const m of bases) {
    const own = models.filter(a => parents[a.id] === m.id);
    out.push(own.length ? make("optgroup", { label: m.id }, option(m), ...own.map(a => make("option", { value: a.id, textContent: "↳ " + a.id + (a.loaded ? "" : " (not loaded)") }))) : option(m));
  }
  $("model").replaceChildren(...out);
  if (modelOf(chosen)) $("model").value = chosen;
  showAdapters();
}
// Adapters that a request can mix, each with its scale; only those of the chosen model.
function showAdapters() {
  const model = modelOf($("model").value) || {}, own = adapterList.filter(a => a.parent === (model.root || model.id));
  const before = Object.fromEntries((chosenAdapters() || []).map(a => [a.id, a.scale]));  // a choice outlives its fields
  for (const e of document.querySelectorAll(".needs-adapters")) e.hidden = !own.length;
  $("adapters").replaceChildren(...own.map((a, i) => make("div", { class: "row" },
    make("input", { type: "checkbox", id: "adapter" + i, value: a.id, checked: a.id in before }), make("label", { htmlFor: "adapter" + i, class: "grow", textContent: a.id + (a.loaded ? "" : " (not loaded)") }),
    make("label", { htmlFor: "scale" + i, textContent: "scale" }), make("input", { type: "number", id: "scale" + i, min: "-4", max: "4", step: "0.1", value: before[a.id] ?? "1", style: "width: 6rem" }))));
}
function chosenAdapters() {
  const on = [...$("adapters").querySelectorAll("input:checked")];
  return on.length ? on.map(e => ({ id: e.value, scale: Number($("scale" + e.id.slice(7)).value) })) : null;
}

// How much of the context the shown chat takes, as the server counted with the last answer; a plan counts all its candidates.
function showGauge() {
  const of = (modelOf($("model").value) || {}).context_length, last = path(current).reverse().find(n => n.stats && !n.rounds), s = last && last.stats;
  const used = s ? s.prompt + s.completion : 0, share = of ? used / of : 0, g = $("gauge");
  g.hidden = !of;
  if (!of) return;
  g.querySelector("i").style.width = Math.min(100, 100 * share) + "%";
  g.className = share > .95 ? "full" : share > .75 ? "much" : "";
  $("gaugeText").textContent = `${used.toLocaleString("en")} / ${of >= 10000 ? Math.round(of / 1000) + "k" : of.toLocaleString("en")}`;
  g.setAttribute("aria-label", `Context used: ${used} of ${of} tokens, ${Math.round(100 * share)} percent`);
  g.title = `Context: ${used} of ${of} tokens (${Math.round(100 * share)} %)`;
}
// Tokens of what is being typed, with its files; the server counts, a little after the last key.
let counting = 0;
function countDraft() {
  clearTimeout(counting);
  const text = withFiles({ content: $("ask").value, attachments });
  if (text.length < 24 || limited) return void ($("draft").textContent = "");
  counting = setTimeout(async () => {
    try {
      const n = await askJson("tokenize", { model: $("model").value, prompt: text });
      $("draft").textContent = $("ask").value || attachments.length ? plural(n.count, "token") : "";
    } catch { $("draft").textContent = ""; }
  }, 400);
}
