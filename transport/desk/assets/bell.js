// @ts-check
// Has the browser tell what the member is told, while the desk is open in a tab. One tab does,
// the one that listens for all; nothing is told of a conversation that the member looks at.

/** @type {<T extends Element = HTMLElement>(s: string, e?: ParentNode) => T | null} */
const $ = (s, e = document) => e.querySelector(s);
/** @typedef {{ id: number, title: string, text: string, open: string, about: string }} Told */

const supported = "Notification" in window;

// ---- What the member looks at ---------------------------------------------------------

// A tab with the focus holds a lock in the name of its conversation. The browser gives it back
// when the tab is closed, however that happens.
let looking = "", release = () => {};
const lockOf = (/** @type {string} */ path) => `desk-looks:${path}`;

function look() {
  if (!navigator.locks) return; // a page without TLS has none, and may not tell anything either
  const self = document.hasFocus() && !document.hidden && $(".talk")?.dataset.self;
  const now = self ? lockOf(new URL(self, location.href).pathname) : "";
  if (now === looking) return;
  release();
  looking = now;
  release = () => {};
  if (!now) return;
  navigator.locks.request(now, { mode: "shared" }, () => (looking === now ? new Promise((done) => { release = () => done(undefined); }) : undefined)).catch(() => {});
}
for (const type of ["focus", "blur", "pageshow"]) addEventListener(type, look);
for (const type of ["visibilitychange", "desk:dress"]) document.addEventListener(type, look);

// ---- Telling --------------------------------------------------------------------------

/** Asks for what is new, and tells it. It reports whether to ask again. */
async function ask() {
  const from = $("#bell")?.dataset.browser;
  if (!from || !supported || Notification.permission !== "granted") return false;
  const key = `desk-told:${from}`;
  const answer = await fetch(`${from}?after=${Number(localStorage.getItem(key)) || 0}`).catch(() => null);
  if (!answer?.ok) return !answer || answer.status >= 500 || answer.status === 429;
  const list = /** @type {Told[]} */ (await answer.json());
  if (!list.length) return false;
  localStorage.setItem(key, String(Math.max(...list.map((n) => n.id))));
  const held = new Set((await navigator.locks.query()).held?.map((lock) => lock.name));
  for (const n of list.reverse()) if (!held.has(lockOf(n.about))) show(n).catch(() => {});
  return false;
}

// One request at a time, as two would tell the same. One that fails is repeated, as no later event need come.
let telling = false, wanted = false;
async function tell() {
  wanted = true;
  if (telling) return;
  telling = true;
  try {
    for (let failed = 0; wanted;) {
      wanted = false;
      if (!await ask() || ++failed > 5) continue;
      await new Promise((done) => setTimeout(done, 500 * 2 ** failed));
      wanted = true;
    }
  } finally { telling = false; }
}

/** @param {Told} n */
async function show(n) {
  const here = $("[data-push-here]")?.dataset.pushHere;
  if (here && localStorage.getItem(`desk-push:${document.body.dataset.me}:${here}`)) { // the service worker tells the same, with the same tag
    const worker = await navigator.serviceWorker.ready;
    await worker.showNotification(n.title, { body: n.text, tag: `desk:${n.about || n.id}`, data: { open: n.open } });
    return;
  }
  try {
    const shown = new Notification(n.title, { body: n.text, tag: `desk:${n.about || n.id}`, lang: document.documentElement.lang, icon: $("link[rel=icon]")?.getAttribute("href") || undefined });
    shown.onclick = () => {
      window.focus();
      shown.close();
      const form = document.createElement("form");
      Object.assign(form, { method: "post", action: n.open, hidden: true });
      document.body.append(form);
      form.requestSubmit();
      form.remove();
    };
  } catch { /* browsers of phones refuse pages to */ }
}
document.addEventListener("desk:told", () => { tell().catch(() => {}); });

// ---- The permission -------------------------------------------------------------------

/** Says on the page of the settings what the browser allows. */
function permission() {
  const box = $("[data-permission]");
  if (!box) return;
  const now = supported ? Notification.permission : "missing";
  for (const e of box.children) if (e instanceof HTMLElement && e.dataset.when) e.hidden = e.dataset.when !== now;
}
document.addEventListener("click", async (event) => {
  if (!/** @type {Element} */ (event.target).closest("[data-ask]")) return;
  await Notification.requestPermission();
  permission();
  const said = $("[data-permission] > :not([hidden])"), result = $("[data-result]");
  if (said && result) result.textContent = said.textContent;
});
document.addEventListener("desk:dress", permission);

look();
permission();
export {};
