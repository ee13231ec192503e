// @ts-check
// Makes the desk quicker: pages change in parts, drafts are saved while they are written, and
// what others do shows by itself. Everything works without it.

/** @type {<T extends Element = HTMLElement>(s: string, e?: ParentNode) => T | null} */
const $ = (s, e = document) => e.querySelector(s);
/** @type {<T extends Element = HTMLElement>(s: string, e?: ParentNode) => T[]} */
const $$ = (s, e = document) => /** @type {any[]} */ ([...e.querySelectorAll(s)]);
const body = document.body, prefix = body.dataset.prefix || "/", parts = "main sidebar tabs toast";
/** Waits until calls have paused. @param {number} ms @param {() => void} f */
const settled = (ms, f) => { let timer = 0; return () => { clearTimeout(timer); timer = window.setTimeout(f, ms); }; };
const say = (/** @type {string} */ text) => { const e = $("#said"); if (e) e.textContent = text; };

document.cookie = `desk_zone=${encodeURIComponent(Intl.DateTimeFormat().resolvedOptions().timeZone)};path=${prefix};max-age=31536000;samesite=lax`;

// ---- Parts of pages -------------------------------------------------------------------

/** Puts the parts of an answer into the page. Focus, open menus and what is being written stay.
 * @param {string} text @param {boolean} [title] */
function swap(text, title = true) {
  const answer = new DOMParser().parseFromString(text, "text/html"), templates = $$("template[data-swap]", answer);
  if (!templates.length) return false;
  const focus = document.activeElement?.id;
  for (const t of templates) {
    const id = /** @type {HTMLElement} */ (t).dataset.swap || "", old = document.getElementById(id);
    const fresh = document.importNode(/** @type {HTMLTemplateElement} */ (t).content, true);
    if (!old) continue;
    if (id === "main") old.replaceChildren(fresh);
    else {
      const ticked = id === "list" ? $$("input:checked", old).map((e) => /** @type {HTMLInputElement} */ (e).value) : [];
      const open = $$("details[open]", old).map((e) => e.closest("[id]")?.id);
      old.replaceWith(fresh);
      for (const value of ticked) { const e = /** @type {HTMLInputElement | null} */ ($(`#list input[value="${value}"]`)); if (e) e.checked = true; }
      for (const at of open) { const e = at && /** @type {HTMLDetailsElement | null} */ ($(`[id="${at}"] details`)); if (e && id === "thread") e.open = true; }
    }
  }
  if (title && answer.title) document.title = answer.title;
  if (focus && document.activeElement === body) document.getElementById(focus)?.focus({ preventScroll: true });
  dress();
  return true;
}

/** @type {AbortController | undefined} */
let going;

/** Goes to a page, or sends a form. Whatever fails is left to the browser.
 * @param {string} url @param {{ init?: RequestInit, push?: boolean, want?: string, quiet?: boolean, replace?: boolean }} [how] */
async function go(url, { init = {}, push = true, want = parts, quiet = false, replace = false } = {}) {
  if (!quiet) { going?.abort(); going = new AbortController(); }
  const answer = await fetch(url, { ...init, signal: quiet ? undefined : going?.signal, headers: { ...init.headers, "Desk-Target": want } });
  if (answer.redirected && !new URL(answer.url).pathname.startsWith(prefix + "a/")) { location.assign(answer.url); return; }
  const text = await answer.text(), main = want.includes("main"), hash = new URL(url, location.href).hash || new URL(answer.url).hash;
  if (!swap(text, main)) { location.assign(answer.url); return; }
  if (!main) return;
  const at = answer.url.split("#")[0] + hash;
  if (push && at !== location.href) history[replace ? "replaceState" : "pushState"]({}, "", at);
  window.scrollTo(0, 0);
  arrive();
  if (hash) document.getElementById(hash.slice(1))?.scrollIntoView({ block: "start" });
  else if (!quiet && push) $("#main")?.focus({ preventScroll: true });
}

document.addEventListener("click", (event) => {
  const link = /** @type {HTMLAnchorElement | null} */ (/** @type {Element} */ (event.target).closest?.("a[href]"));
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || !url.pathname.startsWith(prefix + "a/") || link.target || "plain" in link.dataset || body.classList.contains("bare")) return;
  if (url.pathname === location.pathname && url.search === location.search && url.hash) return;
  event.preventDefault();
  saveNow();
  if ("more" in link.dataset) { more(link); return; }
  go(link.href).catch(() => location.assign(link.href));
});

document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target), button = /** @type {HTMLButtonElement | null} */ (event.submitter);
  if (event.defaultPrevented || "plain" in form.dataset || form.method === "dialog" || body.classList.contains("bare")) return;
  const action = button?.formAction && button.hasAttribute("formaction") ? button.formAction : form.action || location.href;
  if (!new URL(action).pathname.startsWith(prefix + "a/")) return;
  event.preventDefault();
  if (form.matches(".composer")) { stopSaving(); fill(form); }
  const data = new FormData(form, button);
  if (form.method === "get") {
    const url = new URL(action); url.search = new URLSearchParams(/** @type {any} */ (data)).toString();
    go(url.href).catch(() => location.assign(url.href));
    return;
  }
  const sent = form.enctype === "multipart/form-data" ? data : new URLSearchParams(/** @type {any} */ (data));
  if (button) button.disabled = true;
  dim(form, button);
  go(action, { init: { method: "POST", body: sent } }).catch((error) => {
    if (button) button.disabled = false;
    if (error.name === "AbortError") return;
    offline(); // the form stays as it is, and has the nonce that makes sending again safe
  });
});

/** Rows that an act takes out of the list fade at once. @param {HTMLFormElement} form @param {HTMLButtonElement | null} button */
function dim(form, button) {
  if (form.id === "bulk" && button?.value === "close") for (const e of $$(".row:has(.tick input:checked)")) e.classList.add("gone");
}

function offline() {
  const box = $("#toast");
  if (box) box.innerHTML = `<div class="toast bad" role="status"><span></span></div>`;
  const text = box && $("span", box);
  if (text) text.textContent = body.dataset.offline || "";
}

addEventListener("popstate", () => { go(location.href, { push: false }).catch(() => location.reload()); });

/** Adds the next page of a list. @param {HTMLAnchorElement} link */
async function more(link) {
  link.setAttribute("aria-busy", "true");
  await go(link.href, { want: "more", quiet: true }).catch(() => location.assign(link.href));
}

const seen = new IntersectionObserver((entries) => { for (const e of entries) if (e.isIntersecting) { seen.unobserve(e.target); more(/** @type {HTMLAnchorElement} */ (e.target)); } }, { rootMargin: "400px" });

// ---- What each page needs -------------------------------------------------------------

/** Prepares what is new on the page. */
function dress() {
  for (const e of $$("[data-more]")) seen.observe(e);
  for (const e of $$("[data-keys], [data-show], [data-copy], [data-all], .rich, #all, .filter")) e.hidden = false;
  for (const e of $$("form.composer:not(.ready)")) compose(/** @type {HTMLFormElement} */ (e));
  for (const e of $$("iframe.mail")) { const f = /** @type {HTMLIFrameElement} */ (e); f.onload = () => fit(f); fit(f); }
  for (const e of $$(".toast:not(.timed)")) toast(e);
  for (const e of $$("[data-module]")) import(e.dataset.module || "").catch(() => {});
  picked();
  document.dispatchEvent(new Event("desk:dress"));
}

/** Gives a mail's frame the height of the mail. @param {HTMLIFrameElement} frame */
function fit(frame) {
  const page = frame.contentDocument?.documentElement;
  if (page && page.scrollHeight > 40) frame.style.height = `${Math.min(page.scrollHeight + 2, 20000)}px`;
}

/** @param {HTMLElement} e */
function toast(e) {
  e.classList.add("timed");
  let left = Number(e.dataset.seconds) || 8;
  const text = $("span", e), words = text?.textContent || "";
  const timer = setInterval(() => {
    if (!e.isConnected) { clearInterval(timer); return; }
    if (!e.dataset.seconds && e.matches(":hover, :focus-within")) return;
    if (--left <= 0) { clearInterval(timer); e.remove(); if (e.dataset.seconds) refresh("thread"); return; }
    if (e.dataset.seconds && text) text.textContent = words.replace(/\d+/, String(left));
  }, 1000);
}

/** Once on each page. */
function arrive() {
  const talk = $(".talk");
  if (talk) {
    const last = $("#thread .message:last-of-type"), first = $("#thread .message:has(header .state.info)");
    if (!location.hash) (first || last)?.scrollIntoView({ block: first ? "start" : "nearest" });
    if (first) settled(1500, () => post(`${new URL(talk.dataset.self || "", location.href).pathname}/read`).then(() => refresh("sidebar tabs")).catch(() => {}))();
  }
  if (location.hash === "#write") field()?.focus();
}

/** @param {string} path @param {Record<string, string>} [form] */
const post = (path, form = {}) => fetch(path, { method: "POST", body: new URLSearchParams(form), headers: { "Desk-Target": "none" } });

/** Asks for parts of this page anew. @param {string} want */
const refresh = (want) => go(location.href, { push: false, want, quiet: true }).catch(() => {});

// ---- Menus and fields -----------------------------------------------------------------

document.addEventListener("click", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  for (const e of $$("details.menu[open]")) if (!e.contains(target)) /** @type {HTMLDetailsElement} */ (e).open = false;
  const show = /** @type {HTMLButtonElement | null} */ (target.closest("[data-show]"));
  if (show) {
    const input = /** @type {HTMLInputElement | null} */ ($("input", /** @type {Element} */ (show.parentElement)));
    if (input) input.type = input.type === "password" ? "text" : "password";
    [show.textContent, show.dataset.show] = [show.dataset.show || "", show.textContent || ""];
  }
  const copy = /** @type {HTMLElement | null} */ (target.closest("[data-copy]"));
  if (copy) navigator.clipboard?.writeText(copy.dataset.copy || "").then(() => copy.classList.add("copied"));
  if (target.closest("[data-keys]")) /** @type {HTMLDialogElement | null} */ ($("#keys"))?.showModal();
  if (target.closest("[data-close]")) { target.closest("dialog")?.remove(); field()?.focus(); }
  const all = /** @type {HTMLElement | null} */ (target.closest("[data-all]"));
  const cc = /** @type {HTMLInputElement | null} */ ($("input[name=cc]"));
  if (all && cc) { cc.value = all.dataset.all || ""; changed(); }
});

document.addEventListener("change", (event) => {
  const e = /** @type {HTMLInputElement} */ (event.target);
  if (e.id === "all") for (const box of $$(".tick input")) /** @type {HTMLInputElement} */ (box).checked = e.checked;
  if (e.id === "keys-off") localStorage.setItem("desk-keys", e.checked ? "off" : "");
  picked();
});
document.addEventListener("reset", () => setTimeout(picked));

/** Says how many conversations are ticked. */
function picked() {
  const n = $$(".tick input:checked").length, out = $("#picked"), all = /** @type {HTMLInputElement | null} */ ($("#all"));
  if (out) { out.dataset.words ??= out.textContent || ""; out.textContent = `${n} ${out.dataset.words.toLocaleLowerCase()}`; }
  if (all) all.checked = n > 0 && n === $$(".tick input").length;
}

const live = settled(250, () => {
  const input = /** @type {HTMLInputElement | null} */ (document.activeElement), form = input?.form;
  if (!input?.dataset.live || !form) return;
  const url = new URL(form.action); url.search = new URLSearchParams(/** @type {any} */ (new FormData(form))).toString();
  go(url.href, { want: input.dataset.live === "list" ? "list" : "main", replace: true, quiet: input.dataset.live === "list" }).then(() => {
    history.replaceState({}, "", url.href);
    if (input.dataset.live !== "list" && input.value) input.focus();
  }).catch(() => {});
});
document.addEventListener("input", (event) => {
  const e = /** @type {HTMLInputElement} */ (event.target);
  if (e.dataset.live === "list" || e.dataset.live === "search" && e.value.length > 1) live();
  if (e.closest(".composer")) changed();
});

// ---- Writing --------------------------------------------------------------------------

const field = () => /** @type {HTMLElement | null} */ ($(".editor") || $(".composer textarea"));
const tags = new Set(["B", "STRONG", "I", "EM", "A", "UL", "OL", "LI", "P", "DIV", "BR", "BLOCKQUOTE", "PRE", "CODE", "IMG"]);

/** Turns the textarea into an editor. @param {HTMLFormElement} form */
function compose(form) {
  form.classList.add("ready");
  const area = /** @type {HTMLTextAreaElement} */ ($("textarea", form)), html = form.elements.namedItem("html");
  const edit = document.createElement("div");
  Object.assign(edit, { className: "editor", contentEditable: "true", role: "textbox", ariaMultiLine: "true", ariaLabel: area.labels?.[0]?.textContent?.trim() || "", dir: "auto" });
  edit.dataset.placeholder = area.placeholder;
  edit.tabIndex = 0;
  const kept = localStorage.getItem(keep(form));
  const content = new DOMParser().parseFromString(kept || (html instanceof HTMLInputElement ? html.value : ""), "text/html").body;
  clean(content);
  edit.replaceChildren(...content.childNodes);
  if (edit.textContent?.trim() === "" && !$("img", edit)) edit.replaceChildren();
  area.hidden = true;
  area.disabled = true;
  area.after(edit);
  edit.addEventListener("paste", (event) => paste(form, event));
  edit.addEventListener("drop", (event) => { if (event.dataTransfer?.files.length) { event.preventDefault(); upload(form, [...event.dataTransfer.files], true); } });
  form.addEventListener("click", (event) => format(event));
  form.addEventListener("change", (event) => {
    const input = /** @type {HTMLInputElement} */ (event.target);
    if (input.type === "file" && form.dataset.files && input.files?.length) { upload(form, [...input.files], false); input.value = ""; }
    if (input.name === "kind") edit.focus();
  });
  if (kept) changed();
}

const keep = (/** @type {HTMLFormElement} */ form) => `desk-draft:${form.action}`;

/** Puts what was written into the form. @param {HTMLFormElement} form */
function fill(form) {
  const edit = $(".editor", form), html = form.elements.namedItem("html");
  if (!edit || !(html instanceof HTMLInputElement)) return;
  const copy = /** @type {HTMLElement} */ (edit.cloneNode(true));
  clean(copy);
  html.value = copy.innerHTML;
  if (!form.elements.namedItem("rich")) form.insertAdjacentHTML("beforeend", `<input type="hidden" name="rich" value="1">`);
}

/** Leaves of pasted HTML what mails are written with; the server cleans it again. @param {Element} root */
function clean(root) {
  for (const e of [...root.children]) {
    clean(e);
    if (["SCRIPT", "STYLE", "META", "LINK", "TITLE", "HEAD"].includes(e.tagName)) { e.remove(); continue; }
    if (!tags.has(e.tagName)) { e.replaceWith(...e.childNodes); continue; }
    for (const a of [...e.attributes]) if (!(e.tagName === "A" && a.name === "href") && !(e.tagName === "IMG" && ["src", "alt", "data-remote-src"].includes(a.name))) e.removeAttribute(a.name);
  }
}

/** @param {HTMLFormElement} form @param {ClipboardEvent} event */
function paste(form, event) {
  const data = event.clipboardData;
  if (!data) return;
  event.preventDefault();
  const files = [...data.files];
  if (files.length) { upload(form, files, true); return; }
  const rich = data.getData("text/html");
  if (!rich) { document.execCommand("insertText", false, data.getData("text/plain")); return; }
  const page = new DOMParser().parseFromString(rich, "text/html").body;
  clean(page);
  for (const e of $$("img", page)) e.remove();
  insert(page);
  changed();
}

/** Puts nodes where the caret is, or at the end. Commands of the browser would add style attributes, which the page's policy refuses.
 * @param {Element} from */
function insert(from) {
  const edit = field(), selection = getSelection();
  if (!edit || !selection) return;
  edit.focus();
  if (!selection.rangeCount || !edit.contains(selection.anchorNode)) { selection.selectAllChildren(edit); selection.collapseToEnd(); }
  const range = selection.getRangeAt(0), part = document.createDocumentFragment();
  part.append(...from.childNodes);
  range.deleteContents();
  range.insertNode(part);
  selection.collapseToEnd();
}

/** @param {Event} event */
function format(event) {
  const button = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[data-format]"));
  if (!button) return;
  field()?.focus();
  switch (button.dataset.format) {
    case "bold": case "italic": document.execCommand(button.dataset.format); break;
    case "list": document.execCommand("insertUnorderedList"); break;
    case "quote": document.execCommand("formatBlock", false, "blockquote"); break;
    case "code": document.execCommand("formatBlock", false, "pre"); break;
    case "link": {
      const to = prompt(body.dataset.link, "https://");
      if (to && /^(https?|mailto|tel):/i.test(to)) document.execCommand("createLink", false, to);
    }
  }
  changed();
}

/** Attaches files to the draft; images that were pasted go into the text. @param {HTMLFormElement} form @param {File[]} files @param {boolean} inline */
async function upload(form, files, inline) {
  for (const file of files) {
    const image = inline && /^image\/(png|jpeg|gif|webp)$/.test(file.type);
    await saving;
    fill(form);
    const data = new FormData(form);
    data.delete("file");
    data.set("file", file, file.name || "image.png");
    if (image) data.set("inline", "1");
    const answer = await fetch(form.dataset.files || "", { method: "POST", body: data }).catch(() => null);
    if (!answer?.ok) { say(body.dataset.failed || ""); offline(); continue; }
    const made = await answer.json();
    drafted(form, made.draft);
    if (image) {
      const box = document.createElement("div"), picture = document.createElement("img");
      picture.src = made.url; picture.alt = "";
      box.append(picture);
      insert(box);
      changed();
      continue;
    }
    const list = $("[data-list]", form), item = document.createElement("li"), name = document.createElement("b"), size = document.createElement("small");
    name.textContent = made.name; size.textContent = made.size;
    item.innerHTML = `<a target="_blank" rel="noopener" data-plain><span class="paper"></span><span></span></a>`;
    /** @type {HTMLAnchorElement} */ ($("a", item)).href = made.url;
    $("a > span:last-child", item)?.append(name, size);
    list?.append(item);
  }
}

/** @param {HTMLFormElement} form @param {number} id */
function drafted(form, id) {
  const draft = form.elements.namedItem("draft");
  if (draft instanceof HTMLInputElement) draft.value = String(id);
}

/** @type {Promise<unknown>} */
let saving = Promise.resolve();
let dirty = false, stopped = false;
const later = settled(1000, () => saveNow());

/** Something of the draft has changed. */
function changed() {
  const form = /** @type {HTMLFormElement | null} */ ($("form.composer"));
  if (!form) return;
  dirty = true; stopped = false;
  fill(form);
  const html = form.elements.namedItem("html");
  if (html instanceof HTMLInputElement) localStorage.setItem(keep(form), html.value);
  later();
}

/** What is sent is not saved any more. */
function stopSaving() {
  dirty = false; stopped = true;
  const form = /** @type {HTMLFormElement | null} */ ($("form.composer"));
  if (form) localStorage.removeItem(keep(form));
}

/** Saves the draft; one request at a time, so that none overtakes another. */
function saveNow() {
  const form = /** @type {HTMLFormElement | null} */ ($("form.composer[data-draft]"));
  if (!dirty || stopped || !form) return;
  const kind = new FormData(form).get("kind");
  if (kind === "note" || !field()?.textContent?.trim() && !$("img", form)) return;
  dirty = false;
  fill(form);
  const data = new FormData(form);
  data.delete("file");
  saving = saving.then(async () => {
    const id = form.elements.namedItem("draft");
    if (id instanceof HTMLInputElement) data.set("draft", id.value);
    const answer = await fetch(form.dataset.draft || "", { method: "POST", body: data, headers: { Accept: "application/json" }, keepalive: true });
    if (!answer.ok) throw new Error(String(answer.status));
    const made = await answer.json(), note = $(".saved", form);
    drafted(form, made.draft);
    if (!dirty) localStorage.removeItem(keep(form));
    if (note) note.textContent = made.saved;
  }).catch(() => { dirty = true; const note = $(".saved", form); if (note) note.textContent = body.dataset.kept || ""; setTimeout(later, 5000); });
}
addEventListener("pagehide", saveNow);

// Saved replies are put where the caret is. A slash at the beginning of a word opens their list.
/** @type {Range | null} */
let caret = null;
/** Opens the list, and remembers where to write. */
function offer() {
  const menu = /** @type {HTMLDetailsElement | null} */ ($("[data-replies]")), selection = getSelection();
  if (!menu || !selection?.rangeCount) return;
  caret = selection.getRangeAt(0).cloneRange();
  menu.open = true;
  $("input[type=search]", menu)?.focus();
}
document.addEventListener("input", (event) => {
  const e = /** @type {HTMLElement} */ (event.target);
  if (e.matches("[data-replies] input[type=search]")) {
    const words = /** @type {HTMLInputElement} */ (e).value.toLocaleLowerCase();
    for (const item of $$("[data-replies] li")) item.hidden = !item.textContent.toLocaleLowerCase().includes(words);
  }
  if (!e.matches(".editor") || /** @type {InputEvent} */ (event).data !== "/") return;
  const at = getSelection(), text = at?.focusNode?.textContent?.slice(0, at.focusOffset) || "";
  if (/(^|\s)\/$/.test(text)) offer();
});
document.addEventListener("click", async (event) => {
  const button = /** @type {HTMLButtonElement | null} */ (/** @type {Element} */ (event.target).closest("[data-reply]")), menu = button?.closest("details");
  if (!button || !menu || !$(".editor")) return;
  event.preventDefault();
  const answer = await fetch(menu.dataset.replies + button.value).catch(() => null);
  if (!answer?.ok) { offline(); return; }
  const { html } = await answer.json();
  menu.open = false;
  field()?.focus();
  const selection = getSelection();
  if (caret && selection) {
    const { startContainer: node, startOffset: end } = caret; // behind the slash
    if (node.nodeType === Node.TEXT_NODE && node.textContent?.[end - 1] === "/") caret.setStart(node, end - 1);
    selection.removeAllRanges();
    selection.addRange(caret);
  }
  caret = null;
  insert(new DOMParser().parseFromString(html, "text/html").body);
  changed();
});

// ---- What others do -------------------------------------------------------------------

const channel = new BroadcastChannel("desk-events");
channel.addEventListener("message", (event) => happened(event.data));

/** Tells others who is here, and what they do. @param {string} doing */
function present(doing) {
  const talk = $(".talk");
  if (talk?.dataset.self && !document.hidden) post(`${new URL(talk.dataset.self, location.href).pathname}/presence`, { doing }).catch(() => {});
}
const doing = () => (field()?.textContent?.trim() && document.activeElement?.closest(".composer") ? "replying" : "reading");
setInterval(() => present(doing()), 20000);
let told = "";
setInterval(() => { const now = `${location.pathname} ${doing()}`; if ($(".talk") && now !== told) { told = now; present(doing()); } }, 2000);

/** One stream for all tabs of the browser. */
function listen() {
  const at = body.dataset.events;
  if (!at) return;
  navigator.locks.request(`desk-events:${at}`, () => new Promise(() => { // the lock is kept while the page is open
    const source = new EventSource(at);
    const pass = (/** @type {any} */ e) => { channel.postMessage(e); happened(e); };
    source.onmessage = (event) => pass({ ...JSON.parse(event.data), at });
    source.addEventListener("reset", () => pass({ type: "reset", at }));
    let lost = false;
    source.onerror = () => { lost = true; };
    source.onopen = () => { if (lost) pass({ type: "reset", at }); lost = false; };
  })).catch(() => {});
}

/** @type {Set<number>} */
const fresh = new Set();
let threadChanged = false, listChanged = false;
const counted = settled(400, () => {
  const talk = $(".talk");
  const want = ["sidebar", "tabs", ...talk && threadChanged ? ["head", "acts", "thread", "presence", "panel"] : []];
  threadChanged = false;
  if (document.activeElement?.closest("#sidebar") || $("#sidebar details[open]")) want.splice(0, 1);
  refresh(want.join(" ")).then(() => { const e = $("#thread .message:last-of-type:has(.state.info)"); if (e && talk) e.scrollIntoView({ block: "nearest" }); });
  const pill = $("#fresh");
  if (pill && fresh.size) {
    const text = $("span", pill);
    if (text) text.textContent = (body.dataset.fresh || "#").replace("#", String(fresh.size));
    pill.hidden = false;
  }
});

/** @param {{ type: string, conversation?: number, subject?: number, at: string }} event */
function happened(event) {
  if (event.at !== body.dataset.events) return;
  const talk = $(".talk"), id = Number(talk?.dataset.conversation);
  if (event.type === "reset" || talk && event.conversation === id) threadChanged = true;
  const [area, deed] = event.type.split(".");
  if (["conversation", "interaction"].includes(area) && event.conversation && deed !== "draft") {
    const row = document.getElementById(`row-${event.conversation}`);
    if (deed === "closed" && row) row.classList.add("gone");
    else if (!talk && (deed === "created" || deed === "reopened")) fresh.add(event.conversation);
  }
  counted();
}

$("#main")?.addEventListener("click", (event) => { if (/** @type {Element} */ (event.target).closest("#fresh")) fresh.clear(); });

// ---- Keys -----------------------------------------------------------------------------

let before = "";
const rows = () => $$(".row[data-id]");
/** @param {number} step @param {boolean} extend */
function move(step, extend) {
  const all = rows(), now = all.findIndex((e) => e.classList.contains("here")), next = all[Math.max(0, Math.min(all.length - 1, now + step))];
  if (!next) return;
  for (const e of all) e.classList.toggle("here", e === next);
  if (extend) tick(next, true);
  /** @type {HTMLElement | null} */ ($(".line", next))?.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}
/** @param {Element | undefined} row @param {boolean} [on] */
function tick(row, on) {
  const box = row && /** @type {HTMLInputElement | null} */ ($(".tick input", row));
  if (box) { box.checked = on ?? !box.checked; picked(); }
}

document.addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target), writing = target.matches("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");
  const form = /** @type {HTMLFormElement | null} */ (target.closest("form.composer"));
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && form) { event.preventDefault(); form.requestSubmit(/** @type {HTMLElement | null} */ ($("[data-send]", form))); return; }
  if (event.key === "Escape") {
    const menu = /** @type {HTMLDetailsElement | undefined} */ ($$("details.menu[open]").pop());
    if (menu) { menu.open = false; $("summary", menu)?.focus(); } else if (writing) target.blur(); else /** @type {HTMLFormElement | null} */ ($("#bulk"))?.reset();
    return;
  }
  if (!writing && event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey)) { const undo = $(".toast button"); if (undo) { event.preventDefault(); undo.click(); } return; }
  if (writing || event.ctrlKey || event.metaKey || event.altKey || localStorage.getItem("desk-keys") || $("dialog[open]")) return;
  const keys = /** @type {Record<string, () => void>} */ ({
    "/": () => /** @type {HTMLInputElement | null} */ ($(".find input"))?.focus(), "?": () => /** @type {HTMLDialogElement | null} */ ($("#keys"))?.showModal(),
    ".": () => $("#thread .message:last-of-type")?.scrollIntoView(),
  });
  if (rows().length && $("#bulk")) Object.assign(keys, {
    j: () => move(1, false), k: () => move(-1, false), J: () => move(1, true), K: () => move(-1, true), x: () => tick($(".row.here") || undefined),
  });
  const went = before; before = event.key === "g" ? "g" : "";
  if (went === "g") { const to = $(`[data-go="${CSS.escape(event.key)}"]`); if (to) { event.preventDefault(); to.click(); } return; }
  if (keys[event.key]) { event.preventDefault(); keys[event.key](); return; }
  act(event);
});

/** Does what a control with the key does. On a list that is for the row that has the focus, unless some are ticked.
 * @param {KeyboardEvent} event */
function act(event) {
  const control = $$("[data-key]").find((e) => e.dataset.key === event.key);
  if (!control) return;
  event.preventDefault();
  if (control.closest(".selection") && !$(".tick input:checked")) tick($(".row.here") || undefined, true);
  if (control.closest(".selection") && !$(".tick input:checked")) return;
  const menu = /** @type {HTMLDetailsElement | null} */ (control.closest("details.menu"));
  if (menu && control.tagName === "SUMMARY") { menu.open = true; $(".pop a, .pop button, .pop input:not([type=hidden])", menu)?.focus(); return; }
  control.click();
  if (control.matches(".kinds label")) field()?.focus();
}

const off = /** @type {HTMLInputElement | null} */ ($("#keys-off"));
if (off) off.checked = localStorage.getItem("desk-keys") === "off";
dress();
arrive();
listen();
