"""A headless Chromium driven over its debugging protocol: what the scripts that use the web UI share."""
import base64, json, pathlib, shutil, socket, subprocess, tempfile, time, urllib.request

import websocket

KEYS = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowUp": 38, "ArrowDown": 40, "ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35, " ": 32, "Backspace": 8}
TEXTS = {"Enter": "\r", " ": " "}


class Browser:
    def __init__(self, out):
        self.out = pathlib.Path(out)
        self.out.mkdir(parents=True, exist_ok=True)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        self.home = tempfile.mkdtemp()
        binary = next((b for b in ("chromium", "chromium-browser", "google-chrome") if shutil.which(b)), None)
        if not binary:
            raise SystemExit("no chromium here: apt-get install chromium")
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
        self.id, self.seen, self.steps = 0, [], 0
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(domain + ".enable")
        self.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.home), eventsEnabled=True)

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
        r = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True)
        if "exceptionDetails" in r:
            raise RuntimeError(r["exceptionDetails"].get("exception", {}).get("description", str(r)) + "\nin " + script[:200])
        return r["result"].get("value")

    def wait(self, what, script, seconds=60):
        end = time.time() + seconds
        while time.time() < end:
            if self.run(script):
                return
            time.sleep(0.05)
        self.shot("failed")
        raise SystemExit(f"FAILED: waited {seconds} s for {what}")

    def open(self, url):
        self.send("Page.navigate", url=url)
        self.wait("the page", "document.readyState === 'complete' && !!document.querySelector('#ask')")

    def size(self, width, height, dark=False, contrast="no-preference"):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}, {"name": "prefers-contrast", "value": contrast}])

    def key(self, name, control=False, shift=False):
        text = TEXTS.get(name, name if len(name) == 1 and not control else "")
        code = KEYS.get(name, ord(name.upper()) if len(name) == 1 else 0)
        common = dict(key=name, windowsVirtualKeyCode=code, modifiers=(2 if control else 0) + (8 if shift else 0))
        self.send("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **common, **({"text": text} if text else {}))
        self.send("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text):
        self.send("Input.insertText", text=text)

    def click(self, selector):
        x, y = self.run(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'nearest'}}); const r = e.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; }})()")
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, text, within="document"):
        """Clicks the button with this text or label."""
        self.run(f"(() => {{ const all = [...{within}.querySelectorAll('button')].filter(b => b.textContent.trim() === {json.dumps(text)} || b.getAttribute('aria-label') === {json.dumps(text)}); all[all.length - 1].click(); }})()")

    def choose(self, id, value):
        self.run(f"(e => {{ e.value = {json.dumps(value)}; e.dispatchEvent(new Event('input', {{bubbles: true}})); e.dispatchEvent(new Event('change', {{bubbles: true}})); }})(document.getElementById({json.dumps(id)}))")

    def shot(self, name):
        (self.out / f"{name}.png").write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))

    def check(self, what, good):
        self.steps += 1
        print(("ok      " if good else "FAILED  ") + what, flush=True)
        if not good:
            self.shot("failed")
            raise SystemExit(1)

    def downloaded(self, pattern, seconds=10):
        """The text of the one file that the page has downloaded under this name, which is then removed."""
        end = time.time() + seconds
        while time.time() < end:
            found = [f for f in pathlib.Path(self.home).glob(pattern) if f.stat().st_size]
            if found:
                text = found[0].read_text()
                found[0].unlink()
                return text
            time.sleep(0.05)
        print("downloaded:", [f.name for f in pathlib.Path(self.home).iterdir() if f.is_file()])
        return ""

    def requests(self):
        return [m["params"]["request"]["url"] for m in self.seen if m.get("method") == "Network.requestWillBeSent"]

    def errors(self):
        return [m["params"] for m in self.seen if m.get("method") == "Runtime.exceptionThrown"
                or (m.get("method") == "Log.entryAdded" and m["params"]["entry"]["level"] == "error")]

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)
