// Articles that may answer, and the proof of work, while the message is written.
(() => {
  const form = document.querySelector("[data-hw-contact]");
  if (!form) return;
  const { hwSuggest, hwSalt, hwBits, hwTitle } = form.dataset, box = form.querySelector("[data-hw-suggested]"), about = form.elements.about, work = form.elements.work;
  const make = (tag, props, ...inside) => { const e = Object.assign(document.createElement(tag), props); e.append(...inside); return e; };
  let last = about.value.trim();
  about.addEventListener("change", async () => {
    const query = about.value.trim();
    if (query === last || query.length < 3) return;
    last = query;
    try {
      const found = await (await fetch(hwSuggest + "?query=" + encodeURIComponent(query))).json();
      const icon = '<svg class="hw-icon" viewBox="0 0 24 24" aria-hidden="true"><path d="M6 2.75h8l4.5 4.5v14H6zM14 2.75v4.5h4.5M9 12.25h6M9 16h4.5"/></svg>';
      box.replaceChildren();
      if (!found.articles.length) return;
      box.append(make("h2", { textContent: hwTitle }), make("ul", {}, ...found.articles.slice(0, 3).map((a) => {
        const link = make("a", { href: a.url, target: "_blank", rel: "noopener", innerHTML: icon });
        link.append(a.title);
        return make("li", {}, link);
      })));
    } catch { /* the server suggests them */ }
  });
  const files = form.elements.files, note = form.querySelector("[data-hw-files]");
  if (files) files.addEventListener("change", () => { if (files.files.length) note.textContent = [...files.files].map((f) => f.name).join(", "); });

  // A number that makes the hash of salt and number begin with so many zero bits.
  let proof;
  const prove = () => proof ||= (async () => {
    if (!crypto.subtle || !hwSalt) return "";
    const text = new TextEncoder();
    for (let n = 0; ; n++) {
      const hash = new DataView(await crypto.subtle.digest("SHA-256", text.encode(hwSalt + ":" + n)));
      if (hash.getUint32(0) >>> (32 - hwBits) === 0) return String(n);
    }
  })();
  form.addEventListener("input", prove, { once: true });
  // Times are in the reader's zone.
  const moments = () => form.querySelectorAll("[data-hw-moment]").forEach((field) => {
    const name = field.name + "_at", at = form.elements[name] || form.appendChild(make("input", { type: "hidden", name }));
    at.value = field.value && new Date(field.value).toISOString();
  });
  form.addEventListener("submit", async (e) => {
    moments();
    if (work.value || !crypto.subtle) return;
    e.preventDefault();
    const button = form.querySelector("button");
    button.disabled = true;
    work.value = (await prove()) || "0";
    if (!form.elements.asked) form.append(make("input", { type: "hidden", name: "asked", value: "1" }));
    form.submit();
  });
})();
