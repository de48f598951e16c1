// The page without its server: the last copy of it, so that an installed Quern opens and old chats can be read. It keeps the
// page alone; every other request goes to the server as if this were not here.
const KEPT = "quern-page";
self.addEventListener("install", e => e.waitUntil(caches.open(KEPT).then(c => c.add("./")).then(() => self.skipWaiting())));
self.addEventListener("activate", e => e.waitUntil(self.clients.claim()));
self.addEventListener("fetch", e => {
  if (e.request.mode !== "navigate" || new URL(e.request.url).href !== self.registration.scope) return;
  e.respondWith(fetch(e.request).then(async r => {
    if (r.ok) await (await caches.open(KEPT)).put("./", r.clone());
    return r;
  }).catch(async () => (await caches.match("./")) || Response.error()));
});
