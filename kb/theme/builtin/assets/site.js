// Shortens the way; everything works without it.
(() => {
  const $ = (s, e = document) => e.querySelector(s), $$ = (s, e = document) => [...e.querySelectorAll(s)];
  const make = (tag, props, ...inside) => { const e = Object.assign(document.createElement(tag), props); e.append(...inside); return e; };

  // Search as you type: a combobox (WAI-ARIA) that floats below the field.
  $$("form[data-hw-suggest][role=search]").forEach((form, n) => {
    const input = $("input[type=search]", form), id = "hw-options-" + n, keys = (form.dataset.hwKeys || "").split("|");
    const live = make("p", { className: "hw-hidden", role: "status" });
    let panel, options = [], at = -1, timer, asked;
    form.append(live);
    const set = (o) => { for (const k in o) input.setAttribute(k, o[k]); };
    set({ role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": id });
    const close = () => { panel && panel.remove(); panel = null; options = []; at = -1; set({ "aria-expanded": "false" }); input.removeAttribute("aria-activedescendant"); };
    const pick = (i) => {
      at = i;
      options.forEach((o, k) => o.setAttribute("aria-selected", k === i));
      if (i < 0) input.removeAttribute("aria-activedescendant"); else { set({ "aria-activedescendant": options[i].id }); options[i].scrollIntoView({ block: "nearest" }); }
    };
    const show = (found) => {
      close();
      live.textContent = found.status;
      if (!found.articles.length) return;
      const list = make("ul", { id, role: "listbox", ariaLabel: input.ariaLabel });
      options = found.articles.map((a, i) => {
        const o = make("li", { id: id + "-" + i, role: "option" }, make("span", { textContent: a.title }), make("span", { className: "hw-note", textContent: a.section }));
        o.dataset.url = a.url;
        o.onmousemove = () => at === i || pick(i);
        o.onmousedown = (e) => e.preventDefault();
        o.onclick = () => { location.href = a.url; };
        return o;
      });
      list.append(...options);
      const foot = make("div", { className: "hw-options-foot" }, make("a", { href: found.url, textContent: found.all }));
      foot.onmousedown = (e) => e.preventDefault();
      if (keys[2]) {
        const key = (...k) => k.map((x) => make("kbd", { textContent: x }));
        const help = make("div", { className: "hw-keys", ariaHidden: "true" }, make("span", {}, keys[0], ...key("↑", "↓")), make("span", {}, keys[1], ...key("Enter")), make("span", {}, keys[2], ...key("Esc")));
        foot.append(help);
      }
      form.append(panel = make("div", { className: "hw-options" }, list, foot));
      set({ "aria-expanded": "true" });
      pick(-1);
    };
    const ask = async () => {
      const query = input.value.trim();
      asked && asked.abort();
      if ([...query].length < 2) return close();
      asked = new AbortController();
      try {
        const answer = await fetch(form.dataset.hwSuggest + "?query=" + encodeURIComponent(query), { signal: asked.signal });
        if (answer.ok && document.activeElement === input) show(await answer.json());
      } catch { /* Enter still searches */ }
    };
    input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, 150); });
    input.addEventListener("focus", () => input.value && !panel && input.value !== input.defaultValue && ask());
    input.addEventListener("blur", () => setTimeout(() => form.contains(document.activeElement) || close(), 100));
    input.addEventListener("keydown", (e) => {
      if (e.key === "Escape" && panel) { e.preventDefault(); return close(); }
      if (!options.length || e.isComposing) return;
      if (e.key === "ArrowDown") { e.preventDefault(); pick(at + 1 < options.length ? at + 1 : -1); }
      else if (e.key === "ArrowUp") { e.preventDefault(); pick(at < 0 ? options.length - 1 : at - 1); }
      else if (e.key === "Enter" && at >= 0) { e.preventDefault(); location.href = options[at].dataset.url; }
    });
  });

  // Menus close when something else is wanted.
  const menus = $$(".hw-languages, .hw-menu");
  document.addEventListener("click", (e) => menus.forEach((m) => m.contains(e.target) || (m.open = false)));
  document.addEventListener("keydown", (e) => e.key === "Escape" && menus.forEach((m) => m.open && ((m.open = false), $("summary", m).focus())));

  const aside = $(".hw-aside");
  if (!aside) return;
  if (aside.dataset.hwView) fetch(aside.dataset.hwView, { method: "POST", keepalive: true }).catch(() => {});
  const print = $("[data-hw-print]");
  if (print) { print.parentElement.hidden = false; print.onclick = () => window.print(); }

  // Copy buttons.
  const [copy, copied] = aside.dataset.hwCopy.split("|");
  if (navigator.clipboard) $$(".hw-content pre").forEach((pre) => {
    const button = make("button", { type: "button", textContent: copy });
    button.onclick = async () => { await navigator.clipboard.writeText(pre.innerText); button.textContent = copied; setTimeout(() => (button.textContent = copy), 2000); };
    let box = pre.parentElement;
    if (!box.classList.contains("hw-code")) { box = make("div", { className: "hw-code" }); pre.replaceWith(box); box.append(pre); }
    box.append(make("div", { className: "hw-code-tools" }, button));
  });

  const links = $$(".hw-contents a"), heads = links.map((a) => document.getElementById(decodeURIComponent(a.hash.slice(1))));
  let now, waiting;
  const mark = () => {
    waiting = false;
    let i = heads.findLastIndex((h) => h && h.getBoundingClientRect().top < innerHeight * .3);
    if (innerHeight + scrollY >= document.documentElement.scrollHeight - 2 && scrollY > 0) i = heads.length - 1;
    if (i < 0) i = 0;
    if (links[i] === now) return;
    now && now.removeAttribute("aria-current");
    (now = links[i]) && now.setAttribute("aria-current", "true");
  };
  if (links.length) { mark(); addEventListener("scroll", () => { if (!waiting) { waiting = true; requestAnimationFrame(mark); } }, { passive: true }); }

  // Was it helpful? Without leaving the page.
  document.addEventListener("submit", async (e) => {
    const form = e.target.closest("[data-hw-react]");
    if (!form || form.dataset.sent) return;
    e.preventDefault();
    const body = new URLSearchParams(new FormData(form, e.submitter));
    try {
      const answer = await fetch(form.action, { method: "POST", body, headers: { Accept: "text/html" } });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html"), next = $("[data-hw-react]", page);
      if (!next) throw 0;
      form.replaceWith(next);
      const field = $("textarea", next);
      if (field) field.focus();
    } catch { form.dataset.sent = 1; e.submitter && form.append(make("input", { type: "hidden", name: e.submitter.name, value: e.submitter.value })); form.submit(); }
  });
})();
