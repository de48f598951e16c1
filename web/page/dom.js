"use strict";
/* Elements, and what the browser keeps. Every text of a server or model becomes a text node. */
const $ = id => document.getElementById(id);
const make = (tag, of = {}, ...children) => {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(of)) {
    if (v === undefined) continue;
    if (k === "class") e.className = v; else if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (k in e && k !== "list") e[k] = v; else e.setAttribute(k, v);
  }
  e.append(...children.filter(c => c !== null && c !== undefined));
  return e;
};
const button = (text, onclick, more = {}) => make("button", { type: "button", textContent: text, onclick, ...more });
const quiet = (text, onclick, more = {}) => button(text, onclick, { class: "quiet", ...more });
const svg = (tag, of = {}) => {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [k, v] of Object.entries(of)) e.setAttribute(k, v);
  return e;
};

// Strings by name: a place that the browser denies (a private window) reads as empty.
const kept = place => ({
  get: k => { try { return window[place].getItem("quern." + k); } catch { return null; } },
  set: (k, v) => { try { window[place].setItem("quern." + k, v); } catch { /* denied: until the page is closed */ } },
  drop: k => { try { window[place].removeItem("quern." + k); } catch { /* denied */ } } });
const inBrowser = kept("localStorage"), inTab = kept("sessionStorage");

// A short message that disappears after a while; #numbers says it to screen readers too.
function note(text) {
  for (const old of document.querySelectorAll(".note")) old.remove();
  const e = make("div", { class: "note", textContent: text });
  document.body.append(e);
  $("numbers").textContent = text;
  setTimeout(() => e.remove(), 2500);
}

// A menu of buttons below the one that opens it: items are [text, action].
function menu(opener, items) {
  const box = make("div", { class: "menu", popover: "auto", role: "menu" });
  const close = () => { box.hidePopover(); opener.focus(); };
  for (const [text, action] of items) box.append(button(text, () => { close(); action(); }, { role: "menuitem" }));
  box.addEventListener("toggle", e => { if (e.newState === "closed") box.remove(), opener.setAttribute("aria-expanded", "false"); });
  box.addEventListener("keydown", e => {
    const all = [...box.children], at = all.indexOf(document.activeElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[e.key];
    if (next === undefined) return;
    e.preventDefault();
    all[(next + all.length) % all.length].focus();
  });
  document.body.append(box);
  box.showPopover();
  const r = opener.getBoundingClientRect(), b = box.getBoundingClientRect();
  box.style.left = Math.max(4, Math.min(r.left, innerWidth - b.width - 4)) + "px";
  box.style.top = (r.bottom + b.height + 4 < innerHeight ? r.bottom + 2 : Math.max(4, r.top - b.height - 2)) + "px";
  opener.setAttribute("aria-expanded", "true");
  box.firstChild.focus();
}

// Asks for a name (text given) or for a yes; resolves to the name, true, or null.
function question(title, { yes = "Yes", text = null } = {}) {
  const box = $("askBox");
  $("askTitle").textContent = title, $("askYes").textContent = yes;
  $("askText").hidden = $("askLabel").hidden = text === null;
  $("askText").value = text || "";
  box.returnValue = "no";
  box.showModal();
  if (text !== null) $("askText").select();
  return new Promise(done => box.addEventListener("close", () =>
    done(box.returnValue !== "yes" ? null : text === null ? true : $("askText").value.trim() || null), { once: true }));
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // no secure context: the old way
    const area = make("textarea", { value: text, class: "unseen" });
    (document.querySelector("dialog[open]") || document.body).append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  note("Copied");
}
function download(name, type, text) {
  const a = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(a.href), 10000);
}
const textField = e => /^(INPUT|TEXTAREA|SELECT)$/.test(e.tagName) || e.isContentEditable;
const plural = (n, what) => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
const size = bytes => bytes >= 1 << 30 ? (bytes / (1 << 30)).toFixed(2) + " GiB" : bytes >= 1 << 20 ? (bytes / (1 << 20)).toFixed(1) + " MiB" : Math.ceil(bytes / 1024) + " KiB";
