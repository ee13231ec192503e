// @ts-check
// Shows the page of a command in a dialog over the page that it is for. Without it, the command is a page of its own.

/** @type {<T extends Element = HTMLElement>(s: string, e?: ParentNode) => T | null} */
const $ = (s, e = document) => e.querySelector(s);
/** @type {<T extends Element = HTMLElement>(s: string, e?: ParentNode) => T[]} */
const $$ = (s, e = document) => /** @type {any[]} */ ([...e.querySelectorAll(s)]);

let asked = 0; // pages that were asked for: only the last one is shown
const opened = () => /** @type {HTMLDialogElement | null} */ ($("dialog.command-dialog"));

/** What the page of a command shows. @param {string} url @returns {Promise<HTMLElement | null>} null: it is no such page, or no longer wanted */
async function load(url) {
  const turn = ++asked, answer = await fetch(url, { headers: { "Desk-Target": "main" } });
  if (!answer.ok) throw new Error(String(answer.status));
  const page = new DOMParser().parseFromString(await answer.text(), "text/html"), main = /** @type {HTMLTemplateElement | null} */ (/** @type {unknown} */ ($('template[data-swap="main"]', page)));
  return turn === asked && main ? /** @type {HTMLElement | null} */ (document.importNode(main.content, true).querySelector(".page.command")) : null;
}

/** Shows a command's page. @param {string} url */
async function show(url) {
  const content = await load(url).catch(() => { location.assign(url); return null; });
  if (!content) return;
  let dialog = opened();
  if (!dialog) {
    dialog = document.createElement("dialog");
    dialog.className = "command-dialog";
    document.body.append(dialog);
    const own = dialog;
    dialog.addEventListener("close", () => { asked++; own.remove(); $("#acts .commands summary")?.focus(); });
    dialog.addEventListener("click", (event) => { if (event.target === own) own.close(); }); // beside it
  }
  dialog.replaceChildren(content);
  const title = $("h1", content);
  if (title) { title.id = "command-title"; dialog.setAttribute("aria-labelledby", title.id); }
  for (const menu of $$("details.menu[open]")) /** @type {HTMLDetailsElement} */ (menu).open = false;
  if (!dialog.open) dialog.showModal();
  const first = /** @type {HTMLInputElement | null} */ ($("[autofocus], input:checked", content) || $(".acts .button:not(.danger)", content));
  first?.focus();
  if (first?.type === "text") first.select();
}

/** The address of a search form with what is in it. @param {HTMLFormElement} form */
const addressOf = (form) => { const url = new URL(form.action); url.search = new URLSearchParams(/** @type {any} */ (new FormData(form))).toString(); return url.href; };

document.addEventListener("click", (event) => {
  const link = event.target instanceof Element ? /** @type {HTMLAnchorElement | null} */ (event.target.closest("a[data-dialog], dialog.command-dialog a[data-cancel]")) : null;
  if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  event.stopPropagation();
  if ("cancel" in link.dataset) opened()?.close(); else show(link.href);
}, true);
document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (!form.closest("dialog.command-dialog") || !("dialog" in form.dataset)) return;
  event.preventDefault();
  event.stopPropagation();
  find(form);
}, true);
document.addEventListener("desk:sent", (event) => { if (event.target instanceof Element && event.target.closest("dialog.command-dialog")) opened()?.close(); }, true);

/** Searches while the words are written. @param {HTMLFormElement} form */
async function find(form) {
  const content = await load(addressOf(form)).catch(() => null), found = content && $(".found", content), old = $(".found", opened() || document);
  if (found && old) old.replaceWith(found);
}
let timer = 0;
document.addEventListener("input", (event) => {
  const form = event.target instanceof HTMLInputElement && event.target.closest("dialog.command-dialog") ? event.target.form : null;
  if (!form || !("dialog" in form.dataset)) return;
  clearTimeout(timer);
  timer = window.setTimeout(() => find(form), 200);
});

export {};
