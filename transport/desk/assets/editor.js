// @ts-check
// Makes the editor of the help centre quicker: drafts are saved while they are written, the
// preview follows, files are pasted and dropped. Everything works without it.

/** @type {<T extends Element = HTMLElement>(s: string, e?: ParentNode) => T | null} */
const $ = (s, e = document) => e.querySelector(s);
/** @type {<T extends Element = HTMLElement>(s: string, e?: ParentNode) => T[]} */
const $$ = (s, e = document) => /** @type {any[]} */ ([...e.querySelectorAll(s)]);
const words = document.body.dataset;
/** @typedef {{ form: HTMLFormElement, dirty: boolean, stopped: boolean, saving: Promise<unknown>, timer: number, showing: number, turn: number, last: HTMLTextAreaElement | null, pasting: Promise<void> }} Desk */
/** @type {Desk | null} */
let at = null;
const reading = import(words.paste || "").then((module) => /** @type {typeof import("./paste.js")} */ (module)).catch(() => null);

const form = () => /** @type {HTMLFormElement | null} */ ($("form[data-edit]"));
const value = (/** @type {HTMLFormElement} */ f, /** @type {string} */ name) => { const e = f.elements.namedItem(name); return e instanceof HTMLInputElement || e instanceof HTMLTextAreaElement ? e.value : ""; };
const note = (/** @type {string} */ text) => { const e = $("#saved"); if (e) e.textContent = text; };
const areas = (/** @type {HTMLFormElement} */ f) => /** @type {HTMLTextAreaElement[]} */ ($$("textarea", f));
const isNew = (/** @type {HTMLFormElement} */ f) => /\/new$/.test(f.getAttribute("action") || "");
/** Where the browser keeps what is written: new articles have a place for each page. @param {HTMLFormElement} f */
const kept = (f) => `desk-text:${words.me}:${f.getAttribute("action")}:${value(f, isNew(f) ? "nonce" : "to")}`;
/** This tab, which is still the same after a reload. */
const tab = sessionStorage.getItem("desk-tab") || Math.random().toString(36).slice(2);
sessionStorage.setItem("desk-tab", tab);

/** Takes over the form of the page, when there is a new one. */
function dress() {
  const f = form();
  if (!f || at?.form === f) return;
  if (at?.dirty) save(at);
  const desk = at = /** @type {Desk} */ ({ form: f, dirty: false, stopped: false, saving: Promise.resolve(), timer: 0, showing: 0, turn: 0, last: null, pasting: Promise.resolve() });
  f.classList.add("ready");
  $(".editing")?.classList.add("ready");
  for (const e of $$(".rich, [data-original]", f)) e.hidden = false;
  restore(desk);
  if (!desk.dirty && areas(f).some((e) => e.value !== e.defaultValue)) changed(desk); // typed before this was here
  f.addEventListener("input", () => changed(desk));
  f.addEventListener("change", (event) => {
    const input = /** @type {HTMLInputElement} */ (event.target);
    if (input.matches("[data-insert]") && input.files?.length) { insert(desk, [...input.files]); input.value = ""; }
    else if (input.name === "done") { input.closest(".unit")?.classList.toggle("did", input.checked); count(desk); changed(desk); }
  });
  f.addEventListener("focusin", (event) => { if (isText(event.target)) desk.last = event.target; });
  f.addEventListener("click", (event) => {
    const button = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[data-mark]"));
    if (button) mark(desk, button.dataset.mark || "");
    const copy = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[data-original]")), into = copy && $("textarea", /** @type {Element} */ (copy.parentElement));
    if (into instanceof HTMLTextAreaElement) type(into, copy?.dataset.original || "");
    if (/** @type {Element} */ (event.target).closest("[data-next]")) { event.preventDefault(); next(); }
  });
  f.addEventListener("paste", (event) => paste(desk, event));
  f.addEventListener("dragover", (event) => { if (event.dataTransfer?.types.includes("Files")) event.preventDefault(); });
  f.addEventListener("drop", (event) => { const files = [...event.dataTransfer?.files || []]; if (files.length) { event.preventDefault(); if (f.dataset.files) insert(desk, files); } });
  f.addEventListener("desk:sending", (event) => { desk.stopped = true; /** @type {CustomEvent} */ (event).detail.push(desk.saving); });
  f.addEventListener("desk:sent", () => { desk.dirty = false; localStorage.removeItem(kept(f)); });
  f.addEventListener("desk:unsent", () => { desk.stopped = false; if (f.isConnected) changed(desk); });
}

/** What the browser keeps of a form. @typedef {{ seen: string, fields: string[], units?: boolean, nonce?: string, collection?: string, tab?: string, at?: number }} Kept */

/** What was written here and not taken by the server yet is put back. Where the text has changed since, the server shows
 * both. @param {Desk} desk */
function restore(desk) {
  const f = desk.form, all = areas(f);
  if (!("autosave" in f.dataset) || all.some((e) => e.readOnly)) return;
  const key = isNew(f) ? orphan(f) : kept(f), text = key && localStorage.getItem(key);
  if (!text) return;
  try {
    const own = /** @type {Kept} */ (JSON.parse(text)), { seen, fields } = own;
    if (isNew(f)) { localStorage.removeItem(key); put(f, "nonce", own.nonce || ""); put(f, "collection", own.collection || ""); }
    else if (fields.join("\n") === all.map((e) => e.value).join("\n")) { localStorage.removeItem(key); return; } // the server has it
    else if (seen !== value(f, "seen") || fields.length !== all.length) { compare(f, own); return; }
    all.forEach((e, i) => { e.value = fields[i]; });
    changed(desk);
  } catch { localStorage.removeItem(key); }
}

/** @param {HTMLFormElement} f @param {string} name @param {string} text */
function put(f, name, text) {
  const e = f.elements.namedItem(name);
  if (e instanceof HTMLInputElement || e instanceof HTMLSelectElement && [...e.options].some((o) => o.value === text)) e.value = text;
}

/** Finds a new article that was left before the server had it: in this tab, or in one that was closed. @param {HTMLFormElement} f */
function orphan(f) {
  const start = `desk-text:${words.me}:${f.getAttribute("action")}:`;
  if (areas(f).some((e) => e.value)) return ""; // the page comes with a text
  for (let i = 0; i < localStorage.length; i++) {
    const key = localStorage.key(i) || "";
    if (!key.startsWith(start)) continue;
    try {
      const own = /** @type {Kept} */ (JSON.parse(localStorage.getItem(key) || ""));
      if (own.tab === tab || Date.now() - (own.at || 0) > 30000) return key;
    } catch { /* not one of these */ }
  }
  return "";
}

/** Sends a text of an older version, for which the server shows what has changed since. @param {HTMLFormElement} f @param {Kept} own */
function compare(f, { seen, fields, units }) {
  const [name = "", summary = "", ...rest] = fields, form = document.createElement("form");
  const text = units ? rest.filter((part) => part.trim()).join("\n\n") : rest.join("");
  form.method = "post";
  form.action = f.action;
  form.hidden = true;
  for (const [key, of] of Object.entries({ to: value(f, "to"), seen: seen || "0", name, summary, text })) {
    const e = document.createElement("textarea");
    e.name = key;
    e.value = of;
    form.append(e);
  }
  f.after(form);
  form.addEventListener("desk:sent", () => localStorage.removeItem(kept(f)));
  setTimeout(() => form.requestSubmit()); // once the page is here
}

/** Keeps what is written in the browser, until the server has it. @param {HTMLFormElement} f */
function keep(f) {
  const own = /** @type {Kept} */ ({ seen: "keep" in f.dataset ? "" : value(f, "seen"), fields: areas(f).map((e) => e.value), units: Boolean($("[name=unit]", f)), tab, at: Date.now() });
  if (isNew(f)) Object.assign(own, { nonce: value(f, "nonce"), collection: /** @type {HTMLSelectElement | null} */ ($("[name=collection]", f))?.value });
  try { localStorage.setItem(kept(f), JSON.stringify(own)); } catch { /* there is no room for it: the server keeps it */ }
}

/** @param {Desk} desk */
function changed(desk) {
  const f = desk.form;
  desk.dirty = true;
  if ("autosave" in f.dataset || "keep" in f.dataset) keep(f);
  if ("autosave" in f.dataset) {
    clearTimeout(desk.timer);
    desk.timer = window.setTimeout(() => save(desk), 1000);
  }
  const name = $(".shown > .name", f);
  if (name) name.textContent = value(f, "name");
  const heading = f.dataset.preview && value(f, "name") ? $(".editing > .bar h1 bdi") : null;
  if (heading) heading.textContent = value(f, "name");
  if (f.dataset.preview && $("#preview")) { clearTimeout(desk.showing); desk.showing = window.setTimeout(() => show(desk), 400); }
}

/** Saves the draft; one request at a time, so that none overtakes another. @param {Desk} desk */
function save(desk) {
  if (!desk.dirty || desk.stopped || !("autosave" in desk.form.dataset) || $("textarea[readonly]", desk.form)) return;
  desk.saving = desk.saving.then(async () => {
    const f = desk.form;
    if (desk.stopped || !desk.dirty || isNew(f) && !areas(f).some((e) => e.value.trim())) return;
    desk.dirty = false;
    const key = kept(f), data = new URLSearchParams(/** @type {any} */ (new FormData(f)));
    const answer = await fetch(f.action, { method: "POST", body: data, headers: { Accept: "application/json" }, keepalive: data.toString().length < 60000 });
    if (answer.status === 409) { desk.stopped = true; f.requestSubmit(); return; }
    if (answer.status === 422) { note((await answer.json()).error); return; }
    if (!answer.ok) throw new Error(String(answer.status));
    const made = await answer.json(), seen = f.elements.namedItem("seen");
    if (seen instanceof HTMLInputElement) seen.value = made.seen;
    const begun = isNew(f);
    if (begun) { f.setAttribute("action", made.at); localStorage.removeItem(key); }
    if (!desk.dirty) localStorage.removeItem(kept(f)); else if (begun) keep(f);
    tabs.postMessage({ key: kept(f), seen: made.seen });
    if (at !== desk || !f.isConnected) return;
    if (begun) await settle(f, made.at);
    note(made.saved);
    const tag = $("#tag");
    if (tag) tag.textContent = made.tag;
    const left = $("[data-work]", f);
    if (left && made.work && !$("[name=done]", f)) left.textContent = made.work;
  }).catch(() => { desk.dirty = true; keep(desk.form); note(words.kept || ""); desk.timer = window.setTimeout(() => save(desk), 5000); });
}

/** A new article has been saved: the page becomes that of the article, around what is being written.
 * @param {HTMLFormElement} f @param {string} address */
async function settle(f, address) {
  history.replaceState({}, "", address);
  const answer = await fetch(address, { headers: { "Desk-Target": "main" } }).catch(() => null);
  const page = new DOMParser().parseFromString(answer?.ok ? await answer.text() : "", "text/html");
  const main = /** @type {HTMLTemplateElement | null} */ ($("template[data-swap=main]", page))?.content, bar = $(".editing > .bar");
  const head = main && $(".bar", main), langs = main && $("#langs", main);
  if (!head || !langs || !bar || !f.isConnected || bar.contains(document.activeElement)) return;
  bar.replaceWith(document.importNode(head, true));
  $("#langs")?.remove();
  $(".editing > .bar")?.after(document.importNode(langs, true));
  document.title = page.title || document.title;
}

/** Asks for the preview, as the help centre would show the text. @param {Desk} desk */
async function show(desk) {
  const turn = ++desk.turn, f = desk.form, data = new URLSearchParams({ to: value(f, "to"), text: value(f, "text") });
  const answer = await fetch(f.dataset.preview || "", { method: "POST", body: data, headers: { "Desk-Target": "preview" } }).catch(() => null);
  const box = $("#preview");
  if (!answer?.ok || !box || turn !== desk.turn) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  box.replaceChildren(...page.body.childNodes);
}

/** @param {Desk} desk */
function area(desk) {
  return desk.last?.isConnected ? desk.last : /** @type {HTMLTextAreaElement | null} */ ($("textarea[name=text], textarea[name=unit]", desk.form));
}

/** Puts a text where the caret is; the browser can undo it. As HTML, lines take linear time in Chromium.
 * @param {HTMLTextAreaElement} e @param {string} text */
function type(e, text) {
  e.focus();
  const { value: before, selectionStart: from, selectionEnd: to } = e, after = before.slice(0, from) + text + before.slice(to);
  if (after !== before && text.includes("\n")) document.execCommand("insertHTML", false, text.replaceAll("&", "&amp;").replaceAll("<", "&lt;"));
  if (after !== before && e.value === before) document.execCommand("insertText", false, text);
  if (e.value !== after) e.value = after;
  e.setSelectionRange(from + text.length, from + text.length);
  e.dispatchEvent(new Event("input", { bubbles: true }));
}

/** @param {Desk} desk @param {string} how */
function mark(desk, how) {
  const e = area(desk);
  if (!e) return;
  const { selectionStart: from, selectionEnd: to } = e, chosen = e.value.slice(from, to);
  if (how === "list") {
    const start = e.value.lastIndexOf("\n", from - 1) + 1;
    e.setSelectionRange(start, to);
    type(e, e.value.slice(start, to).split("\n").map((line) => (line.startsWith("- ") ? line.slice(2) : `- ${line}`)).join("\n"));
    return;
  }
  if (how === "link") {
    const url = prompt(words.link, "https://");
    if (url) type(e, `[${chosen || url}](${url.replace(/[()\s]/g, encodeURIComponent)})`);
    return;
  }
  const sign = { bold: "**", italic: "*", code: "`" }[how] || "";
  type(e, sign + chosen + sign);
  if (!chosen) e.setSelectionRange(from + sign.length, from + sign.length);
}

/** Whether a field takes Markdown. @type {(e: EventTarget | null) => e is HTMLTextAreaElement} */
const isText = (e) => e instanceof HTMLTextAreaElement && (e.name === "text" || e.name === "unit") && !e.readOnly;

/** Adds a file to the site. @param {Desk} desk @param {File} file @returns {Promise<{ markdown: string, url: string } | null>} */
async function add(desk, file) {
  const data = new FormData();
  const name = file.name || "image.png", to = desk.form.dataset.files || "";
  data.set("file", file, name);
  const upload = await import(words.upload || "").then((/** @type {typeof import("./upload.js")} */ module) => module.begin($("#coming"), name)).catch(() => null);
  const answer = await (upload?.send(to, data) ?? fetch(to, { method: "POST", body: data, headers: { Accept: "application/json" } })).catch(() => null);
  upload?.end();
  if (upload?.stopped) return null;
  const made = await answer?.json().catch(() => null);
  if (!answer?.ok || !made) { note(made?.error || words.failed || ""); return null; }
  note("");
  return made;
}

/** Adds files to the site and puts them into the text. @param {Desk} desk @param {File[]} files */
async function insert(desk, files) {
  const e = area(desk);
  if (!e || !desk.form.dataset.files) return;
  for (const file of files) {
    const made = await add(desk, file);
    if (made) type(e, made.markdown);
  }
}

/** Text with structure becomes Markdown, and its pictures files of the site. @param {Desk} desk @param {ClipboardEvent} event */
function paste(desk, event) {
  const { target: e, clipboardData: data } = event, files = desk.form.dataset.files ? [...data?.files || []] : [];
  if (!data || e instanceof HTMLTextAreaElement && e.readOnly) return;
  const html = data.getData("text/html"), text = data.getData("text/plain").replace(/\r\n?/g, "\n"), source = /"mode":"(markdown|mdx)"/.test(data.getData("vscode-editor-data"));
  if (!isText(e) || source || !html || fenced(e)) {
    if (files.length && !(text && html)) { event.preventDefault(); insert(desk, files); } else if (isText(e) && text) { event.preventDefault(); type(e, text); }
    return;
  }
  event.preventDefault();
  const before = e.value, from = e.selectionStart, to = e.selectionEnd;
  desk.pasting = desk.pasting.then(async () => {
    const made = (await reading)?.read(html, files, true), markdown = made && await convert(desk, made);
    if (markdown) place(e, markdown, Boolean(made?.inline), before, from, to);
    else if (text && (markdown !== "" || !files.length)) place(e, text, true, before, from, to);
    if (made?.files.length) await insert(desk, made.files);
  });
}

/** Whether the caret stands in a block of code. @param {HTMLTextAreaElement} e */
const fenced = (e) => (e.value.slice(0, e.selectionStart).match(/^ {0,3}(```|~~~)/gm)?.length || 0) % 2 === 1;

/** Has the server write what was pasted as Markdown. null: it did not. @param {Desk} desk @param {import("./paste.js").Pasted} made */
async function convert(desk, made) {
  let { html } = made;
  for (const [shown, file] of made.pictures) {
    const there = desk.form.dataset.files ? await add(desk, file) : null;
    html = there ? html.replaceAll(`src="${shown}"`, `src="${there.url}"`) : html.replace(new RegExp(`<img src="${shown}"[^>]*>`), "");
    URL.revokeObjectURL(shown);
  }
  if (!html) return "";
  const data = new FormData();
  data.set("html", html);
  const answer = await fetch(desk.form.dataset.markdown || "", { method: "POST", body: data, headers: { Accept: "application/json" } }).catch(() => null);
  const said = answer?.ok ? await answer.json().catch(() => null) : null;
  return said ? /** @type {string} */ (said.markdown) : null;
}

/** Puts a text where it was pasted, although something may have been written since. Blocks stand between empty lines.
 * @param {HTMLTextAreaElement} e @param {string} text @param {boolean} inline @param {string} before the value then @param {number} from @param {number} to */
function place(e, text, inline, before, from, to) {
  const same = e.value.startsWith(before.slice(0, to)), caret = e.selectionStart, moved = e.value !== before && same;
  if (same) e.setSelectionRange(from, to);
  const head = e.value.slice(0, e.selectionStart), tail = e.value.slice(e.selectionEnd);
  const put = inline ? text : (/(^|\n\n)$/.test(head) ? "" : head.endsWith("\n") ? "\n" : "\n\n") + text + (/^(\n\n|\n?$)/.test(tail) ? "" : tail.startsWith("\n") ? "\n" : "\n\n");
  type(e, put);
  if (moved && caret >= to) e.setSelectionRange(caret + put.length + from - to, caret + put.length + from - to);
}

/** Goes to the next part that needs work. */
function next() {
  const open = $$(".unit.open:not(.did)"), now = document.activeElement?.closest(".unit");
  const to = open.find((e) => now && now.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING) || open[0];
  const e = to && /** @type {HTMLTextAreaElement | null} */ ($("textarea", to));
  e?.focus();
  e?.setSelectionRange(e.value.length, e.value.length);
  to?.scrollIntoView({ block: "center" });
}

/** @param {Desk} desk */
function count(desk) {
  const e = $("[data-work]", desk.form);
  if (e) e.textContent = (e.dataset.work || "").replace("#", String($$(".unit.open:not(.did)", desk.form).length));
}

document.addEventListener("click", (event) => {
  const target = /** @type {Element} */ (event.target);
  if (at && target.closest("[data-forget]")) { at.dirty = false; localStorage.removeItem(kept(at.form)); }
});
document.addEventListener("submit", (event) => { // a draft that is discarded is not saved again
  if (!at || !/** @type {Element} */ (event.target).matches("[data-discard]")) return;
  Object.assign(at, { dirty: false, stopped: true });
  localStorage.removeItem(kept(at.form));
}, true);
document.addEventListener("keydown", (event) => {
  if (!at?.form.isConnected) return;
  if (event.altKey && event.key === "ArrowDown") { event.preventDefault(); next(); }
  if ((event.ctrlKey || event.metaKey) && !event.altKey && event.target instanceof HTMLTextAreaElement && at.form.contains(event.target)) {
    const how = /** @type {Record<string, string>} */ ({ b: "bold", i: "italic", k: "link" })[event.key];
    if (how) { event.preventDefault(); mark(at, how); }
    if (event.key === "s") { event.preventDefault(); save(at); }
  }
});
addEventListener("pagehide", () => { if (at) save(at); });
// Another tab of this browser has saved the text: this one shows it, unless it is the one that is used.
const tabs = new BroadcastChannel("desk-text");
tabs.addEventListener("message", ({ data }) => {
  if (at?.form.isConnected && "autosave" in at.form.dataset && !at.dirty && !document.hasFocus() && data.key === kept(at.form) && data.seen !== value(at.form, "seen")) location.reload();
});
document.addEventListener("desk:dress", dress);
dress();
export {};
