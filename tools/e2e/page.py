#!/usr/bin/env python3
"""Drives the page of a running `quern serve` in headless Chromium, the way a person would, and keeps screenshots.

    quern serve models/zaya-nano --port 8137 &
    python3 tools/e2e/page.py http://127.0.0.1:8137 OUT_DIR

Needs chromium and the PyPI package websocket-client. Exit status 0: every step did what it should.
"""
import base64, json, pathlib, shutil, socket, subprocess, sys, tempfile, time, urllib.request

import websocket

URL, OUT = sys.argv[1].rstrip("/"), pathlib.Path(sys.argv[2])
OUT.mkdir(parents=True, exist_ok=True)


class Browser:
    def __init__(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        self.home = tempfile.mkdtemp()
        binary = next(b for b in ("chromium", "chromium-browser", "google-chrome") if shutil.which(b))
        self.process = subprocess.Popen(
            [binary, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--remote-debugging-port={port}",
             f"--user-data-dir={self.home}", "--remote-allow-origins=*", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(300):
            try:
                pages = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=1))
                target = next(p for p in pages if p["type"] == "page")
                break
            except (OSError, StopIteration):
                time.sleep(0.1)
        else:
            raise SystemExit("the browser did not start")
        self.socket = websocket.create_connection(target["webSocketDebuggerUrl"], timeout=120)
        self.id, self.seen = 0, []
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(domain + ".enable")

    def send(self, method, **params):
        self.id += 1
        self.socket.send(json.dumps({"id": self.id, "method": method, "params": params}))
        while True:
            m = json.loads(self.socket.recv())
            if m.get("id") == self.id:
                if "error" in m:
                    raise RuntimeError(f"{method}: {m['error']}")
                return m["result"]
            self.seen.append(m)

    def run(self, script):
        r = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in r:
            raise RuntimeError(r["exceptionDetails"].get("exception", {}).get("description", str(r)))
        return r["result"].get("value")

    def wait(self, what, script, seconds=60):
        end = time.time() + seconds
        while time.time() < end:
            if self.run(script):
                return
            time.sleep(0.1)
        self.shot("failed")
        raise SystemExit(f"FAILED: waited {seconds} s for {what}")

    def size(self, width, height, dark=False):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def key(self, name, code, text=""):
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=name, code=code, windowsVirtualKeyCode={"Enter": 13, "Escape": 27, "/": 191}[name],
                      **({"text": text} if text and kind == "keyDown" else {}))

    def type(self, text):
        self.send("Input.insertText", text=text)

    def click(self, selector):
        x, y = self.run(f"(() => {{ const r = document.querySelector({json.dumps(selector)}).getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; }})()")
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def shot(self, name):
        (OUT / f"{name}.png").write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)


def check(what, good):
    print(("ok      " if good else "FAILED  ") + what)
    if not good:
        b.shot("failed")
        raise SystemExit(1)


b = Browser()
try:
    b.size(1100, 800)
    b.send("Page.navigate", url=URL + "/")
    b.wait("the model list", "document.readyState === 'complete' && document.querySelector('#model')?.options.length > 0 && document.querySelector('#state').textContent === 'ready'")
    check("the question field has the focus", b.run("document.activeElement.id") == "ask")
    b.shot("1-empty")

    b.type("What is 47 * 26?")
    b.key("Enter", "Enter", "\r")
    b.wait("an answer", "document.querySelectorAll('article.assistant').length === 1 && !document.querySelector('#send').hidden")
    check("an answer with words", b.run("document.querySelector('article.assistant .said').textContent.length > 0"))
    check("thinking is folded", b.run("(d => !!d && !d.open)(document.querySelector('details.thinking'))"))
    check("numbers are shown", "tokens/s" in b.run("document.querySelector('#numbers').textContent"))
    b.click("details.thinking summary")
    b.shot("2-answer")

    b.run("[...document.querySelectorAll('.who button')].find(x => x.textContent === 'Regenerate').click()")
    b.wait("the second answer", "document.querySelectorAll('article.assistant').length === 1 && !document.querySelector('#send').hidden")
    check("regenerating keeps one answer", b.run("turns.length") == 2)

    b.run("document.querySelector('#plan').value = 'mrsa:8x4x1'")
    b.run("document.querySelector('#ask').focus()")
    b.type("A film starts at 10:40 and lasts 95 minutes. When does it end?")
    b.key("Enter", "Enter", "\r")
    b.wait("sixteen candidates", "document.querySelectorAll('.cell').length === 16 && !document.querySelector('#send').hidden", 120)
    b.run("document.querySelectorAll('.round')[1].querySelector('.cell').focus()")
    check("a candidate shows whom it read", b.run("document.querySelectorAll('.cell.on').length") >= 1)
    b.run("document.querySelector('details.rounds').scrollIntoView()")
    b.shot("3-rounds")

    b.run("document.querySelector('#plan').value = 'custom'; document.querySelector('#custom').value = 'mrsa:64x4x40'; document.querySelector('#ask').focus()")
    b.type("What is 12 * 13?")
    b.key("Enter", "Enter", "\r")
    b.wait("the stop button", "!document.querySelector('#stop').hidden && !!turns[turns.length - 1].view.rounds")
    b.key("Escape", "Escape")
    b.wait("the send button", "!document.querySelector('#send').hidden", 5)
    check("Escape stops", b.run("[...document.querySelectorAll('.who span')].some(s => s.textContent === 'stopped')"))

    b.run("document.querySelector('#plan').value = ''")
    if b.run("!!defaults.memory"):  # quern serve --db FILE
        b.run(f"document.querySelector('#memory').value = 'page {time.time()}'")
        for question in ("My cat is called Wheat.", "What is my cat called?"):
            b.click("#fresh")
            b.type(question)
            b.key("Enter", "Enter", "\r")
            b.wait("an answer", "document.querySelectorAll('article.assistant').length === 1 && !document.querySelector('#send').hidden")
        check("what memory gave is shown", "Wheat" in b.run("document.querySelector('details.recalled')?.textContent || ''"))
        b.run("document.querySelector('details.recalled').open = true")
        b.shot("3b-memory")
    b.run("turns.push(view({role: 'assistant', content: '<img src=x onerror=alert(1)> **bold** `code`\\n\\n```\\n<b>block</b>\\n```', model: 'x'}))")
    check("markup of a model stays text", b.run("document.querySelectorAll('#log img').length") == 0 and b.run("document.querySelectorAll('#log pre').length") >= 1)

    b.click("#status")
    b.wait("the server's state", "document.querySelector('#statusBox').open && document.querySelectorAll('#statusBody tr').length > 5")
    b.shot("4-status")
    b.key("Escape", "Escape")
    b.click("#settings")
    b.wait("settings", "document.querySelector('#settingsBox').open")
    b.shot("5-settings")
    b.key("Escape", "Escape")
    b.click("#theme")
    b.shot("6-dark")
    b.size(360, 740)
    b.run("toEnd()")
    check("no sideways scrolling on a phone", b.run("document.documentElement.scrollWidth <= innerWidth"))
    b.shot("7-phone")
    b.run("document.querySelector('#fresh').focus()")
    b.key("/", "Slash", "/")
    check("/ goes to the question field", b.run("document.activeElement.id") == "ask" and b.run("document.querySelector('#ask').value") == "")
    b.click("#fresh")
    check("a new chat is empty", b.run("document.querySelectorAll('article').length") == 0)

    foreign = [m["params"]["request"]["url"] for m in b.seen if m.get("method") == "Network.requestWillBeSent"
               and not m["params"]["request"]["url"].startswith((URL, "data:", "about:"))]
    check(f"no request to anywhere else {foreign}", not foreign)
    errors = [m["params"] for m in b.seen if m.get("method") == "Runtime.exceptionThrown"
              or (m.get("method") == "Log.entryAdded" and m["params"]["entry"]["level"] == "error")]
    check(f"no error in the console {errors}", not errors)
finally:
    b.close()
