/* Training and reinforcement learning as it goes: curves, the last figures, events, samples. */
const CURVES = [["loss", "Loss", 3], ["reward", "Reward", 3], ["solved", "Solved", 3], ["margin", "Margin", 3], ["accuracy", "Accuracy", 3], ["lr", "Learning rate", 2, true], ["grad_norm", "Gradient norm", 2], ["tokens_per_s", "Tokens per second", 0], ["answer_tokens", "Answer tokens", 0], ["entropy", "Entropy", 3], ["kl", "KL", 4]];
const SVG_W = 300, SVG_H = 110;
let shownRun = { id: "", next: 0, rows: [] }, following = 0;

async function loadRuns() {
  try { return (await askJson("v1/runs")).data; } catch { return null; }
}
async function showRuns() {
  $("runsBox").showModal();
  const list = await loadRuns();
  if (!list || !list.length) return void ($("runSays").textContent = "There are no runs in the server's folder.");
  const before = $("run").value;
  $("run").replaceChildren(...options(list.map(r => [r.id, r.id + (r.step !== undefined ? ` · step ${r.step}` : "")])));
  if (list.some(r => r.id === before)) $("run").value = before;
  await drawRun();
  clearInterval(following);
  following = setInterval(() => { if ($("runsBox").open) drawRun(); else clearInterval(following); }, 3000);
}
async function drawRun() {
  const id = $("run").value;
  if (shownRun.id !== id) shownRun = { id, next: 0, rows: [], samples: [] };
  try {
    const r = await askJson(`v1/runs/${encodeURIComponent(id)}?after=${shownRun.next}`);
    if (r.reset) shownRun.rows = [];  // the first time, or training went back: from the beginning
    for (const m of r.metrics) shownRun.rows.push(m);
    shownRun.next = r.next || 0, shownRun.samples = r.samples, shownRun.age = r.age_seconds;
  } catch (e) { return void ($("runSays").textContent = e.message); }
  const steps = shownRun.rows.filter(m => m.loss !== undefined), last = steps[steps.length - 1] || {};
  $("runSays").textContent = steps.length ? `step ${last.step}, ${(last.tokens || 0).toLocaleString("en")} tokens, written ${Math.round(shownRun.age)} s ago` : "no steps yet";
  const charts = CURVES.map(([key, name, digits, exponent]) => chart(name, steps.map(m => [m.step, m[key]]).filter(p => Number.isFinite(p[1])), x => exponent ? x.toExponential(1) : x.toFixed(digits))).filter(Boolean);
  const evals = new Map(shownRun.rows.filter(m => m.set !== undefined).map(m => [m.set, m])), happened = shownRun.rows.filter(m => m.event !== undefined).slice(-8).reverse();
  const open = [...$("runBody").querySelectorAll("details")].map(d => d.open);
  $("runBody").replaceChildren(make("div", { class: "charts" }, ...charts),
    ...(evals.size ? [make("h3", { textContent: "Evaluations" }), make("div", { class: "over" }, tableOf(["Set", "Step", "Loss"], [...evals.values()].map(m => [m.set, m.step, (m.eval_loss ?? NaN).toFixed(4)])))] : []),
    ...(happened.length ? [make("h3", { textContent: "Events" }), make("div", { class: "over" }, tableOf(["Step", "Event"], happened.map(m => [String(m.step), `${m.event}: ${m.text}`])))] : []),
    ...((shownRun.samples || []).length ? [make("h3", { textContent: "Samples" }), ...shownRun.samples.map((s, i) => make("details", { class: "fold", open: !!open[i] }, make("summary", { textContent: `Step ${s.step} · ${s.environment} · rewards ${(s.rewards || []).join(", ")}` }),
      make("div", { class: "body plain" }, make("p", { textContent: s.question || "" }), make("pre", { tabIndex: 0, textContent: s.answer || "" }), make("p", { textContent: s.reason || "" }))))] : []));
}
// Points that are shown as they are, and smoothed by a mean over a fiftieth of them.
function chart(name, points, say) {
  if (points.length < 2) return null;
  const every = Math.max(1, Math.floor(points.length / 600)), few = points.filter((_, i) => i % every === 0 || i === points.length - 1);
  const half = Math.floor(few.length / 50), smooth = few.map((p, i) => { const w = few.slice(Math.max(0, i - half), i + half + 1); return [p[0], w.reduce((s, x) => s + x[1], 0) / w.length]; });
  const ys = few.map(p => p[1]), low = Math.min(...ys), high = Math.max(...ys), x0 = few[0][0], x1 = few[few.length - 1][0];
  const at = p => `${(SVG_W * (p[0] - x0) / (x1 - x0 || 1)).toFixed(1)},${(SVG_H - 4 - (SVG_H - 8) * (p[1] - low) / (high - low || 1)).toFixed(1)}`;
  const line = (list, cls) => svg("path", { d: "M" + list.map(at).join("L"), class: cls });
  const picture = svg("svg", { viewBox: `0 0 ${SVG_W} ${SVG_H}`, role: "img", "aria-label": `${name}: from ${say(ys[0])} at step ${x0} to ${say(ys[ys.length - 1])} at step ${x1}, between ${say(low)} and ${say(high)}` });
  picture.append(svg("path", { d: `M0,${SVG_H - 1}H${SVG_W}`, class: "axis" }), line(few, "raw"), line(smooth, "smooth"));
  return make("figure", { class: "chart card" }, make("figcaption", {}, make("b", { textContent: name }), make("span", { textContent: say(smooth[smooth.length - 1][1]) })), picture,
    make("figcaption", {}, make("span", { textContent: `step ${x0}` }), make("span", { textContent: `${say(low)} to ${say(high)}` }), make("span", { textContent: String(x1) })));
}
