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
navigator.serviceWorker?.register(`${prefix}worker.js`, { scope: prefix }).catch(() => {}); // the page for when nothing answers

// ---- Parts of pages -------------------------------------------------------------------

/** Puts the parts of an answer into the page. Focus, open menus and what is being written stay.
 * @param {string} text @param {{ title?: boolean, quiet?: boolean, only?: string[] }} [how] quiet: nobody has asked for it, and what the member uses waits */
function swap(text, { title = true, quiet = false, only } = {}) {
  const answer = new DOMParser().parseFromString(text, "text/html"), templates = $$("template[data-swap]", answer);
  if (!templates.length) return false;
  const focus = document.activeElement?.id;
  for (const t of templates) {
    const id = /** @type {HTMLElement} */ (t).dataset.swap || "", old = document.getElementById(id);
    const fresh = document.importNode(/** @type {HTMLTemplateElement} */ (t).content, true);
    if (!old || only && !only.includes(id)) continue;
    if (quiet && busy(old)) { behind.add(id); setTimeout(counted, 2000); continue; }
    if (id === "main") old.replaceChildren(fresh);
    else if (quiet && old.matches(":target")) old.replaceChildren(...fresh.firstElementChild?.childNodes || []); // a new one would be closed
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

/** Whether a part beside the thread has an open menu, or a field that is being filled in. @param {HTMLElement} part */
const busy = (part) => ["head", "acts", "panel"].includes(part.id) && (Boolean($("details.menu[open]", part)) || $$("input:not([type=hidden]), textarea, select", part).some((e) =>
  e === document.activeElement || (e instanceof HTMLSelectElement ? [...e.options].some((o) => o.selected !== o.defaultSelected)
    : e instanceof HTMLInputElement && ["checkbox", "radio"].includes(e.type) ? e.checked !== e.defaultChecked
      : /** @type {HTMLInputElement | HTMLTextAreaElement} */ (e).value !== /** @type {HTMLInputElement | HTMLTextAreaElement} */ (e).defaultValue)));

/** What the server says in the place of a form that it has not taken, "" if that is not a page of the desk; null where
 * the form is shown again. @param {string} text */
function refusal(text) {
  const answer = new DOMParser().parseFromString(text, "text/html");
  const problem = [answer, ...$$("template", answer).map((t) => /** @type {HTMLTemplateElement} */ (/** @type {unknown} */ (t)).content)].map((e) => $(".problem", e)).find(Boolean);
  if (problem) return $$("h1, h1 + p", problem).map((e) => e.textContent?.trim().replace(/\.$/, "")).filter(Boolean).join(". ");
  return $("template[data-swap]", answer) ? null : "";
}

/** An answer of the server that it does not do what it was asked, with its reason. Whatever else fails has had no answer. */
class Refusal extends Error {
  /** @param {number} status @param {string} [said] "": an answer that is not the desk's, such as a proxy's */
  constructor(status, said) {
    const { refused = "", large = "", busy = "" } = body.dataset, max = Number($("[data-max]")?.dataset.max) >> 20;
    super(said || (status === 413 && max ? large.replace("#", String(max)) : status === 429 ? busy : refused.replace("#", String(status))));
    this.passes = status >= 500 || status === 429 || status === 408; // the same may be done later
  }
}

/** What the server answers to a request, or throws its refusal. @param {Response} answer */
async function answered(answer) {
  const made = await answer.json().catch(() => null);
  if (!answer.ok || !made) throw new Refusal(answer.status, made?.error);
  return made;
}

/** @type {AbortController | undefined} */
let going;
/** The address of what is in the main part: the bar has the next one before its page is here. */
let shown = location.href;
let turns = 0; // pages that were asked for

/** Shows the outlines of a page that takes long, until the function that it returns is called; what was there comes back
 * if no other page does. @param {AbortSignal} signal of the page that is awaited */
function waiting(signal) {
  const timer = setTimeout(() => { if (!signal.aborted) $("#main")?.setAttribute("aria-busy", "true"); }, 300);
  return () => { clearTimeout(timer); if (!signal.aborted) $("#main")?.removeAttribute("aria-busy"); };
}

/** Leaves to the browser what failed, unless the member has gone on to another page meanwhile.
 * @param {() => void} load @returns {(error: Error) => void} */
const unlessGone = (load) => (error) => { if (error.name !== "AbortError") load(); };

/** Goes to a page, or sends a form. Whatever fails is left to the browser.
 * @param {string} url @param {{ init?: RequestInit, push?: boolean, want?: string, quiet?: boolean, replace?: boolean, taken?: () => void }} [how] */
async function go(url, { init = {}, push = true, want = parts, quiet = false, replace = false, taken = () => {} } = {}) {
  const page = shown, posts = init.method === "POST";
  if (!quiet) { saveNow(); turns++; going?.abort(); going = posts ? undefined : new AbortController(); } // what is sent is sent to the end
  const turn = turns, signal = quiet ? undefined : going?.signal;
  const slow = signal && want.includes("main") ? waiting(signal) : () => {};
  const answer = await fetch(url, { ...init, signal, headers: { ...init.headers, "Desk-Target": want } }).finally(slow);
  const text = await answer.text();
  if (quiet && !posts && (answer.status >= 500 || answer.status === 429)) throw new Error(String(answer.status));
  if (posts && !answer.ok) {
    const said = refusal(text);
    if (said !== null) throw new Refusal(answer.status, said); // what was written stays
  } else taken();
  if (answer.redirected && !new URL(answer.url).pathname.startsWith(prefix + "a/")) { location.assign(answer.url); return; }
  if (quiet ? page !== shown : turn !== turns) { // the member has gone on
    if (posts) swap(text, { title: false, only: ["sidebar", "tabs", "toast"] });
    return;
  }
  const main = want.includes("main"), opened = drawer(), hash = new URL(url, location.href).hash || new URL(answer.url).hash;
  if (!swap(text, { title: main, quiet })) { if (!quiet) location.assign(answer.url); return; }
  if (!main) return;
  // A form that is shown again, with what is wrong, has no address of its own to come back to.
  const at = answer.url.split("#")[0] + hash, again = init.method === "POST" && !answer.redirected;
  if (push && !again && at !== location.href) history[replace || opened ? "replaceState" : "pushState"]({}, "", at);
  if (!again) shown = at;
  window.scrollTo(0, 0);
  arrive();
  const known = answer.headers.get("Desk-Heard");
  if (known) for (const e of recent) if (e.seq > Number(known)) happened(e); // while the page was on its way
  if (hash) document.getElementById(hash.slice(1))?.scrollIntoView({ block: "start" });
  else if (!quiet && push) $("#main")?.focus({ preventScroll: true });
}

/** What a link to its fragment has opened over the page. */
const drawer = () => $$("#sidebar:target, #panel:target").find((e) => getComputedStyle(e).position === "fixed");
/** The address of the step that has opened it. */
let step = "";
/** Closes it, without a step to go back to: the one that has opened it is undone. @param {string} [to] the fragment */
function shut(to = "#main") {
  const opener = location.hash;
  if (to !== "#main" || step !== location.href) { location.replace(location.href.split("#")[0] + to); return; }
  addEventListener("popstate", () => $$(`a[href="${opener}"]`).find((e) => e.checkVisibility())?.focus({ preventScroll: true }), { once: true });
  history.back();
}
const apart = (/** @type {string} */ url) => new URL(url, location.href).href.split("#")[0];

document.addEventListener("click", (event) => {
  const link = /** @type {HTMLAnchorElement | null} */ (/** @type {Element} */ (event.target).closest?.("a[href]:not(svg a)")), opened = drawer(); // those of charts are left to the browser
  if (opened && link && !event.button && apart(link.href) === apart(location.href) && new URL(link.href).hash) { event.preventDefault(); shut(new URL(link.href).hash); return; }
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const url = new URL(link.href);
  if (["#panel", "#sidebar"].includes(url.hash) && apart(url.href) === apart(location.href)) step = url.href;
  if (url.origin !== location.origin || !url.pathname.startsWith(prefix + "a/") || link.target || "plain" in link.dataset || body.classList.contains("bare")) return;
  if (url.pathname === location.pathname && url.search === location.search && url.hash) return;
  event.preventDefault();
  if (link.closest("#bell-panel")) $("#bell-panel")?.hidePopover();
  if ("more" in link.dataset) { more(link); return; }
  go(link.href).catch(unlessGone(() => location.assign(link.href)));
});

document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target), button = /** @type {HTMLButtonElement | null} */ (event.submitter);
  if (event.defaultPrevented || "plain" in form.dataset || form.method === "dialog" || body.classList.contains("bare")) return;
  const action = button?.formAction && button.hasAttribute("formaction") ? button.formAction : form.action || location.href;
  if (!new URL(action).pathname.startsWith(prefix + "a/")) return;
  event.preventDefault();
  if (form.dataset.quiet) {
    go(action, { init: { method: "POST", body: new URLSearchParams(/** @type {any} */ (new FormData(form, button))) }, want: form.dataset.quiet, quiet: true }).catch((error) => offline(() => form.requestSubmit(button), error));
    return;
  }
  if (form.closest("#bell-panel")) $("#bell-panel")?.hidePopover();
  if (form.method === "get") {
    const url = new URL(action); url.search = new URLSearchParams(/** @type {any} */ (new FormData(form, button))).toString();
    go(url.href).catch(unlessGone(() => location.assign(url.href)));
    return;
  }
  if ("carry" in form.dataset) { carry(form, button, action); return; }
  deliver(form, button, action);
});

/** Sends a form with one large file, shows how far it has come, and goes where the server says.
 * @param {HTMLFormElement} form @param {HTMLButtonElement | null} button @param {string} action */
async function carry(form, button, action) {
  const input = /** @type {HTMLInputElement | null} */ ($("input[type=file]", form)), files = fitting(form, [...input?.files || []]);
  if (!files.length || button?.disabled) return;
  const data = new FormData(form), seen = await following(form, files[0].name), page = shown;
  if (button) button.disabled = true;
  try {
    const made = await answered(await (seen?.send(action, data) ?? fetch(action, { method: "POST", body: data, headers: { Accept: "application/json" } })));
    if (page === shown) await go(made.open);
  } catch (error) {
    if (!seen?.stopped) offline(() => carry(form, button, action), /** @type {Error} */ (error), files[0].name);
  } finally {
    seen?.end();
    if (button) button.disabled = false;
  }
}

setInterval(() => {
  const alive = /** @type {HTMLElement | null} */ ($("#errand[data-alive]"));
  if (alive && document.visibilityState === "visible") refresh(alive.dataset.alive || "errand");
}, 2000);

/** Sends a form once what belongs to it is with the server. Whoever keeps a copy of what is written hears of it: "desk:sending"
 * takes promises to wait for, of which none may be false; then comes "desk:sent" when the server has it, or "desk:unsent".
 * @param {HTMLFormElement} form @param {HTMLButtonElement | null} button @param {string} action */
async function deliver(form, button, action) {
  const by = button ? `${button.name}=${button.value}` : "";
  if (form.dataset.waits === by) return; // pressed twice
  const turn = turns, waits = /** @type {Promise<unknown>[]} */ ([]), enable = (/** @type {boolean} */ on) => { if (button) button.disabled = !on; };
  form.dispatchEvent(new CustomEvent("desk:sending", { detail: waits }));
  form.dataset.waits = by;
  enable(false);
  const fine = !(await Promise.all(waits)).includes(false);
  enable(true); // a button that is disabled says nothing in the form
  fill(form);
  // The page may have changed while it waited, and its button with it.
  const data = new FormData(form, button?.form === form ? button : null), left = !form.isConnected || turns !== turn;
  if (button?.name && button.form !== form) data.set(button.name, button.value);
  enable(false);
  let sent = false;
  try {
    if (!fine) return;
    dim(form, button);
    await go(action, {
      init: { method: "POST", body: form.enctype === "multipart/form-data" ? data : new URLSearchParams(/** @type {any} */ (data)) },
      taken: () => { sent = true; form.dispatchEvent(new Event("desk:sent")); },
      ...left ? { quiet: true, want: "sidebar tabs toast" } : {}, // the member stays where they have gone
    });
  } catch (error) {
    for (const e of $$(".row.gone:has(.tick input:checked)")) e.classList.remove("gone");
    // The form stays as it is, and has the nonce that makes sending again safe.
    offline(() => deliver(form, button, action), /** @type {Error} */ (error));
  } finally {
    if (form.dataset.waits === by) delete form.dataset.waits;
    enable(true);
    if (!sent) form.dispatchEvent(new Event("desk:unsent"));
  }
}

/** Rows that an act takes out of the list fade at once. @param {HTMLFormElement} form @param {HTMLButtonElement | null} button */
function dim(form, button) {
  if (form.id === "bulk" && button?.value === "close") for (const e of $$(".row:has(.tick input:checked)")) e.classList.add("gone");
}

/** Says that the server does not answer, or why it refuses, and offers to try again if that may help.
 * @param {(() => void) | undefined} again @param {Error} error @param {string} [what] was refused */
function offline(again, error, what = "") {
  const toast = document.createElement("div"), text = document.createElement("span");
  toast.className = "toast bad";
  toast.setAttribute("role", "status");
  const said = error instanceof Refusal ? error.message : body.dataset.offline || "", retry = again && (!(error instanceof Refusal) || error.passes);
  text.textContent = what && !said.startsWith(what) ? `${what}: ${said}` : said;
  const button = document.createElement("button");
  button.textContent = (retry ? body.dataset.again : body.dataset.shut) || "";
  button.addEventListener("click", () => { toast.remove(); if (retry) again(); });
  toast.append(text, button);
  const over = $$("dialog:modal").pop(); // what lies behind it can be neither read well nor pressed
  let place = over ? $(":scope > .toasts", over) : $("#toast");
  if (over && !place) { place = document.createElement("div"); place.className = "toasts"; over.append(place); }
  place?.replaceChildren(toast);
}

addEventListener("popstate", () => {
  if (apart(shown) === apart(location.href)) return; // another place of this page, which the browser shows
  go(location.href, { push: false }).catch(unlessGone(() => location.reload()));
});
addEventListener("hashchange", () => { if (location.hash === "#write") field()?.focus(); });

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
  for (const e of $$("[data-keys], [data-show], [data-copy], [data-all], [data-sign], .rich, #all")) e.hidden = false;
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
    if (first || $("#bell.rings")) settled(1500, () => { if (talk.isConnected) readTalk(); })();
  }
  fresh.clear();
  behind.clear();
  if (location.hash === "#write") field()?.focus();
}

/** The conversation that is shown is read, and so is what the member was told of it. */
function readTalk() {
  const self = $(".talk")?.dataset.self;
  if (self) post(`${new URL(self, location.href).pathname}/read`).then(() => refresh("sidebar tabs")).catch(() => {});
}

/** @param {string} path @param {Record<string, string>} [form] */
const post = (path, form = {}) => fetch(path, { method: "POST", body: new URLSearchParams(form), headers: { "Desk-Target": "none" } });

/** Parts of this page that are out of date. @type {Set<string>} */
const behind = new Set();
let failures = 0; // of refreshes in a row

/** Fetches parts of this page again, and retries later if that fails. @param {string} want */
async function refresh(want) {
  const page = shown;
  try {
    await go(page, { push: false, want, quiet: true });
    failures = 0;
  } catch {
    if (page === shown) for (const part of want.split(" ")) behind.add(part);
    setTimeout(counted, Math.min(1000 * 2 ** failures++, 60000));
  }
}

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
});

// A menu closes when the member goes on beside it, by a click or because the focus leaves it. Escape has undone the ticks before.
document.addEventListener("toggle", (event) => {
  const menu = event.target;
  if (menu instanceof HTMLDetailsElement && menu.matches(".menu:not([open])")) keepTicks(menu);
}, true);

/** Saves what was ticked in a menu that closes without its button. @param {HTMLElement} menu */
function keepTicks(menu) {
  const boxes = /** @type {HTMLInputElement[]} */ ($$(".ticks input[type=checkbox]", menu)), form = /** @type {HTMLFormElement | null} */ ($("form[method=post]", menu));
  if (!form || !boxes.some((e) => e.checked !== e.defaultChecked || e.closest("[data-made]"))) return;
  const init = { method: "POST", body: new URLSearchParams(/** @type {any} */ (new FormData(form))) }, want = `${form.closest("[id]")?.id || ""} sidebar toast`;
  for (const e of boxes) e.defaultChecked = e.checked; // it is being saved
  const save = () => { go(form.action, { init, want, quiet: true, push: false }).catch((error) => offline(save, error)); };
  save();
}

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
  if (out) { out.dataset.words ??= out.textContent || ""; out.textContent = `${out.dataset.words}: ${n}`; }
  if (all) all.checked = n > 0 && n === $$(".tick input").length;
}

const live = settled(250, () => {
  const input = /** @type {HTMLInputElement | null} */ (document.activeElement), form = input?.form;
  if (!input?.dataset.live || !form || input.closest(":target")) return; // what is found would be below the drawer
  const url = new URL(form.action); url.search = new URLSearchParams(/** @type {any} */ (new FormData(form))).toString();
  go(url.href, { want: input.dataset.live === "list" ? "list filters view-form" : "main", replace: true, quiet: input.dataset.live === "list" }).then(() => {
    history.replaceState({}, "", url.href);
    shown = url.href;
    if (input.dataset.live !== "list" && input.value) input.focus();
  }).catch(() => {});
});
document.addEventListener("input", (event) => {
  const e = /** @type {HTMLInputElement} */ (event.target);
  if (e.dataset.live === "list" || e.dataset.live === "search" && e.value.length > 1) live();
  if (e.closest(".composer") && e.name !== "kind") changed();
});

// ---- Writing --------------------------------------------------------------------------

const field = () => /** @type {HTMLElement | null} */ ($(".editor") || $(".composer textarea"));
/** Reads what is pasted. @type {typeof import("./paste.js") | undefined} */
let reader;
const tags = new Set(["B", "STRONG", "I", "EM", "A", "UL", "OL", "LI", "P", "DIV", "BR", "BLOCKQUOTE", "PRE", "CODE", "IMG"]);

/** Turns the textarea into an editor. @param {HTMLFormElement} form */
function compose(form) {
  form.classList.add("ready");
  const area = /** @type {HTMLTextAreaElement} */ ($("textarea", form)), html = form.elements.namedItem("html");
  const edit = document.createElement("div");
  Object.assign(edit, { className: "editor", contentEditable: "true", role: "textbox", ariaMultiLine: "true", ariaLabel: $("span", area.labels?.[0])?.textContent?.trim() || "", dir: "auto" });
  edit.dataset.placeholder = area.placeholder;
  edit.tabIndex = 0;
  area.hidden = true;
  area.disabled = true;
  area.after(edit);
  const radio = $(`[name=kind][value=${kindOf(form) === "reply" && value(form, "answers") || kindOf(form)}]`, form);
  if (radio instanceof HTMLInputElement) radio.checked = true; // a browser may have restored another
  const left = readSheets(form), kept = recall(form);
  refill(form);
  recallMacro(form);
  show(edit, kept || (html instanceof HTMLInputElement ? html.value : ""));
  puts.length = 0;
  const reading = import(body.dataset.paste || "").then((module) => { reader = module; }).catch(() => {});
  edit.addEventListener("paste", (event) => {
    const { clipboardData: data } = event;
    if (!data) return;
    event.preventDefault();
    const html = data.getData("text/html"), text = data.getData("text/plain"), files = [...data.files];
    if (reader) paste(form, html, text, files); else reading.then(() => paste(form, html, text, files));
  });
  edit.addEventListener("drop", (event) => { if (event.dataTransfer?.files.length) { event.preventDefault(); paste(form, "", "", [...event.dataTransfer.files]); } });
  edit.addEventListener("input", (event) => undone(edit, /** @type {InputEvent} */ (event).inputType));
  form.addEventListener("click", (event) => format(event));
  form.addEventListener("change", (event) => {
    const input = /** @type {HTMLInputElement} */ (event.target);
    if (input.type === "file" && !form.dataset.files) choose(form, input, fitting(form, [...input.files || []]));
    else if (input.type === "file" && input.files?.length) { upload(form, [...input.files]); input.value = ""; }
    if (input.name !== "kind") return;
    turn(form, input.value.replace("-all", "")); // a reply to all is a reply
    if (input.value === "forward" && !value(form, "to")) { $("[name=to]", form)?.focus(); return; }
    edit.focus();
    getSelection()?.selectAllChildren(edit);
    getSelection()?.collapseToEnd();
  });
  form.addEventListener("desk:sending", (event) => {
    const files = uploads.get(form), note = $(".saved", form);
    if (files && note) note.textContent = body.dataset.uploading || "";
    saveNow(); // from here on the draft tells whether it was sent
    stopped = true;
    /** @type {CustomEvent} */ (event).detail.push(saving.then(() => remember(form, true)), files);
  });
  form.addEventListener("desk:sent", () => { unsaved.delete(kindOf(form)); localStorage.removeItem(keep(form)); localStorage.removeItem(keptMacro(form)); });
  form.addEventListener("desk:unsent", () => { if (form === $("form.composer")) stopped = false; });
  form.addEventListener("keydown", (event) => {
    const input = /** @type {HTMLInputElement} */ (event.target);
    if (event.key === "Enter" && input.name === "article") { event.preventDefault(); $("button", /** @type {Element} */ (input.closest(".pop")))?.click(); }
  });
  $("[data-forget]", form)?.addEventListener("click", () => { localStorage.removeItem(keep(form)); go(location.href, { push: false }).catch(() => location.reload()); });
  if (kept && !form.dataset.nonce) changed();
  const other = left && $(`[name=kind][value=${left}]`, form);
  if (other instanceof HTMLInputElement) { other.checked = true; turn(form, left); }
  if (unsaved.size) later();
}

/** Shows a text in the editor. @param {HTMLElement} edit @param {string} html */
function show(edit, html) {
  const content = new DOMParser().parseFromString(html, "text/html").body;
  clean(content);
  edit.replaceChildren(...content.childNodes);
  if (edit.textContent?.trim() === "" && !$("img", edit)) edit.replaceChildren();
}

// A reply, a note and a forward have a draft each: what is written as one never becomes another by itself. The form holds the
// kind that is shown, and a sheet each of the others.
/** @typedef {{ draft: string, html: string, to: string, cc: string, bcc: string, nonce: string, resent?: string, saved: string, files: Node[] }} Sheet */
/** @type {WeakMap<HTMLFormElement, Map<string, Sheet>>} */
const sheets = new WeakMap();
const kindOf = (/** @type {HTMLFormElement} */ form) => form.dataset.kind || "reply";

/** Reads the sheets that the server sent, with what the browser has kept of them. Returns the kind in which the member wrote
 * last without the server's knowing, if it is not the one that is shown. @param {HTMLFormElement} form */
function readSheets(form) {
  /** @type {Map<string, Sheet>} */
  const all = new Map();
  let left = "", when = keptAt(form, kindOf(form));
  for (const e of /** @type {HTMLTemplateElement[]} */ ($$("template[data-sheet]", form))) {
    const { sheet: kind = "", draft = "", html = "", to = "", cc = "", bcc = "", nonce = "", saved = "" } = e.dataset;
    const own = { draft, html, to, cc, bcc, nonce, saved, files: [...e.content.childNodes] };
    all.set(kind, own);
    const at = keptAt(form, kind), kept = at ? recall(form, kind, own) : "";
    if (!kept) continue;
    own.html = kept;
    unsaved.add(kind);
    if (at > when) { left = kind; when = at; }
  }
  sheets.set(form, all);
  return left;
}

/** Shows another kind, and puts aside what is written of the one shown. @param {HTMLFormElement} form @param {string} to */
function turn(form, to) {
  const from = kindOf(form), all = sheets.get(form), next = all?.get(to), edit = $(".editor", form), list = $("[data-list]", form), note = $(".saved", form);
  if (from === to || !all || !next || !edit) return;
  fill(form);
  saveNow();
  all.set(from, {
    draft: value(form, "draft"), html: value(form, "html"), to: value(form, "to"), cc: value(form, "cc"), bcc: value(form, "bcc"),
    nonce: value(form, "nonce"), resent: form.dataset.nonce, saved: note?.textContent || "", files: [...list?.childNodes || []],
  });
  all.delete(to);
  form.dataset.kind = to;
  for (const name of /** @type {const} */ (["draft", "html", "to", "cc", "bcc", "nonce"])) { const e = form.elements.namedItem(name); if (e instanceof HTMLInputElement) e.value = next[name]; }
  if (next.resent) form.dataset.nonce = next.resent; else delete form.dataset.nonce;
  show(edit, next.html);
  list?.replaceChildren(...next.files);
  if (note) note.textContent = next.saved;
  discardable(form);
  if (unsaved.has(to)) later();
}

/** What a form would send as one of its kinds. @param {HTMLFormElement} form @param {string} kind */
function pack(form, kind) {
  const data = new FormData(form), sheet = sheets.get(form)?.get(kind);
  data.delete("file");
  if (sheets.get(form)?.size) data.set("kind", kind);
  if (sheet) for (const name of /** @type {const} */ (["draft", "html", "to", "cc", "bcc", "nonce"])) data.set(name, sheet[name]);
  return data;
}

/** @param {HTMLFormElement} form */
function discardable(form) {
  const e = $(".discard", form);
  if (e) e.hidden = !value(form, "draft");
}

/** Where the browser keeps what the server does not have yet; another member may work in the same browser.
 * @param {HTMLFormElement} form @param {string} [kind] */
const keep = (form, kind = kindOf(form)) => `desk-draft:${body.dataset.me}:${form.action}:${kind}`;

/** When the browser kept it; 0: it keeps nothing. @param {HTMLFormElement} form @param {string} kind @returns {number} */
function keptAt(form, kind) {
  try { return JSON.parse(localStorage.getItem(keep(form, kind)) || "{}").at || 0; } catch { return 0; }
}

const value = (/** @type {HTMLFormElement} */ form, /** @type {string} */ name) => { const e = form.elements.namedItem(name); return e instanceof HTMLInputElement ? e.value : ""; };

/** What else is filled in for a new conversation, of which the server has no draft. @param {HTMLFormElement} form @returns {[string, string][] | undefined} */
const beside = (form) => (form.dataset.draft ? undefined : ["to", "cc", "bcc", "subject", "mailbox", "assignee"].flatMap((name) => {
  const e = form.elements.namedItem(name);
  return e instanceof HTMLInputElement || e instanceof HTMLSelectElement ? [[name, e.value]] : [];
}));

/** Fills in again what the browser has kept of a new conversation. @param {HTMLFormElement} form */
function refill(form) {
  let kept;
  try { kept = JSON.parse(localStorage.getItem(keep(form)) || "{}"); } catch { return; }
  if (form.dataset.draft || !kept.fields) return;
  for (const [name, text] of kept.fields) {
    const e = form.elements.namedItem(name);
    if (e instanceof HTMLInputElement || e instanceof HTMLSelectElement && [...e.options].some((o) => o.value === text)) e.value = text;
  }
  const copies = $("details", $(".addresses", form) || form), forget = $("[data-forget]", form);
  if (copies instanceof HTMLDetailsElement && (value(form, "cc") || value(form, "bcc"))) copies.open = true;
  if (forget) forget.hidden = false;
}

/** Keeps in the browser what is written. @param {HTMLFormElement} form @param {boolean} [sending] */
function remember(form, sending = false) {
  try {
    localStorage.setItem(keep(form), JSON.stringify({ html: value(form, "html"), draft: value(form, "draft"), nonce: sending ? value(form, "nonce") : "", at: Date.now(), fields: beside(form) }));
  } catch { /* there is no room for it: the server keeps it */ }
}

/** Has a form sent under another nonce than its own. @param {HTMLFormElement} form @param {string} [nonce] none: its own again */
function renonce(form, nonce = form.dataset.nonce) {
  const e = form.elements.namedItem("nonce");
  if (!nonce || !(e instanceof HTMLInputElement)) return;
  if (form.dataset.nonce === nonce) delete form.dataset.nonce; else form.dataset.nonce = e.value;
  e.value = nonce;
}

/** What the browser has kept, but not what was sent although no answer came: its draft is gone. Where none can tell, as for
 * a new conversation, it can be sent again as it is: under its nonce the server does it once.
 * @param {HTMLFormElement} form @param {string} [kind] @param {Sheet} [sheet] of a kind that is not shown @returns {string} */
function recall(form, kind = kindOf(form), sheet) {
  try {
    const { html, draft, nonce } = JSON.parse(localStorage.getItem(keep(form, kind)) || "{}");
    if (!nonce || !draft || draft === (sheet ? sheet.draft : value(form, "draft"))) {
      if (nonce && sheet) [sheet.resent, sheet.nonce] = [sheet.nonce, nonce]; else if (nonce) renonce(form, nonce);
      return html || "";
    }
  } catch { /* not ours */ }
  localStorage.removeItem(keep(form, kind));
  return "";
}

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
    if (["SCRIPT", "STYLE", "META", "LINK", "TITLE", "HEAD"].includes(e.tagName) || e.getAttribute("src")?.startsWith("blob:")) { e.remove(); continue; } // the server does not have the picture yet
    if (!tags.has(e.tagName)) { e.replaceWith(...e.childNodes); continue; }
    for (const a of [...e.attributes]) if (!(e.tagName === "A" && a.name === "href") && !(e.tagName === "OL" && a.name === "start") && !(e.tagName === "IMG" && ["src", "alt", "data-remote-src"].includes(a.name))) e.removeAttribute(a.name);
  }
}

/** @param {HTMLFormElement} form @param {string} html @param {string} text @param {File[]} files */
function paste(form, html, text, files) {
  const at = getSelection()?.anchorNode, code = (at instanceof Element ? at : at?.parentElement)?.closest(".editor pre");
  if (!reader) { document.execCommand("insertText", false, text); return; }
  if (code && text) { insert(reader.escape(text), true); changed(); return; }
  let made = reader.read(html, files, false);
  const worded = made.html || made.files.length;
  if (!worded) made = reader.lines(text);
  const shown = form.dataset.files ? made.html : made.html.replace(/<img [^>]*>/g, "");
  if (shown) insert(shown, !worded);
  if (form.dataset.files) for (const [url, file] of made.pictures) illustrate(form, url, file);
  upload(form, form.dataset.files ? made.files : [...made.pictures.values(), ...made.files]);
  changed();
}

/** Where the pictures are that were shown before the server had them: what is undone may show them so again. @type {Map<string, string>} */
const arrived = new Map();

/** Attaches a picture that is shown already. @param {HTMLFormElement} form @param {string} url of what is shown @param {File} file */
function illustrate(form, url, file) {
  if (!fitting(form, [file]).length) { $(`.editor img[src="${url}"]`, form)?.remove(); return; }
  const named = file.name ? file : new File([file], "image.png", { type: file.type }), shown = () => /** @type {HTMLImageElement | null} */ ($(`.editor img[src="${url}"]`, form));
  let failed = false;
  attach(form, form.dataset.files || "", { file: named, inline: "1" }, (made) => {
    const e = shown();
    if (e) e.src = made.url; else if (failed) insert(`<img src="${made.url}" alt="">`); else listed(form, made.html); // the member has taken it out
    arrived.set(url, made.url);
    URL.revokeObjectURL(url);
    changed();
  }, () => { failed = true; shown()?.remove(); });
}

/** What the selection was before a text was put in, by the signs that stood around all while it was.
 * @type {{ signs: Text[], from: StaticRange }[]} */
const puts = [];

/** Puts HTML where the caret is, or at the end. All of the editor is written anew: commands of the browser that join blocks add
 * style attributes, which the page's policy refuses, and a step that changes only a part may join some. It is one step to undo.
 * @param {string} html @param {boolean} [like] whether it looks like what stands around it */
function insert(html, like = false) {
  const edit = field(), selection = getSelection();
  if (!edit || !selection) return;
  edit.focus();
  if (!selection.rangeCount || !edit.contains(selection.getRangeAt(0).commonAncestorContainer)) { selection.selectAllChildren(edit); selection.collapseToEnd(); }
  if (!reader) { document.execCommand("insertHTML", false, html); return; }
  const range = selection.getRangeAt(0).cloneRange(), from = new StaticRange(range), whole = reader.put(edit, range, html, like);
  const signs = [new Text("\u200b"), new Text("\u200b")]; // with them no block is left around what comes
  edit.prepend(signs[0]);
  edit.append(signs[1]);
  puts.push({ signs, from });
  selection.selectAllChildren(edit);
  if (!document.execCommand("insertHTML", false, whole)) edit.innerHTML = whole;
  const caret = $("wbr", edit);
  if (!caret) return;
  selection.collapse(caret.parentNode, [...caret.parentNode?.childNodes || []].indexOf(caret));
  caret.scrollIntoView({ block: "nearest" });
  caret.remove();
}

/** Tidies up after a text that was put in is undone or done again. @param {HTMLElement} edit @param {string} how */
function undone(edit, how) {
  if (how === "historyRedo") for (const e of $$("wbr", edit)) e.remove();
  for (const e of /** @type {HTMLImageElement[]} */ ($$('img[src^="blob:"]', edit))) e.src = arrived.get(e.src) || e.src;
  for (const { signs, from } of puts) {
    if (how !== "historyUndo" || !signs[0].isConnected) continue;
    for (const e of signs) e.remove();
    if (edit.contains(from.startContainer) && edit.contains(from.endContainer)) getSelection()?.setBaseAndExtent(from.startContainer, from.startOffset, from.endContainer, from.endOffset);
  }
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

/** Shows a file among those of a form while it is on its way. @param {HTMLFormElement} form @param {string} name */
const following = (form, name) => import(body.dataset.upload || "")
  .then((/** @type {typeof import("./upload.js")} */ module) => module.begin($("[data-list]", form), name)).catch(() => null);

/** What is on its way to the draft of a composer; it ends with whether all of it came.
 * @type {WeakMap<HTMLFormElement, Promise<boolean>>} */
const uploads = new WeakMap();

/** Attaches something to the draft, after what is being attached or saved already: an answer that is sent meanwhile waits
 * for it. @param {HTMLFormElement} form @param {string} to @param {Record<string, string | File>} fields @param {(made: any) => void} then
 * @param {() => void} [lost] it did not come, or not yet */
function attach(form, to, fields, then, lost) {
  const kind = kindOf(form), seen = fields.file instanceof File ? following(form, fields.file.name) : null;
  const one = saving.then(async () => {
    const upload = await seen;
    if (upload?.stopped) { lost?.(); return true; }
    if (kind === kindOf(form)) fill(form);
    const data = pack(form, kind);
    for (const [name, value] of Object.entries(fields)) data.set(name, value);
    let made;
    try {
      made = await answered(await (upload?.send(to, data) ?? fetch(to, { method: "POST", body: data, headers: { Accept: "application/json" } })));
    } catch (error) {
      lost?.();
      if (upload?.stopped) return true;
      say(body.dataset.failed || "");
      offline(() => attach(form, to, fields, then), /** @type {Error} */ (error), fields.file instanceof File ? fields.file.name : "");
      return false;
    } finally {
      upload?.end();
    }
    drafted(form, made.draft, kind);
    if (form.isConnected && kind !== kindOf(form)) sheets.get(form)?.get(kind)?.files.push(...(new DOMParser().parseFromString(made.html, "text/html").body.childNodes));
    else if (form.isConnected) then(made); // else the member has gone on to another conversation
    return true;
  });
  const all = Promise.all([uploads.get(form) ?? true, one]).then((fine) => !fine.includes(false));
  saving = one; // a draft that is saved meanwhile would be a second one
  uploads.set(form, all);
  all.then(() => { if (uploads.get(form) === all) uploads.delete(form); });
}

/** Says which files are too large, and returns the others. @param {HTMLFormElement} form @param {File[]} files */
function fitting(form, files) {
  const max = Number(form.dataset.max) || Infinity, large = files.filter((file) => file.size > max);
  if (large.length) offline(undefined, new Refusal(413), large.map((file) => file.name).join(", "));
  return files.filter((file) => file.size <= max);
}

/** Attaches files. @param {HTMLFormElement} form @param {File[]} all */
function upload(form, all) {
  const files = fitting(form, all);
  const input = $("input[type=file]", form);
  if (!form.dataset.files) { if (files.length && input instanceof HTMLInputElement) choose(form, input, [...input.files || [], ...files]); return; }
  for (const file of files) attach(form, form.dataset.files, { file }, (made) => listed(form, made.html));
}

// Who may write notes only has no draft that could keep files: they go with the note.
/** @param {HTMLFormElement} form @param {HTMLInputElement} input @param {File[]} files */
function choose(form, input, files) {
  const all = new DataTransfer();
  for (const file of files) all.items.add(file.name ? file : new File([file], "image.png", { type: file.type }));
  input.files = all.files;
  chosen(form, input);
}

/** Lists the files that go with a form. @param {HTMLFormElement} form @param {HTMLInputElement} input */
function chosen(form, input) {
  const files = [...input.files || []];
  $("[data-list]", form)?.replaceChildren(...files.map((file) => {
    const item = document.createElement("li"), text = document.createElement("span"), name = document.createElement("b"), drop = document.createElement("button");
    const title = document.createElement("bdi");
    title.textContent = file.name;
    name.append(title);
    text.append(name);
    Object.assign(drop, { type: "button", className: "button quiet", textContent: "×", ariaLabel: `${form.dataset.remove || ""} ${file.name}` });
    drop.addEventListener("click", () => choose(form, input, files.filter((other) => other !== file)));
    item.append(text, drop);
    return item;
  }));
}

/** @param {HTMLFormElement} form @param {string} html */
const listed = (form, html) => $("[data-list]", form)?.insertAdjacentHTML("beforeend", html);

/** @param {HTMLFormElement} form @param {number} id @param {string} [kind] */
function drafted(form, id, kind = kindOf(form)) {
  const draft = form.elements.namedItem("draft"), sheet = sheets.get(form)?.get(kind);
  if (sheet) sheet.draft = id ? String(id) : "";
  else if (draft instanceof HTMLInputElement) { draft.value = id ? String(id) : ""; discardable(form); }
}

/** @type {Promise<unknown>} */
let saving = Promise.resolve();
/** The kinds that the server does not have as they are written. @type {Set<string>} */
const unsaved = new Set();
let stopped = false;
const later = settled(1000, () => saveNow());

/** Something of the draft has changed. */
function changed() {
  const form = /** @type {HTMLFormElement | null} */ ($("form.composer"));
  if (!form) return;
  unsaved.add(kindOf(form)); stopped = false;
  renonce(form); // it is another text
  fill(form);
  remember(form);
  later();
}

/** Saves the drafts; one request at a time, so that none overtakes another. */
function saveNow() {
  const form = /** @type {HTMLFormElement | null} */ ($("form.composer[data-draft]"));
  if (stopped || !form) return;
  for (const kind of unsaved) save(form, kind);
}

/** Saves the draft of a kind. @param {HTMLFormElement} form @param {string} kind */
function save(form, kind) {
  const shown = kind === kindOf(form), note = () => (kind === kindOf(form) ? $(".saved", form) : null);
  const sheet = sheets.get(form)?.get(kind);
  if (!shown && !sheet) { unsaved.delete(kind); return; } // of another conversation: the browser keeps it
  const text = shown ? field() : new DOMParser().parseFromString(sheet?.html || "", "text/html").body;
  const chosen = kind === "forward" && $$(".along input", form).some((e) => e instanceof HTMLInputElement && e.checked !== e.defaultChecked);
  if (!text?.textContent?.trim() && !$("img", text || form) && !chosen) return;
  unsaved.delete(kind);
  if (shown) fill(form);
  const data = pack(form, kind);
  saving = saving.then(async () => {
    data.set("draft", sheets.get(form)?.get(kind)?.draft ?? value(form, "draft"));
    const sent = new URLSearchParams(/** @type {any} */ (data)).toString(); // browsers let no more than 64 KiB outlive the page
    const answer = await fetch(form.dataset.draft || "", {
      method: "POST", body: sent, headers: { Accept: "application/json", "Content-Type": "application/x-www-form-urlencoded" }, keepalive: sent.length < 60000,
    });
    if (answer.status === 409) { sentBefore(form, kind); return; }
    const made = await answered(answer), text = note(), sheet = sheets.get(form)?.get(kind);
    drafted(form, made.draft, kind);
    if (!unsaved.has(kind)) localStorage.removeItem(keep(form, kind));
    if (text) text.textContent = made.saved; else if (sheet) sheet.saved = made.saved;
  }).catch((error) => {
    unsaved.add(kind);
    const text = note(), refused = error instanceof Refusal && !error.passes; // until it is changed
    if (text) text.textContent = refused ? error.message : body.dataset.kept || "";
    if (!refused) setTimeout(later, 5000);
  });
}
addEventListener("pagehide", saveNow);

/** The draft was sent, from another window or without an answer that came here: the conversation shows it. What was
 * changed since becomes another draft. @param {HTMLFormElement} form @param {string} kind */
function sentBefore(form, kind) {
  drafted(form, 0, kind);
  recall(form, kind, sheets.get(form)?.get(kind));
  if (form.isConnected) go(shown, { push: false }).catch(() => {});
}

// ---- Pickers --------------------------------------------------------------------------

// A sign at the beginning of a word opens a list: "/" that of saved replies, "@" in a note that
// of members. What is chosen is put where the sign stands.
/** @type {Range | null} */
let caret = null;

document.addEventListener("toggle", async (event) => {
  const menu = event.target;
  if (!(menu instanceof HTMLDetailsElement) || !menu.dataset.sign) return;
  if (!menu.open) { if (!menu.contains(document.activeElement)) caret = null; return; }
  await members(menu);
  menu.dispatchEvent(new Event("desk:listed", { bubbles: true }));
}, true); // it does not bubble
document.addEventListener("desk:dismiss", (event) => {
  if (event.target instanceof HTMLElement && event.target.dataset.sign) { event.preventDefault(); resume(""); }
});

/** Lists the members whom a note can mention, when they are asked for. @param {HTMLDetailsElement} menu */
async function members(menu) {
  const from = menu.dataset.members, list = $("ul", menu);
  if (!from || !list || list.children.length) return;
  const all = await fetch(from, { headers: { Accept: "application/json" } }).then(answered).catch((error) => { offline(undefined, error); return []; });
  for (const one of all) {
    const item = document.createElement("li"), button = document.createElement("button"), name = document.createElement("bdi"), face = document.createElement("span"), address = document.createElement("small");
    Object.assign(button, { type: "button", value: String(one.id) });
    button.dataset.member = one.name;
    face.className = `avatar hue${one.hue}`;
    face.ariaHidden = "true";
    if (one.picture) face.append(Object.assign(new Image(), { src: one.picture, alt: "" })); else face.textContent = one.initials;
    name.textContent = one.name; address.textContent = one.email;
    button.append(face, name, address);
    item.append(button);
    list.append(item);
  }
}

/** Opens a list, and remembers where to write. @param {string} sign */
function offer(sign) {
  const menu = /** @type {HTMLDetailsElement | null} */ ($(`details[data-sign="${sign}"]`)), selection = getSelection(), form = menu?.closest("form");
  if (!menu || !selection?.rangeCount || menu.dataset.members && form && new FormData(form).get("kind") !== "note") return;
  caret = selection.getRangeAt(0).cloneRange();
  menu.open = true;
  $("input[type=search]", menu)?.focus();
}

/** Goes back to where the sign stands, and selects it to be written over. @param {string} sign "": it stays */
function resume(sign) {
  field()?.focus();
  const selection = getSelection();
  if (caret && selection) {
    const { startContainer: node, startOffset: end } = caret; // behind the sign
    if (sign && node.nodeType === Node.TEXT_NODE && node.textContent?.[end - 1] === sign) caret.setStart(node, end - 1);
    selection.removeAllRanges();
    selection.addRange(caret);
  }
  caret = null;
}

document.addEventListener("input", (event) => {
  const e = /** @type {HTMLElement} */ (event.target), sign = /** @type {InputEvent} */ (event).data;
  if (!e.matches(".editor") || sign !== "/" && sign !== "@") return;
  const at = getSelection(), text = at?.focusNode?.textContent?.slice(0, at.focusOffset) || "";
  if (/(^|[\s(])[/@]$/.test(text)) offer(sign);
});
document.addEventListener("click", async (event) => {
  const button = /** @type {HTMLButtonElement | null} */ (/** @type {Element} */ (event.target).closest("[data-reply], [data-member]")), menu = /** @type {HTMLDetailsElement | null | undefined} */ (button?.closest("details"));
  if (!button || !menu || !$(".editor")) return;
  event.preventDefault();
  let html = "";
  if (button.dataset.member) {
    const link = document.createElement("a");
    link.href = `mailto:member-${button.value}@mention.invalid`;
    link.textContent = `@${button.dataset.member}`;
    html = `${link.outerHTML}\u00a0`;
  } else {
    const made = await fetch(menu.dataset.replies + button.value, { headers: { Accept: "application/json" } }).then(answered).catch((error) => { offline(undefined, error); });
    if (!made || !menu.isConnected) return; // the member has gone on to another conversation
    html = made.html;
    if (made.does) withMacro(button.form, button.value, made.does);
  }
  resume(menu.dataset.sign || "");
  menu.open = false;
  insert(html);
  changed();
  const form = button.form;
  if (button.hasAttribute("data-attach") && form) attach(form, `${menu.dataset.replies}${button.value}/files`, {}, (made) => listed(form, made.html));
});

/** Shows what is done with the text when it is sent; "": nothing. @param {HTMLFormElement | null} form @param {string} id @param {string} does */
function withMacro(form, id, does) {
  const line = /** @type {HTMLElement | null} */ (form && $(".with-macro", form)), input = /** @type {HTMLInputElement | null} */ (line && $("input", line)), said = line && $("bdi", line);
  if (!line || !input || !said) return;
  input.value = id; said.textContent = does; line.hidden = !id;
  try { if (id) localStorage.setItem(keptMacro(form), JSON.stringify({ id, does })); else localStorage.removeItem(keptMacro(form)); } catch { /* it is chosen anew after a reload */ }
}
const keptMacro = (/** @type {HTMLFormElement} */ form) => `desk-macro:${body.dataset.me}:${form.action}`;
/** Shows the macro again that was chosen before the page was reloaded. @param {HTMLFormElement} form */
function recallMacro(form) {
  try {
    const { id, does } = JSON.parse(localStorage.getItem(keptMacro(form)) || "{}");
    if (id && !value(form, "macro")) withMacro(form, id, does);
  } catch { /* not ours */ }
}
document.addEventListener("click", (event) => {
  const button = /** @type {HTMLButtonElement | null} */ (/** @type {Element} */ (event.target).closest("[data-drop-macro]"));
  if (!button) return;
  event.preventDefault();
  withMacro(button.form, "", "");
  field()?.focus();
});

// ---- The bell -------------------------------------------------------------------------

document.addEventListener("click", (event) => {
  const bell = /** @type {HTMLAnchorElement | null} */ (/** @type {Element} */ (event.target).closest("[data-bell]")), panel = $("#bell-panel");
  if (!bell || !panel?.showPopover || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || $("[data-notices]") || matchMedia("(max-width: 700px)").matches) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (panel.matches(":popover-open")) { panel.hidePopover(); return; }
  go(bell.href, { push: false, want: "notices", quiet: true }).then(() => {
    panel.showPopover();
    bell.ariaExpanded = "true";
    $("button, a", panel)?.focus();
  }).catch(() => location.assign(bell.href));
}, true);
$("#bell-panel")?.addEventListener("toggle", (event) => {
  if (/** @type {ToggleEvent} */ (event).newState !== "closed") return;
  const bell = $("#bell");
  bell?.removeAttribute("aria-expanded");
  if (document.activeElement === body) bell?.focus();
});

// ---- What others do -------------------------------------------------------------------

const channel = new BroadcastChannel("desk-events");
channel.addEventListener("message", (event) => hear(event.data));

/** The events that came last, and where in the log they end: what is read before that may lack them.
 * @type {{ type: string, at: string, seq: number }[]} */
const recent = [];
let heard = Number(body.dataset.heard || -1);

/** @param {{ type: string, conversation?: number, subject?: number, at: string, seq?: number }} event */
function hear(event) {
  if (event.seq && event.at === body.dataset.events) {
    heard = Math.max(heard, event.seq);
    recent.push({ ...event, seq: event.seq });
    if (recent.length > 200) recent.shift();
  }
  happened(event);
}

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
  const stream = () => {
    const source = new EventSource(heard < 0 ? at : `${at}?after=${heard}`);
    const pass = (/** @type {any} */ e) => {
      channel.postMessage(e);
      hear(e);
      if (e.type === "notification.created" || e.type === "reset") document.dispatchEvent(new Event("desk:told")); // this tab alone tells
    };
    source.onmessage = (event) => pass({ ...JSON.parse(event.data), at, seq: Number(event.lastEventId) });
    source.addEventListener("reset", () => pass({ type: "reset", at }));
    let lost = false;
    source.onerror = () => { lost = true; };
    source.onopen = () => { if (lost) pass({ type: "reset", at }); lost = false; };
  };
  if (!navigator.locks) { stream(); return; } // a page without TLS has none
  navigator.locks.request(`desk-events:${at}`, () => new Promise(stream)).catch(() => {}); // the lock is kept while the page is open
}

/** @type {Set<number>} */
const fresh = new Set();
const ofTalk = ["head", "acts", "thread", "presence", "panel"];
const counted = settled(400, () => {
  const talk = $(".talk"), want = new Set(["sidebar", "tabs", ...behind]);
  behind.clear();
  if (fresh.size && $("#list") && !$("#list [id^=row-]")) { want.add("list"); fresh.clear(); } // nothing is there that would jump
  if (document.activeElement?.closest("#sidebar") || $("#sidebar details[open]")) { // it waits until the member has left it
    want.delete("sidebar");
    want.add("bell");
    behind.add("sidebar");
  }
  if ($("#bell-panel:popover-open")) want.add("notices");
  refresh([...want].join(" ")).then(() => { const e = $("#thread .message:last-of-type:has(.state.info)"); if (e && talk) e.scrollIntoView({ block: "nearest" }); });
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
  if (event.type === "notification.created") {
    if (talk && event.conversation === id && document.hasFocus()) { readTalk(); return; }
    if ($("[data-notices]")) fresh.add(-1 - fresh.size);
    counted();
    return;
  }
  if (talk && (event.type === "reset" || event.conversation === id)) for (const part of ofTalk) behind.add(part);
  const [area, deed] = event.type.split(".");
  if (talk && area === "conversation") behind.add("acts"); // its place in the list may be another
  if (["conversation", "interaction"].includes(area) && event.conversation && deed !== "draft") {
    const row = document.getElementById(`row-${event.conversation}`);
    if (deed === "closed" && row) row.classList.add("gone");
    else if (!talk && (deed === "created" || deed === "reopened")) fresh.add(event.conversation);
  }
  counted();
}

/** Refreshes a sidebar that is out of date when the member leaves it. @param {any} event */
const leaving = ({ target, relatedTarget }) => { if (behind.has("sidebar") && target.closest?.("#sidebar") && !relatedTarget?.closest?.("#sidebar")) counted(); };
document.addEventListener("focusout", leaving);
document.addEventListener("toggle", leaving, true); // of a menu, which does not bubble

$("#main")?.addEventListener("click", (event) => { if (/** @type {Element} */ (event.target).closest("#fresh")) fresh.clear(); });

// ---- Keys -----------------------------------------------------------------------------

let before = "";
/** Whether something lies over the page that has keys of its own: a menu, a dialog, a panel or a drawer. */
const covered = () => Boolean($("details.menu[open], dialog[open], :popover-open") || drawer());
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

// A long press of a finger on a row selects it, as its box does.
/** @type {{ timer: number, row: Element, x: number, y: number, done?: boolean } | undefined} */
let press;
const hold = () => { if (press && !press.done) { press.done = true; tick(press.row); } };
document.addEventListener("pointerdown", (event) => {
  clearTimeout(press?.timer);
  const target = /** @type {Element} */ (event.target), row = target.closest(".row:has(.tick input)");
  press = row && event.pointerType === "touch" && event.isPrimary && !target.closest(".tick") && $(".tick", row)?.checkVisibility()
    ? { timer: setTimeout(hold, 500), row, x: event.clientX, y: event.clientY } : undefined;
});
document.addEventListener("pointermove", (event) => { if (press && Math.hypot(event.clientX - press.x, event.clientY - press.y) > 10) clearTimeout(press.timer); });
for (const over of ["pointerup", "pointercancel"]) document.addEventListener(over, () => clearTimeout(press?.timer));
document.addEventListener("contextmenu", (event) => { if (press?.row.contains(/** @type {Element} */ (event.target))) { clearTimeout(press.timer); hold(); event.preventDefault(); } });
document.addEventListener("click", (event) => {
  const held = press?.done && press.row.contains(/** @type {Element} */ (event.target));
  press = undefined;
  if (held) { event.preventDefault(); event.stopImmediatePropagation(); }
}, true);

document.addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target), writing = target.isContentEditable || target.matches("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");
  if (event.isComposing || event.defaultPrevented) return;
  const form = /** @type {HTMLFormElement | null} */ (target.closest("form.composer"));
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && form) { event.preventDefault(); form.requestSubmit(/** @type {HTMLElement | null} */ ($("[data-send]", form))); return; }
  if (event.key === "Escape") {
    if ($("#bell-panel:popover-open, dialog[open]")) return; // the browser closes it
    const menu = /** @type {HTMLDetailsElement | undefined} */ ($$("details.menu[open]").pop());
    if (!menu && !writing && drawer()) { shut(); return; }
    if (menu) { menu.open = false; $("summary", menu)?.focus(); } else if (writing) target.blur(); else /** @type {HTMLFormElement | null} */ ($("#bulk"))?.reset();
    return;
  }
  if (writing || covered()) { before = ""; return; }
  if (event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey)) { const undo = $(".toast button"); if (undo) { event.preventDefault(); undo.click(); } return; }
  if (event.repeat && !"jkJK".includes(event.key)) return; // a key that is held closes one conversation
  if (event.ctrlKey || event.metaKey || event.altKey || localStorage.getItem("desk-keys")) return;
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
  if (menu && control.tagName === "SUMMARY") { menu.addEventListener("toggle", () => $(".pop a, .pop button, .pop input:not([type=hidden])", menu)?.focus(), { once: true }); menu.open = true; return; }
  control.click();
  if (control.matches(".kinds label:has([value^=reply])")) field()?.focus(); // it may be chosen already
  if (control.matches(".kinds label") && !document.activeElement?.closest(".editor, .addresses")) field()?.focus();
}

const off = /** @type {HTMLInputElement | null} */ ($("#keys-off"));
if (off) off.checked = localStorage.getItem("desk-keys") === "off";
dress();
arrive();
listen();
