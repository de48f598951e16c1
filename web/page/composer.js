/* The question field: growing, attached text files, sending. */
const MAX_FILE = 1 << 20;
let attachments = [];
const NO_TEXT = { image: "an image", audio: "sound", video: "a video", font: "a font" };
const NO_TEXT_ENDS = { pdf: "a PDF", zip: "an archive", gz: "an archive", docx: "a Word document", xlsx: "a spreadsheet", pptx: "a presentation", png: "an image", jpg: "an image", jpeg: "an image", gif: "an image", webp: "an image", heic: "an image", mp3: "sound", wav: "sound", mp4: "a video" };

function grow() {
  const a = $("ask");
  a.style.height = "auto";
  a.style.height = Math.min(a.scrollHeight + 2, innerHeight * .4) + "px";
}
// The text of a file, or an error that names the file and says what it is.
async function readText(file) {
  const what = NO_TEXT[(file.type || "").split("/")[0]] || NO_TEXT_ENDS[file.name.split(".").pop().toLowerCase()];
  if (what && !/svg|mpegurl/.test(file.type)) throw new Error(`${file.name} is ${what}: the models here read text. Attach its text instead.`);
  if (file.size > MAX_FILE) throw new Error(`${file.name} has ${size(file.size)}, more than ${size(MAX_FILE)}: attach the part that matters.`);
  let text;
  try { text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer()); } catch { text = "\0"; }
  if (text.includes("\0")) throw new Error(`${file.name} is not text in UTF-8: convert it first.`);
  return text;
}
async function attach(files) {
  const wrong = [];
  for (const f of files)
    try { attachments.push({ name: f.name, text: await readText(f) }); } catch (e) { wrong.push(e.message); }
  showFiles(wrong);
}
function showFiles(wrong = []) {
  $("files").replaceChildren(...attachments.map(f => make("span", { class: "file" }, make("span", { textContent: `${f.name} · ${size(f.text.length)}` }),
    quiet("✕", () => { attachments = attachments.filter(x => x !== f); showFiles(); $("ask").focus(); }, { "aria-label": "Remove " + f.name }))),
    ...wrong.map(text => make("span", { class: "file bad", role: "alert" }, make("span", { textContent: text, style: "white-space: normal" }))));
  $("files").hidden = !$("files").childNodes.length;
  countDraft();
}
function send(text) {
  if ((!text.trim() && !attachments.length) || running) return;
  if (!$("model").value) return void load();
  const last = lastOf(current), waiting = last.role === "user";  // its answer never came: the new one stands next to it
  addNode(current, waiting ? current.nodes[last.parent] : last, { role: "user", content: text, ...(attachments.length ? { attachments } : {}) });
  attachments = [];
  $("ask").value = "", inTab.drop("draft"), grow(), showFiles();
  reply();
}
function bindComposer() {
  $("form").addEventListener("submit", e => { e.preventDefault(); send($("ask").value); });
  $("ask").addEventListener("input", () => { grow(), countDraft(), inTab.set("draft", $("ask").value); });
  $("ask").addEventListener("keydown", e => {
    if (e.key === "Enter" && !e.shiftKey && !e.isComposing) e.preventDefault(), send($("ask").value);
    if (e.key === "ArrowUp" && !$("ask").value) {
      const mine = path(current).filter(n => n.role === "user").pop();
      if (mine && !running) e.preventDefault(), edit(mine);
    }
  });
  $("ask").addEventListener("paste", e => { if (e.clipboardData.files.length) e.preventDefault(), attach(e.clipboardData.files); });
  $("attach").addEventListener("click", () => $("file").click());
  $("file").addEventListener("change", async () => { await attach($("file").files); $("file").value = ""; $("ask").focus(); });
  for (const kind of ["dragover", "dragleave", "drop"])
    document.addEventListener(kind, e => {
      if (!e.dataTransfer || ![...e.dataTransfer.types].includes("Files")) return;
      e.preventDefault();
      $("form").classList.toggle("drop", kind === "dragover");
      if (kind === "drop") attach(e.dataTransfer.files);
    });
  $("stop").addEventListener("click", stopReply);
  $("answerNow").addEventListener("click", answerNow);
}
