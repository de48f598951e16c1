#!/usr/bin/env python3
"""Drives the web UI of `quern serve` in headless Chromium, the way a person would, and keeps screenshots.

    python3 tools/e2e/page.py build/release/apps/quern/quern OUT_DIR
    python3 tools/e2e/page.py http://127.0.0.1:8080 OUT_DIR      # a running server with --db, --documents, --session-dir and --runs

Needs chromium, and of PyPI websocket-client, axe-playwright-python (for axe-core, which checks accessibility), markdown-it-py and
latex2mathml (what Markdown and mathematics are compared with). Exit status 0: every step did what it should.
"""
import contextlib, http.client, json, pathlib, subprocess, sys, tempfile, time, urllib.parse, urllib.request

import page_access, page_chat, page_panels
from browser import Browser

MODEL = pathlib.Path(__file__).resolve().parents[2] / "models" / "zaya-nano"
NOTES = "# The mill\n\nThe mill stands by the river at Wick. It has two stones.\n\n# The oven\n\nThe oven is lit before dawn.\n"
# Endpoints that a server may not have: the page asks once whether they are there.
OPTIONAL = ("/v1/mcp/servers",)


def write_run(folder):
    folder.mkdir(parents=True)
    with open(folder / "metrics.jsonl", "w") as f:
        for step in range(1, 201):
            f.write(json.dumps({"step": step, "phase": "rl", "loss": 4 / step ** 0.5, "tokens": step * 4096, "lr": 1e-3, "grad_norm": 1.0, "tokens_per_s": 9000.0, "reward": min(1, step / 250)}) + "\n")
            if step % 50 == 0:
                f.write(json.dumps({"step": step, "tokens": step * 4096, "set": "text", "eval_loss": 4.1 / step ** 0.5}) + "\n")
        f.write(json.dumps({"step": 120, "tokens": 491520, "event": "spike", "text": "the loss rose"}) + "\n")
    (folder / "rollouts.jsonl").write_text(json.dumps({"step": 200, "environment": "sums", "rewards": [1, 0, 1], "question": "What is 2 + 2?", "answer": "Answer: 4", "reason": "right"}) + "\n")


@contextlib.contextmanager
def server(binary):
    with tempfile.TemporaryDirectory() as home:
        home = pathlib.Path(home)
        (home / "notes").mkdir()
        (home / "notes" / "mill.md").write_text(NOTES)
        subprocess.run([binary, "recall", "index", home / "notes", "--db", home / "index"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        write_run(home / "runs" / "sums")
        servers = {"files": {"command": sys.executable, "args": [str(pathlib.Path(__file__).resolve().parent / "page_tool_server.py")]}, "broken": {"command": "/nonexistent"}}
        (home / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
        process = subprocess.Popen([binary, "serve", MODEL, MODEL, "--name", "zaya-nano", "--name", "second", "--port", "0", "--db", home / "memory.db", "--documents", home / "index", "--session-dir", home / "saved",
                                    "--runs", home / "runs", "--quiet", "--mcp", home / "mcp.json"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            for line in process.stdout:
                if line.startswith("http://"):
                    yield line.strip(), home
                    return
            raise SystemExit("the server did not start")
        finally:
            process.terminate()
            process.wait()


def first_byte(url, times=50):
    """Milliseconds from the request to the first byte of the page: the median."""
    at = urllib.parse.urlsplit(url)
    out = []
    for _ in range(times):
        c = http.client.HTTPConnection(at.hostname, at.port)
        c.connect()
        begun = time.perf_counter()
        c.request("GET", "/")
        c.sock.recv(1)
        out.append(1000 * (time.perf_counter() - begun))
        c.close()
    return sorted(out)[times // 2]


def drive(url, home, out):
    b = Browser(out)
    try:
        reply = urllib.request.urlopen(url + "/")
        policy, page = reply.headers["content-security-policy"], reply.read()
        b.check(f"the page is one file of {len(page)} bytes, at most 200,000", len(page) <= 200000)
        b.check("its policy allows this origin alone", "default-src 'none'" in policy and "connect-src 'self'" in policy and "http" not in policy and "require-trusted-types-for 'script'" in policy)
        ms = first_byte(url)
        b.check(f"first byte after {ms:.2f} ms, at most 2", ms <= 2)
        b.size(1200, 800)
        b.open(url + "/")
        b.wait("the model list", "$('model').options.length > 0 && $('state').textContent === 'ready'")
        page_chat.steps(b)
        page_panels.steps(b, home)
        page_access.steps(b, url)
        foreign = [u for u in b.requests() if not u.startswith((url, "data:", "about:", "blob:" + url))]
        b.check(f"no request to anywhere else {foreign}", not foreign)
        errors = [e for e in b.errors() if not ("entry" in e and e["entry"].get("url", "").startswith(url) and e["entry"]["url"][len(url):] in OPTIONAL)]
        b.check(f"no error in the console {errors}", not errors)
        print(f"{b.steps} steps, all as they should be")
    finally:
        b.close()


if len(sys.argv) != 3:
    raise SystemExit(__doc__)
if sys.argv[1].startswith("http"):
    drive(sys.argv[1].rstrip("/"), None, sys.argv[2])
else:
    with server(sys.argv[1]) as (address, folder):
        drive(address, folder, sys.argv[2])
