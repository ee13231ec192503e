// @ts-check
// Menus by keyboard: a list of choices with a filter is narrowed while the member types, and every menu is walked with the
// arrow keys. Without it, the choices are those of a plain form.

/** @type {<T extends Element = HTMLElement>(s: string, e?: ParentNode) => T | null} */
const $ = (s, e = document) => e.querySelector(s);
/** @type {<T extends Element = HTMLElement>(s: string, e?: ParentNode) => T[]} */
const $$ = (s, e = document) => /** @type {any[]} */ ([...e.querySelectorAll(s)]);

const letters = /** @type {Record<string, string>} */ ({ ß: "ss", æ: "ae", œ: "oe", ø: "o", ł: "l", đ: "d", ð: "d", þ: "th", ı: "i" });
/** A text without its case and accents. */
const fold = (/** @type {string} */ text) => text.toLowerCase().normalize("NFKD").replace(/[\u0300-\u036f]/g, "").replace(/[ßæœøłđðþı]/g, (c) => letters[c]).trim();

let count = 0; // of lists, for their ids
const filterOf = (/** @type {ParentNode} */ menu) => /** @type {HTMLInputElement | null} */ ($(".filter input", menu));
const listOf = (/** @type {ParentNode} */ menu) => $(".choices", menu) || $("ul", menu);
const optionsOf = (/** @type {ParentNode} */ menu) => { const list = listOf(menu); return list ? $$("li > :is(a, button, label)", list) : []; };
const boxOf = (/** @type {Element} */ option) => /** @type {HTMLInputElement | null} */ ($("input[type=checkbox]", option));
/** Whether several can be chosen. */
const several = (/** @type {ParentNode} */ menu) => Boolean($(".ticks", menu));
const shownOf = (/** @type {ParentNode} */ menu) => optionsOf(menu).filter((e) => !e.closest("li")?.hidden);
const activeOf = (/** @type {ParentNode} */ menu) => $(".choice-here", menu) || undefined;

/** Makes a combobox of a filter and its choices. @param {HTMLDetailsElement} menu */
function prepare(menu) {
  const input = filterOf(menu), list = listOf(menu);
  if (!input || !list) return;
  menu.classList.add("picker");
  list.id ||= `choices-${++count}`;
  const label = input.closest("label");
  if (label) label.hidden = false;
  for (const e of $$("[data-plain-choice]", menu)) e.hidden = true; // the filter creates it
  Object.assign(input, { role: "combobox", ariaAutoComplete: "list" });
  input.setAttribute("aria-controls", list.id);
  describe(menu);
}

/** Gives the choices their roles. @param {HTMLElement} menu */
function describe(menu) {
  const input = filterOf(menu), list = listOf(menu), options = optionsOf(menu);
  if (!input || !list) return;
  if (options.length || menu.dataset.create) Object.assign(list, { role: "listbox", ariaLabel: input.placeholder, ariaMultiSelectable: several(menu) ? "true" : null });
  for (const group of $$("ul", list)) group.role = "presentation";
  for (const e of $$("li, .heading", list)) e.role = "presentation";
  options.forEach((e, i) => {
    const box = boxOf(e);
    e.id ||= `${list.id}-${i}`;
    e.role = "option";
    if (box) { box.hidden = true; e.ariaSelected = String(box.checked); } else e.tabIndex = -1;
  });
  narrow(menu);
}

/** Shows what has all words of the filter. @param {HTMLElement} menu */
function narrow(menu) {
  const input = filterOf(menu), list = listOf(menu), none = $(".none", menu);
  if (!input || !list) return;
  const words = fold(input.value).split(/\s+/).filter(Boolean);
  for (const e of optionsOf(menu)) {
    const item = e.closest("li"), text = fold(e.textContent);
    if (item) item.hidden = "made" in e.dataset ? false : !words.every((word) => text.includes(word));
  }
  for (const e of $$(".heading", list)) e.hidden = !$$("li", /** @type {ParentNode} */ (e.nextElementSibling)).some((item) => !item.hidden);
  propose(menu, input.value.trim());
  const found = shownOf(menu);
  if (none) none.hidden = found.length > 0 || !optionsOf(menu).length && !words.length;
  input.ariaExpanded = String(found.length > 0);
  point(menu, words.length || !several(menu) ? found.find((e) => fold(e.textContent).startsWith(words[0] || "")) || found[0] : undefined);
}

/** Offers to create what the filter says, if nothing has this name. @param {HTMLElement} menu @param {string} name */
function propose(menu, name) {
  $("[data-proposal]", menu)?.closest("li")?.remove();
  const to = $("ul.ticks", menu);
  if (!menu.dataset.create || !to || !name || optionsOf(menu).some((e) => fold(e.textContent) === fold(name))) return;
  const item = document.createElement("li"), button = document.createElement("button");
  Object.assign(item, { role: "presentation" });
  Object.assign(button, { type: "button", role: "option", ariaSelected: "false", tabIndex: -1, id: `${listOf(menu)?.id}-new`, textContent: (menu.dataset.creates || "#").replace("#", () => name) });
  button.dataset.proposal = name;
  button.className = "proposal";
  item.append(button);
  to.append(item);
}

/** Adds the proposed choice to the list, chosen; the server creates it with the form. @param {HTMLElement} menu @param {string} name */
function adopt(menu, name) {
  const item = document.createElement("li"), label = document.createElement("label"), box = document.createElement("input"), text = document.createElement("bdi"), tag = document.createElement("span");
  Object.assign(box, { type: "checkbox", name: menu.dataset.create, value: name, checked: true });
  const form = $("[data-plain-choice] input", menu)?.getAttribute("form");
  if (form) box.setAttribute("form", form);
  label.dataset.made = "";
  label.id = `${listOf(menu)?.id}-made-${++count}`;
  tag.className = "tag";
  text.textContent = name;
  tag.append(text);
  label.append(box, tag);
  item.append(label);
  $("[data-proposal]", menu)?.closest("li")?.replaceWith(item);
  const input = filterOf(menu);
  if (input) { input.value = ""; input.focus(); }
  describe(menu);
}

/** Marks the choice that Enter takes. @param {HTMLElement} menu @param {HTMLElement | undefined} to */
function point(menu, to) {
  for (const e of optionsOf(menu)) {
    e.classList.toggle("choice-here", e === to);
    if (!boxOf(e)) e.ariaSelected = String(e === to);
  }
  filterOf(menu)?.setAttribute("aria-activedescendant", to?.id || "");
  to?.scrollIntoView({ block: "nearest" });
}

/** Closes a menu without what was chosen in it. @param {HTMLDetailsElement} menu */
function dismiss(menu) {
  for (const e of optionsOf(menu)) {
    const box = boxOf(e);
    if ("made" in e.dataset) e.closest("li")?.remove();
    else if (box) { box.checked = box.defaultChecked; e.ariaSelected = String(box.checked); }
  }
  menu.open = false;
  if (menu.dispatchEvent(new Event("desk:dismiss", { bubbles: true, cancelable: true }))) $("summary", menu)?.focus();
}

/** A key in the filter. @param {HTMLDetailsElement} menu @param {KeyboardEvent} event */
function pick(menu, event) {
  const found = shownOf(menu), active = activeOf(menu), now = active ? found.indexOf(active) : -1, step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) { if (found.length) point(menu, found[now < 0 && step < 0 ? found.length - 1 : (now + step + found.length) % found.length]); }
  else if (event.key === "Enter" && active) {
    const box = boxOf(active), input = filterOf(menu);
    active.click();
    if (box && input) { input.value = ""; narrow(menu); input.focus(); } // a click on a label focuses its box
  } else if (event.key === "Enter") { if (several(menu)) $(".pop .button.primary", menu)?.click(); }
  else return;
  event.preventDefault();
  event.stopPropagation();
}

/** A key in a menu that has no filter. @param {HTMLDetailsElement} menu @param {KeyboardEvent} event */
function walk(menu, event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (target.matches("input:not([type=checkbox], [type=radio]), textarea, select")) return;
  const all = $$(".pop :is(a[href], button, summary, input:not([type=hidden]), select)", menu).filter((e) => e.checkVisibility()), now = all.indexOf(target);
  const letter = event.key.length === 1 && event.key.trim() ? fold(event.key) : "";
  const to = event.key === "ArrowDown" ? all[(now + 1) % all.length] : event.key === "ArrowUp" ? all[(now < 1 ? all.length : now) - 1] : event.key === "Home" ? all[0] : event.key === "End" ? all.at(-1)
    : letter ? [...all.slice(now + 1), ...all.slice(0, now + 1)].find((e) => fold(e.textContent).startsWith(letter)) : undefined;
  if (!to) return;
  event.preventDefault();
  to.focus();
}

/** The open menu around an element. */
const around = (/** @type {EventTarget | null} */ e) => /** @type {HTMLDetailsElement | null} */ (e instanceof Element ? e.closest("details.menu[open]") : null);

document.addEventListener("keydown", (event) => {
  const menu = around(event.target);
  if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (!menu) {
    const shut = event.key === "ArrowDown" && event.target instanceof Element && /** @type {HTMLDetailsElement | null} */ (event.target.closest("details.menu > summary")?.parentElement);
    if (shut) { event.preventDefault(); shut.open = true; }
    return;
  }
  if (event.key === "Escape") { event.preventDefault(); event.stopPropagation(); dismiss(menu); }
  else if (event.target === filterOf(menu)) pick(menu, event);
  else if (!filterOf(menu)) walk(menu, event);
  else if (event.key === "ArrowDown" && event.target === $("summary", menu)) { event.preventDefault(); filterOf(menu)?.focus(); }
}, true);
// Enter in a filter chooses, and never submits the form around it.
document.addEventListener("keypress", (event) => {
  const menu = around(event.target);
  if (menu && event.key === "Enter" && event.target === filterOf(menu)) event.preventDefault();
}, true);
document.addEventListener("input", (event) => {
  const menu = around(event.target);
  if (menu && event.target === filterOf(menu)) narrow(menu);
});
document.addEventListener("change", (event) => {
  const option = event.target instanceof Element && event.target.closest("[role=option]"), box = option && boxOf(option);
  if (option && box) option.ariaSelected = String(box.checked);
});
document.addEventListener("click", (event) => {
  const made = event.target instanceof Element ? /** @type {HTMLElement | null} */ (event.target.closest("[data-proposal]")) : null, menu = around(made);
  if (made && menu) { event.stopPropagation(); adopt(menu, made.dataset.proposal || ""); }
}, true);
// The filter keeps the focus while choices are clicked on.
document.addEventListener("mousedown", (event) => { if (event.target instanceof Element && event.target.closest(".picker [role=option]")) event.preventDefault(); });
document.addEventListener("focusout", (event) => {
  const menu = around(event.target), to = event.relatedTarget;
  if (menu && to instanceof Element && !menu.contains(to) && !to.closest("dialog")) menu.open = false;
});
document.addEventListener("toggle", (event) => {
  const menu = event.target, input = menu instanceof HTMLDetailsElement && menu.matches(".picker") ? filterOf(menu) : null;
  if (!(menu instanceof HTMLDetailsElement) || !input) return;
  input.value = "";
  narrow(menu);
  if (menu.open && (matchMedia("(hover: hover)").matches || menu.dataset.sign)) input.focus({ preventScroll: true }); // a keyboard on the screen would cover the choices
}, true);
document.addEventListener("desk:listed", (event) => { if (event.target instanceof HTMLElement) describe(event.target); });

function dress() { for (const e of $$("details.menu:not(.picker):has(.filter)")) prepare(/** @type {HTMLDetailsElement} */ (e)); }
document.addEventListener("desk:dress", dress);
dress();

export {};

// ---- Placeholders ---------------------------------------------------------------------

/** Where the member last wrote in an editor. @type {Range | null} */
let wrote = null;
const remember = () => {
  const selection = getSelection(), at = selection?.anchorNode, of = at instanceof Element ? at : at?.parentElement;
  if (selection?.rangeCount && of?.closest(".editor")) wrote = selection.getRangeAt(0).cloneRange();
};
document.addEventListener("selectionchange", remember);
document.addEventListener("pointerdown", remember, true); // the event above comes late, when the press has moved the selection
document.addEventListener("click", (event) => {
  const button = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[data-place]")), menu = button?.closest("details");
  const form = menu?.closest("form"), name = menu?.dataset.into || "";
  const editor = form && name === "body" ? $(".editor", form) : null, field = form?.elements.namedItem(name);
  if (!button || !menu) return;
  menu.open = false;
  if (editor) {
    const selection = getSelection();
    editor.focus();
    if (wrote && editor.contains(wrote.commonAncestorContainer)) { selection?.removeAllRanges(); selection?.addRange(wrote); }
    else { selection?.selectAllChildren(editor); selection?.collapseToEnd(); }
  } else if (field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement) field.focus();
  else return;
  document.execCommand("insertText", false, button.dataset.place);
});
