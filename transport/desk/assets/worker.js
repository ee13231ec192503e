// @ts-check
// The service worker of the desk. It shows one page when the server does not answer, and keeps
// nothing else: no page of a member is ever stored.

// The server puts the line before it that says what to keep: const given = { page, files, version }.
/** @type {{ page: string, files: string[], version: string }} */
// @ts-ignore
const { page, files, version } = given;
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
