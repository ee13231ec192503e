// @ts-check
// Has this device told of notifications while the desk is closed, see worker.js. The member switches
// it on for each device; what is told are the member's settings for the browser.

/** @type {<T extends Element = HTMLElement>(s: string, e?: ParentNode) => T | null} */
const $ = (s, e = document) => e.querySelector(s);
const base = $("[data-push-here]")?.dataset.pushHere || "";
/** Says that this member wants it on this device. */
const wanted = `desk-push:${document.body.dataset.me}:${base}`;
const able = Boolean(base) && "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;

/** @param {string} path @param {Record<string, string>} form */
async function post(path, form) {
  const answer = await fetch(base + path, { method: "POST", body: new URLSearchParams(form) });
  if (!answer.ok) throw new Error(String(answer.status));
}

/** The subscription of this browser with the server's key; one with a former key is replaced. */
async function subscribe() {
  const { pushManager } = await navigator.serviceWorker.ready, answer = await fetch(base);
  if (!answer.ok) throw new Error(String(answer.status));
  const { key } = await answer.json(), bytes = Uint8Array.from(atob(key.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  let there = await pushManager.getSubscription();
  if (there && String(new Uint8Array(there.options.applicationServerKey || new ArrayBuffer(0))) !== String(bytes)) { await there.unsubscribe(); there = null; }
  return there || pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes });
}

/** The server knows this device until the member signs out; it hears of it again after signing in. */
async function add() {
  const { endpoint = "", keys = {} } = (await subscribe()).toJSON();
  await post("", { endpoint, p256dh: keys.p256dh, auth: keys.auth });
  localStorage.setItem(wanted, endpoint);
}

async function remove() {
  const endpoint = localStorage.getItem(wanted) || "";
  localStorage.removeItem(wanted);
  await post("/remove", { endpoint });
}

function state() {
  const box = $("[data-push-page]");
  if (!box) return;
  let now = "off";
  if (!able) now = "missing"; else if (Notification.permission === "denied") now = "denied"; else if (localStorage.getItem(wanted)) now = "on";
  for (const e of box.children) if (e instanceof HTMLElement && e.dataset.when) e.hidden = e.dataset.when !== now;
}

/** @param {string} deed */
async function act(deed) {
  if (deed === "on") { if (await Notification.requestPermission() === "granted") await add(); return ""; }
  if (deed === "off") { await remove(); return ""; }
  await post("/test", { endpoint: localStorage.getItem(wanted) || "" });
  return "sent";
}

document.addEventListener("click", async (event) => {
  const button = /** @type {HTMLButtonElement | null} */ (/** @type {Element} */ (event.target).closest("[data-push]")), said = $("[data-push-said]");
  if (!button || !able) return;
  button.disabled = true;
  const what = await act(button.dataset.push || "").catch(() => "failed");
  button.disabled = false;
  if (said) said.textContent = what ? said.dataset[what] || "" : "";
  state();
});
document.addEventListener("desk:dress", state);

state();
if (able && Notification.permission === "granted" && localStorage.getItem(wanted)) add().catch(() => {});
export {};
