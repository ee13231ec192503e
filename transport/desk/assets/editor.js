// @ts-check
// Makes the editor of the help centre quicker: drafts are saved while they are written, the
// preview follows, files are pasted and dropped. Everything works without it.

/** @type {<T extends Element = HTMLElement>(s: string, e?: ParentNode) => T | null} */
const $ = (s, e = document) => e.querySelector(s);
/** @type {<T extends Element = HTMLElement>(s: string, e?: ParentNode) => T[]} */
const $$ = (s, e = document) => /** @type {any[]} */ ([...e.querySelectorAll(s)]);
const words = document.body.dataset;
/** @typedef {{ form: HTMLFormElement, dirty: boolean, stopped: boolean, saving: Promise<unknown>, timer: number, showing: number, turn: number, last: HTMLTextAreaElement | null }} Desk */
/** @type {Desk | null} */
let at = null;

const form = () => /** @type {HTMLFormElement | null} */ ($("form[data-edit]"));
const value = (/** @type {HTMLFormElement} */ f, /** @type {string} */ name) => { const e = f.elements.namedItem(name); return e instanceof HTMLInputElement || e instanceof HTMLTextAreaElement ? e.value : ""; };
const note = (/** @type {string} */ text) => { const e = $("#saved"); if (e) e.textContent = text; };
const kept = (/** @type {HTMLFormElement} */ f) => `desk-text:${words.me}:${f.getAttribute("action")}:${value(f, "to")}`;

/** Takes over the form of the page, when there is a new one. */
function dress() {
  const f = form();
  if (!f || at?.form === f) return;
  if (at?.dirty) save(at);
  const desk = at = /** @type {Desk} */ ({ form: f, dirty: false, stopped: false, saving: Promise.resolve(), timer: 0, showing: 0, turn: 0, last: null });
  f.classList.add("ready");
  $(".editing")?.classList.add("ready");
  for (const e of $$(".rich", f)) e.hidden = false;
  restore(desk);
  f.addEventListener("input", () => changed(desk));
  f.addEventListener("change", (event) => {
    const input = /** @type {HTMLInputElement} */ (event.target);
    if (input.matches("[data-insert]") && input.files?.length) { insert(desk, [...input.files]); input.value = ""; }
    else if (input.name === "done") { input.closest(".unit")?.classList.toggle("did", input.checked); count(desk); changed(desk); }
  });
  f.addEventListener("focusin", (event) => { if (event.target instanceof HTMLTextAreaElement) desk.last = event.target; });
  f.addEventListener("click", (event) => {
    const button = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[data-mark]"));
    if (button) mark(desk, button.dataset.mark || "");
    if (/** @type {Element} */ (event.target).closest("[data-next]")) { event.preventDefault(); next(); }
  });
  f.addEventListener("paste", (event) => { const files = [...event.clipboardData?.files || []]; if (files.length && f.dataset.files) { event.preventDefault(); insert(desk, files); } });
  f.addEventListener("dragover", (event) => { if (event.dataTransfer?.types.includes("Files")) event.preventDefault(); });
  f.addEventListener("drop", (event) => { const files = [...event.dataTransfer?.files || []]; if (files.length) { event.preventDefault(); if (f.dataset.files) insert(desk, files); } });
  f.addEventListener("desk:sending", (event) => { desk.stopped = true; /** @type {CustomEvent} */ (event).detail.push(desk.saving); });
  f.addEventListener("desk:sent", () => { desk.dirty = false; localStorage.removeItem(kept(f)); });
  f.addEventListener("desk:unsent", () => { desk.stopped = false; if (f.isConnected) changed(desk); });
}

/** What was written here and not taken by the server yet is put back, if it is of the same version.
 * @param {Desk} desk */
function restore(desk) {
  const text = localStorage.getItem(kept(desk.form));
  if (!text || !("autosave" in desk.form.dataset)) return;
  try {
    const { seen, fields } = JSON.parse(text);
    const areas = /** @type {HTMLTextAreaElement[]} */ ($$("textarea", desk.form));
    if (seen !== value(desk.form, "seen") || fields.length !== areas.length) return;
    areas.forEach((e, i) => { e.value = fields[i]; });
    changed(desk);
  } catch { localStorage.removeItem(kept(desk.form)); }
}

/** @param {Desk} desk */
function changed(desk) {
  const f = desk.form;
  desk.dirty = true;
  if ("autosave" in f.dataset) {
    try {
      localStorage.setItem(kept(f), JSON.stringify({ seen: value(f, "seen"), fields: $$("textarea", f).map((e) => /** @type {HTMLTextAreaElement} */ (e).value) }));
    } catch { /* there is no room for it: the server keeps it */ }
    clearTimeout(desk.timer);
    desk.timer = window.setTimeout(() => save(desk), 1000);
  }
  const name = $(".shown > .name", f);
  if (name) name.textContent = value(f, "name");
  if (f.dataset.preview && $("#preview")) { clearTimeout(desk.showing); desk.showing = window.setTimeout(() => show(desk), 400); }
}

/** Saves the draft; one request at a time, so that none overtakes another. @param {Desk} desk */
function save(desk) {
  if (!desk.dirty || desk.stopped || !("autosave" in desk.form.dataset) || $("textarea[readonly]", desk.form)) return;
  desk.saving = desk.saving.then(async () => {
    if (desk.stopped || !desk.dirty) return;
    desk.dirty = false;
    const f = desk.form, key = kept(f), data = new URLSearchParams(/** @type {any} */ (new FormData(f)));
    const answer = await fetch(f.action, { method: "POST", body: data, headers: { Accept: "application/json" }, keepalive: data.toString().length < 60000 });
    if (answer.status === 409) { desk.stopped = true; f.requestSubmit(); return; }
    if (answer.status === 422) { note((await answer.json()).error); return; }
    if (!answer.ok) throw new Error(String(answer.status));
    const made = await answer.json(), seen = f.elements.namedItem("seen");
    if (seen instanceof HTMLInputElement) seen.value = made.seen;
    if (!desk.dirty) localStorage.removeItem(key);
    if (at !== desk) return;
    note(made.saved);
    const tag = $("#tag");
    if (tag) tag.textContent = made.tag;
  }).catch(() => { desk.dirty = true; note(words.kept || ""); desk.timer = window.setTimeout(() => save(desk), 5000); });
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

/** Puts a text where the caret is; the browser can undo it. @param {HTMLTextAreaElement} e @param {string} text */
function type(e, text) {
  e.focus();
  if (!document.execCommand("insertText", false, text)) e.setRangeText(text, e.selectionStart, e.selectionEnd, "end");
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

/** Adds files to the site and puts them into the text. @param {Desk} desk @param {File[]} files */
async function insert(desk, files) {
  const e = area(desk);
  if (!e || !desk.form.dataset.files) return;
  for (const file of files) {
    const data = new FormData();
    data.set("file", file, file.name || "image.png");
    const answer = await fetch(desk.form.dataset.files, { method: "POST", body: data, headers: { Accept: "application/json" } }).catch(() => null);
    const made = await answer?.json().catch(() => null);
    if (!answer?.ok || !made) { note(made?.error || words.failed || ""); continue; }
    note("");
    type(e, made.markdown);
  }
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
document.addEventListener("desk:dress", dress);
dress();
export {};
