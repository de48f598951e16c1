/* One request: what is sent, the stream that comes back, its figures; and the rounds of tool calls that follow. */
let running = null;  // {stop, chat, node, id} while an answer is being written
let defaults = {};   // of /props
const numberOf = id => $(id).value === "" ? undefined : Number($(id).value);

function busy(on) {
  $("send").hidden = on;
  $("stop").hidden = !on;
  $("answerNow").hidden = true;
}
// A file goes before the question, between fences that it does not contain.
function withFiles(node) {
  return [...(node.attachments || []).map(f => {
    const fence = "`".repeat(Math.max(3, ...[...f.text.matchAll(/`+/g)].map(m => m[0].length + 1)));
    return `File ${f.name}:\n${fence}\n${f.text}\n${fence}`;
  }), node.content].filter(Boolean).join("\n\n");
}
function messagesOf(turns) {
  const out = [];
  if ($("system").value.trim()) out.push({ role: "system", content: $("system").value });
  for (const n of turns)
    if (n.role === "user") out.push({ role: "user", content: withFiles(n) });
    else if (n.role === "tool") out.push({ role: "tool", tool_call_id: n.call, content: n.content });
    else if (n.content || (n.tool_calls || []).length) out.push({ role: "assistant", content: n.content || null, ...(n.tool_calls && n.tool_calls.length ? { tool_calls: n.tool_calls } : {}) });
  return out;
}
function request(chat, parent, model) {
  const turns = [];
  for (let n = parent; n.id !== "root"; n = chat.nodes[n.parent]) turns.unshift(n);
  const body = { model, stream: true, stream_options: { include_usage: true }, return_progress: true, messages: messagesOf(turns) };
  const fields = { temperature: numberOf("temperature"), top_p: numberOf("topP"), top_k: numberOf("topK"), min_p: numberOf("minP"), max_tokens: numberOf("maxTokens"), seed: numberOf("seed") };
  for (const [k, v] of Object.entries(fields)) if (v !== undefined) body[k] = v;
  const plan = $("plan").value === "custom" ? $("custom").value.trim() : $("plan").value;
  if (plan) body.x_think = plan;
  else {
    if (numberOf("budget") !== undefined) body.thinking_budget = numberOf("budget");
    Object.assign(body, formatFields());
    if (!Object.keys(formatFields()).length) Object.assign(body, toolFields());
  }
  if ($("effort").value) body.reasoning_effort = $("effort").value;
  const lora = chosenAdapters();
  if (lora) body.lora = lora;
  if (defaults.memory && $("memory").value.trim()) body.x_memory = { conversation: $("memory").value.trim() };
  if (defaults.documents && $("documents").value) body.x_documents = true;
  return body;
}
// What a reader may want to know later of how an answer was made.
const settingsText = body => ["temperature", "top_p", "top_k", "min_p", "max_tokens", "seed", "x_think", "reasoning_effort", "thinking_budget"].filter(k => body[k] !== undefined).map(k => `${k} ${body[k]}`).join(", ");

async function reply({ parent = lastOf(current), model = $("model").value, round = 0 } = {}) {
  const chat = current, body = request(chat, parent, model), stop = new AbortController();
  const node = addNode(chat, parent, { role: "assistant", content: "", reasoning: "", model, live: true, settings: settingsText(body), json: /json/.test((body.response_format || {}).type || "") || undefined });
  running = { stop, chat, node };
  const loads = modelOf(model) && !modelOf(model).loaded;
  const figures = { begun: performance.now(), first: 0, spoke: 0, count: 0, usage: null, plan: !!body.x_think };
  busy(true), showChat(), toEnd(), store.put(chat), listChats();
  if (loads) $("numbers").textContent = `Loading ${model} …`;
  let asked = false, cost = 0, failure = null;
  const draw = () => {
    asked = false;
    if (!node.live) return;
    const follow = current === chat && atEnd(), begun = performance.now();
    render(node), live(figures, node);
    if (follow) toEnd();
    cost = performance.now() - begun;
  };
  try {
    await events(await ask("v1/chat/completions", body, stop.signal), o => {
      take(o, node, figures);
      if (asked) return;
      asked = true;
      if (cost > 12) setTimeout(draw, 4 * cost); else requestAnimationFrame(draw);  // a long text takes at most a fifth of the time
    });
  } catch (e) {
    if (e.name === "AbortError") node.stopped = true; else failure = e.message;
  }
  finish(node, figures);
  const empty = !node.content && !node.reasoning && !(node.tool_calls || []).length, gone = empty && (failure || node.stopped);
  if (gone) removeNode(chat, node);
  if (current === chat) {
    const follow = atEnd();
    if (gone) showChat(); else render(node), refreshActs();
    if (failure) showFailure(failure, parent, model);
    if (follow) toEnd();
    $("numbers").textContent = failure ? "" : [node.stopped && "stopped", statsText(node.stats)].filter(Boolean).join(" · ");
    showGauge();
    if (!document.querySelector("dialog[open]") && !textField(document.activeElement)) $("ask").focus();
  }
  running = null;
  busy(false), listChats(), poll();
  await store.put(chat);
  if (loads) await loadModels().then(showGauge, () => 0);
  if (!failure && !node.stopped && (node.tool_calls || []).length) await useTools(chat, node, model, round);
}
function refreshActs() { for (const n of path(current)) showActs(n); }

function showFailure(text, parent, model) {
  const card = make("div", { class: "error", role: "alert" }, text + "\n", button("Try again", () => { card.remove(); reply({ parent, model }); }));
  $("log").append(card);
  toEnd();
}
// An event of the stream.
function take(o, node, f) {
  const v = views.get(node);
  if (o.id && running) running.id = o.id;
  if (o.x_think && o.x_think.candidate !== undefined) {
    (node.rounds = node.rounds || []).push(o.x_think);
    if (v && !v.rounds) v.article.insertBefore((v.rounds = new Rounds()).box, v.said);
    if (v) v.rounds.add(o.x_think);
  }
  for (const [got, show] of [[o.x_memory, foundInMemory], [o.x_documents, foundInDocuments]])
    if (got) (node.found = node.found || []).push(show(got)), showFound(node, node.found[node.found.length - 1]);
  if (o.prompt_progress) f.progress = o.prompt_progress;
  if (o.usage) f.usage = o.usage;
  const choice = o.choices && o.choices[0], d = choice && choice.delta;
  if (choice && choice.finish_reason === "length") node.cut = true;
  if (!d) return;
  if (d.x_warnings) (node.warnings = node.warnings || []).push(...d.x_warnings);
  const now = performance.now();
  if (d.content || d.reasoning_content || d.tool_calls) f.first = f.first || now, ++f.count;
  if (d.reasoning_content) node.reasoning += d.reasoning_content, node.thought = { seconds: (now - f.begun) / 1000, tokens: f.count };
  if (d.content) {
    if (!f.spoke && node.thought) node.thought.seconds = (now - f.begun) / 1000;
    f.spoke = f.spoke || now;
    node.content += d.content;
  }
  for (const c of d.tool_calls || []) {
    const calls = node.tool_calls = node.tool_calls || [], call = calls[c.index] = calls[c.index] || { id: c.id, type: "function", function: { name: "", arguments: "" } };
    if (c.function && c.function.name) call.function.name += c.function.name;
    if (c.function && c.function.arguments) call.function.arguments += c.function.arguments;
  }
}
function live(f, node) {
  $("answerNow").hidden = !running || !running.id || f.plan || !node.reasoning || !!f.spoke || !!node.tool_calls;
  if (!views.get(node) || !views.get(node).article.isConnected) return;
  const now = performance.now(), p = f.progress;
  if (!f.first && p && p.total) $("numbers").textContent = `Reading the prompt: ${p.processed} of ${p.total} tokens` + (p.cache ? `, ${p.cache} from cache` : "");
  else if (f.first) $("numbers").textContent = `${f.count} tokens · ${(f.count / Math.max(.05, (now - f.first) / 1000)).toFixed(0)} tokens/s · first after ${((f.first - f.begun) / 1000).toFixed(2)} s`;
}
function finish(node, f) {
  const now = performance.now(), u = f.usage, made = u ? u.completion_tokens : f.count, reasoning = u && u.completion_tokens_details ? u.completion_tokens_details.reasoning_tokens : 0;
  delete node.live;
  if (node.thought) node.thought.tokens = f.plan ? undefined : reasoning || node.thought.tokens;
  if (!made) return;
  const written = now - f.first > 100 && !f.plan;  // in one piece, or in rounds: the whole time counts
  node.stats = { prompt: u ? u.prompt_tokens : 0, cached: u && u.prompt_tokens_details ? u.prompt_tokens_details.cached_tokens : 0, completion: made, reasoning: reasoning || undefined,
                 seconds: (now - f.begun) / 1000, first: f.first && !f.plan ? (f.first - f.begun) / 1000 : undefined, rate: made / Math.max(1e-3, (now - (written ? f.first : f.begun)) / 1000) };
}
function stopReply() { if (running) running.stop.abort(); }
// Ends the thinking: the answer begins with the next token.
async function answerNow() {
  if (!running || !running.id) return;
  try {
    const said = await askJson(`v1/requests/${encodeURIComponent(running.id)}/end_thinking`, {});
    if (!said.ended) note("The thinking has ended already");
  } catch (e) { note(e.message); }
}
