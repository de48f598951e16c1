/* Calls to the server that serves this page. Addresses are relative, for a server with a path prefix. */
const headers = () => $("key").value ? { "content-type": "application/json", authorization: "Bearer " + $("key").value }
                                     : { "content-type": "application/json" };
let limited = false;  // the key has a limit of requests per minute: none is spent on counting drafts
async function ask(path, body, signal, method) {
  const r = await fetch(path, { method: method || (body ? "POST" : "GET"), headers: headers(), body: body && JSON.stringify(body), signal });
  limited = limited || r.headers.has("x-ratelimit-limit-requests");
  if (r.ok) return r;
  let text = r.status + " " + r.statusText;
  try { const e = (await r.json()).error; text = e.message || text; } catch { /* no JSON: the status must do */ }
  if (r.status === 401) text += "\nSet the key under Settings.";
  const error = new Error(text);
  error.status = r.status;
  throw error;
}
const askJson = async (...of) => (await ask(...of)).json();

// Calls each(object) for every event of a stream, in order.
async function events(response, each) {
  const reader = response.body.getReader(), decoder = new TextDecoder();
  let held = "";
  for (;;) {
    const { value, done } = await reader.read();
    held += decoder.decode(value || new Uint8Array(), { stream: !done });
    const lines = held.split("\n");
    held = lines.pop();
    for (const line of lines)
      if (line.startsWith("data: ") && line !== "data: [DONE]") {
        const o = JSON.parse(line.slice(6));
        if (o.error) throw new Error(o.error.message);
        each(o);
      }
    if (done) return;
  }
}
