// @ts-check
// Chooses recipients: whom a reply goes to, and whom the fields suggest while one types.

/** @type {<T extends Element = HTMLElement>(s: string, e?: ParentNode) => T | null} */
const $ = (s, e = document) => e.querySelector(s);
/** @type {<T extends Element = HTMLElement>(s: string, e?: ParentNode) => T[]} */
const $$ = (s, e = document) => /** @type {any[]} */ ([...e.querySelectorAll(s)]);
/** @typedef {{ name: string, email: string, initials: string, hue: number }} Person */

/** The recipients in a field. Quoted names may have commas. @param {string} text @returns {string[]} */
const split = (text) => (text.match(/(?:"[^"]*"|[^,;"])+/g) || []).map((one) => one.trim()).filter(Boolean);
/** The address of a recipient. @param {string} one */
const bare = (one) => (one.match(/<([^<>]*)>\s*$/)?.[1] || one).trim().toLowerCase();
const inputOf = (/** @type {HTMLFormElement} */ form, /** @type {string} */ name) => { const e = form.elements.namedItem(name); return e instanceof HTMLInputElement ? e : null; };
/** @param {HTMLInputElement} input @param {string} text */
function write(input, text) {
  input.value = text;
  input.dispatchEvent(new Event("input", { bubbles: true })); // the draft is saved
}

// ---- Reply and reply all --------------------------------------------------------------

/** Copies everybody on the last mail, or nobody of them. Whom the member has added stays. @param {HTMLFormElement} form @param {string} kind */
function address(form, kind) {
  const cc = inputOf(form, "cc"), answers = inputOf(form, "answers"), everybody = split(inputOf(form, "everybody")?.value || "");
  if (!cc || !answers || !everybody.length) return;
  answers.value = kind;
  const now = split(cc.value), known = ["to", "cc", "bcc"].flatMap((name) => split(inputOf(form, name)?.value || "")).map(bare);
  const next = kind === "reply-all" ? [...now, ...everybody.filter((one) => !known.includes(bare(one)))]
    : now.filter((one) => !everybody.some((other) => bare(other) === bare(one)));
  if (next.length !== now.length) write(cc, next.join(", "));
  const copies = cc.closest("details");
  if (copies) copies.open = next.length > 0 || Boolean(inputOf(form, "bcc")?.value);
}

document.addEventListener("change", (event) => {
  const input = event.target;
  if (input instanceof HTMLInputElement && input.form && input.name === "kind" && input.value.startsWith("reply")) address(input.form, input.value);
});

// ---- Suggestions ----------------------------------------------------------------------

let lists = 0;

/** Makes a combobox of a field. @param {HTMLInputElement} input @param {HTMLElement} block */
function suggest(input, block) {
  input.dataset.suggests = "1";
  const list = document.createElement("ul");
  Object.assign(list, { id: `recipients-${++lists}`, className: "suggestions", role: "listbox", hidden: true, ariaLabel: block.dataset.people || "" });
  Object.assign(input, { role: "combobox", ariaAutoComplete: "list", ariaExpanded: "false", ariaHasPopup: "listbox" });
  input.setAttribute("aria-controls", list.id);
  input.parentElement?.append(list);
  let timer = 0, asked = 0;

  const options = () => $$("[role=option]", list);
  const close = () => { asked++; clearTimeout(timer); list.hidden = true; input.ariaExpanded = "false"; input.removeAttribute("aria-activedescendant"); };
  const point = (/** @type {HTMLElement | undefined} */ to) => {
    for (const e of options()) e.ariaSelected = String(e === to);
    if (to) input.setAttribute("aria-activedescendant", to.id); else input.removeAttribute("aria-activedescendant");
    to?.scrollIntoView({ block: "nearest" });
  };
  /** Where the recipient begins in whose text the cursor stands, and where it ends. @returns {[number, number]} */
  const place = () => {
    const at = input.selectionStart ?? input.value.length;
    let quoted = false, from = 0, to = input.value.length;
    for (let i = 0; i < input.value.length; i++) {
      if (input.value[i] === '"') quoted = !quoted;
      if (quoted || !",;".includes(input.value[i])) continue;
      if (i < at) from = i + 1; else { to = i; break; }
    }
    return [from, to];
  };
  const take = (/** @type {HTMLElement} */ option) => {
    const [from, to] = place(), before = input.value.slice(0, from).trimEnd(), after = input.value.slice(to).replace(/^[,;\s]+/, "");
    const head = `${before && `${before} `}${option.dataset.email}, `;
    write(input, head + after);
    input.focus();
    input.setSelectionRange(head.length, head.length);
    close();
  };
  /** @param {Person[]} people */
  const show = (people) => {
    const there = ["to", "cc", "bcc"].flatMap((name) => split((input.form && inputOf(input.form, name)?.value) || "")).map(bare);
    const fresh = people.filter((one) => !there.includes(one.email.toLowerCase()));
    list.replaceChildren(...fresh.map((one, n) => {
      const item = document.createElement("li"), face = document.createElement("span"), words = document.createElement("span"), name = document.createElement("bdi"), mail = document.createElement("small");
      Object.assign(item, { id: `${list.id}-${n}`, role: "option", ariaSelected: "false" });
      item.dataset.email = one.email;
      Object.assign(face, { className: `avatar hue${one.hue}`, ariaHidden: "true", textContent: one.initials });
      name.textContent = one.name; mail.textContent = one.email; mail.dir = "ltr";
      words.append(name, ...one.name === one.email ? [] : [mail]);
      item.append(face, words);
      item.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
      item.addEventListener("click", (event) => { event.preventDefault(); take(item); });
      return item;
    }));
    if (!fresh.length || document.activeElement !== input) { close(); return; }
    list.hidden = false;
    input.ariaExpanded = "true";
    point(options()[0]);
    const said = $("#said");
    if (said) said.textContent = (block.dataset.found || "").replace("#", String(fresh.length));
  };
  const ask = async () => {
    const [from, to] = place(), words = input.value.slice(from, to).trim(), mine = ++asked;
    if (words.length < 2 || words.includes("<")) { close(); return; }
    const people = await fetch(`${block.dataset.recipients}?q=${encodeURIComponent(words)}`, { headers: { Accept: "application/json" } })
      .then((answer) => (answer.ok ? answer.json() : [])).catch(() => []); // who is offline types the address
    if (mine === asked) show(people);
  };
  input.addEventListener("input", (event) => {
    if (!event.isTrusted) return;
    clearTimeout(timer);
    timer = setTimeout(ask, 150);
  });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (list.hidden) return;
    const all = options(), now = all.findIndex((e) => e.ariaSelected === "true");
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) point(all[(now + step + all.length) % all.length]);
    else if ((event.key === "Enter" || event.key === "Tab" && !event.shiftKey) && !event.ctrlKey && !event.metaKey && all[now]) take(all[now]);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  if (document.activeElement === input && input.value !== input.defaultValue) ask(); // typed before this script arrived
}

function dress() {
  for (const block of $$("[data-recipients]")) {
    if (!block.dataset.recipients) continue;
    for (const name of ["to", "cc", "bcc"]) {
      const input = /** @type {HTMLInputElement | null} */ ($(`input[name=${name}]:not([data-suggests])`, block));
      if (input) suggest(input, block);
    }
  }
}
document.addEventListener("desk:dress", dress);
dress();

export {};
