// @ts-check
// The service worker of the desk. It shows one page when the server does not answer, and keeps
// nothing else: no page of a member is ever stored. It shows push notifications.

// The server puts the line before it that says what to keep: const given = { page, files, version, icon, words }.
/** @type {{ page: string, files: string[], version: string, icon: string, words: { told: string, test: string } }} */
// @ts-ignore
const { page, files, version, icon, words } = given;
const worker = /** @type {any} */ (self), store = `desk-${version}-${files.join("-")}`;

worker.addEventListener("install", (/** @type {any} */ event) => event.waitUntil((async () => {
  const kept = await caches.open(store);
  await kept.addAll([page, ...files].map((path) => new Request(path, { credentials: "omit", cache: "reload" })));
  await worker.skipWaiting();
})()));

worker.addEventListener("activate", (/** @type {any} */ event) => event.waitUntil((async () => {
  for (const old of await caches.keys()) if (old.startsWith("desk-") && old !== store) await caches.delete(old);
  await worker.clients.claim();
})()));

worker.addEventListener("fetch", (/** @type {any} */ event) => {
  const { request } = event, { pathname } = new URL(request.url);
  if (request.method !== "GET") return;
  if (request.mode === "navigate") event.respondWith(fetch(request).catch(async () => (await caches.match(page)) || Response.error()));
  else if (files.includes(pathname)) event.respondWith(fetch(request).catch(async () => (await caches.match(pathname)) || Response.error()));
});

// ---- Push notifications -----------------------------------------------------------------
// The message has numbers only. What they are about is asked of the desk, as who is signed in.

const scope = new URL(worker.registration?.scope || "/", worker.location.href).pathname;

worker.addEventListener("push", (/** @type {any} */ event) => event.waitUntil(tell(event.data?.json() || {})));

/** @param {{ account?: number, notification?: number }} message */
async function tell({ account = 0, notification = 0 }) {
  const at = `${scope}a/${account}/notifications`, plain = { title: notification ? words.told : words.test, text: "", about: "", open: "", id: notification };
  const answer = notification ? await fetch(`${at}/${notification}/push`, { redirect: "manual" }).catch(() => null) : null;
  if (answer?.status === 204) return; // it was read meanwhile
  const told = answer?.ok ? await answer.json() : plain, windows = await worker.clients.matchAll({ type: "window" });
  const held = (await worker.navigator.locks?.query())?.held || [];
  if (told.about && windows.some((/** @type {any} */ w) => w.focused) && held.some((/** @type {any} */ lock) => lock.name === `desk-looks:${told.about}`)) return;
  await worker.registration.showNotification(told.title, { body: told.text, tag: `desk:${told.about || told.id}`, icon, data: { open: told.open, list: at } });
}

worker.addEventListener("notificationclick", (/** @type {any} */ event) => {
  event.notification.close();
  event.waitUntil(show(event.notification.data || {}));
});

/** Marks a notification as read and shows what it is about. @param {{ open?: string, list?: string }} of */
async function show({ open = "", list = scope }) {
  const answer = open ? await fetch(open, { method: "POST" }).catch(() => null) : null;
  const url = (answer?.ok && answer.redirected ? answer.url : new URL(list, worker.location.href).href) + (open.includes("#") ? open.slice(open.indexOf("#")) : "");
  const [first] = await worker.clients.matchAll({ type: "window" });
  if (!first) return worker.clients.openWindow(url);
  await first.focus();
  return first.navigate(url);
}
