#!/usr/bin/env python3
"""Limits, reload, drain, TLS and fair shares of `quern serve`, through clients that others wrote: Python's ssl and http, curl,
and openssl for the certificate. Starts servers of its own; nothing but the standard library.

    python tools/e2e/operations.py build/release/apps/quern/quern models/zaya-nano            every step
    python tools/e2e/operations.py build/release/apps/quern/quern models/zaya-nano fairness   one step

Prints one line per check and the figures that were measured; the exit code is 1 when a check failed.
"""
import argparse
import hashlib
import http.client
import json
import os
import pathlib
import signal
import socket
import ssl
import statistics
import subprocess
import tempfile
import threading
import time

p = argparse.ArgumentParser()
p.add_argument("quern")
p.add_argument("model")
p.add_argument("steps", nargs="*")
p.add_argument("--pairs", type=int, default=5, help="of measurements")
a = p.parse_args()
folder = pathlib.Path(tempfile.mkdtemp())
failed = []


def check(what, good, found=""):
    print(f"{'ok    ' if good else 'FAILED'} {what}{'' if good else f': {found}'}", flush=True)
    if not good:
        failed.append(what)


class Server:
    def __init__(self, *flags, env=None):
        self.log = open(folder / "log", "w+b")
        self.process = subprocess.Popen([a.quern, "serve", a.model, "--port", "0", *flags], stdout=subprocess.PIPE, stderr=self.log,
                                        env={**os.environ, **(env or {})})
        self.address = self.process.stdout.readline().decode().strip()
        self.port = int(self.address.rsplit(":", 1)[1].split("/")[0])
        self.tls = None

    def connection(self, timeout=120):
        if self.tls:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=self.tls)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(self, method, path, body=None, key=None, connection=None):
        c = connection or self.connection()
        c.request(method, path, json.dumps(body) if body is not None else None,
                  {"authorization": f"Bearer {key}"} if key else {})
        r = c.getresponse()
        data = r.read()
        return r.status, data, r.headers

    def said(self):
        return (folder / "log").read_text()

    def wait_for(self, word, seconds=15):
        end = time.time() + seconds
        while word not in self.said() and time.time() < end:
            time.sleep(0.05)
        return word in self.said()

    def end(self, wait=60):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(wait)


def chat(n=4, **more):
    return {"messages": [{"role": "user", "content": "What is 2 + 3?"}], "max_tokens": n, "ignore_eos": True, **more}


def write_certificate(name="first"):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
                   check=True, capture_output=True)


def limits():
    keys = folder / "keys.toml"
    digest = hashlib.sha256(b"sk-of-anna-1").hexdigest()
    keys.write_text(f'[[key]]\nname = "ci"\nkey = "sk-of-ci-12"\nrequests_per_minute = 3\n'
                    f'[[key]]\nname = "anna"\nsha256 = "{digest}"\ntokens_per_day = 50\nadmin = true\n')
    s = Server("--keys", str(keys))
    statuses = [s.ask("POST", "/v1/chat/completions", chat(), "sk-of-ci-12") for _ in range(4)]
    check("the fourth request of three a minute is a 429", [r[0] for r in statuses] == [200, 200, 200, 429], statuses)
    h = statuses[-1][2]
    check("it says when to come again", 0 < int(h["retry-after"]) <= 20 and h["x-ratelimit-remaining-requests"] == "0", str(h))
    check("a wrong key is a 401", s.ask("POST", "/v1/chat/completions", chat(), "sk-of-nobody")[0] == 401)
    check("a key of which the server has the digest alone", s.ask("POST", "/v1/chat/completions", chat(40), "sk-of-anna-1")[0] == 200)
    code = json.loads(s.ask("POST", "/v1/chat/completions", chat(), "sk-of-anna-1")[1])["error"]["code"]
    check("a day's budget is used up", code == "insufficient_quota", code)
    usage = json.loads(s.ask("GET", "/v1/usage", key="sk-of-anna-1")[1])["data"]
    check("an admin sees all keys", [u["name"] for u in usage] == ["ci", "anna"], usage)
    keys.write_text(f'[[key]]\nname = "anna"\nsha256 = "{digest}"\nadmin = true\n')
    check("a changed file is read by itself", s.wait_for("keys.toml: 1 keys"), s.said())
    check("its budget is gone", s.ask("POST", "/v1/chat/completions", chat(), "sk-of-anna-1")[0] == 200)
    check("and the other key", s.ask("POST", "/v1/chat/completions", chat(), "sk-of-ci-12")[0] == 401)
    keys.write_text("[[key]]\nname = 3\n")
    s.process.send_signal(signal.SIGHUP)
    check("a bad file is refused", s.wait_for("what it said before stays"), s.said())
    check("and the keys stay", s.ask("POST", "/v1/chat/completions", chat(), "sk-of-anna-1")[0] == 200)
    check("no key is in the log", "sk-of" not in s.said() and digest not in s.said(), s.said())
    check("it ends", s.end() == 0)


def reload():
    config = folder / "live.toml"
    config.write_text('[aliases]\n"gpt-4o-mini" = "' + pathlib.Path(a.model).name + '"\n')
    s = Server("--live-config", str(config))
    check("an alias is served", s.ask("POST", "/v1/chat/completions", chat(model="gpt-4o-mini"))[0] == 200)
    config.write_text(f'cors = ["https://page.example"]\n[[models]]\nname = "second"\ndir = "{a.model}"\n')
    check("the file is read again", s.wait_for("live.toml: 1 models"), s.said())
    check("the alias is gone", s.ask("POST", "/v1/chat/completions", chat(model="gpt-4o-mini"))[0] == 404)
    check("a model is new", s.ask("POST", "/v1/chat/completions", chat(model="second"))[0] == 200)
    config.write_text('[[models]]\nname = "third"\ndir = "/nowhere"\n')
    check("a model that is not there is refused", s.wait_for("what it said before stays"), s.said())
    check("the others stay", s.ask("POST", "/v1/chat/completions", chat(model="second"))[0] == 200)
    check("it ends", s.end() == 0)


def drain():
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(str(folder / "notify"))
    manager.settimeout(20)
    s = Server("--drain", "60", env={"NOTIFY_SOCKET": str(folder / "notify"), "WATCHDOG_USEC": "600000"})
    told = []

    def listen():
        while not told or told[-1] != b"STOPPING=1":
            told.append(manager.recv(200))

    listener = threading.Thread(target=listen)
    listener.start()
    while len(told) < 3:
        time.sleep(0.05)
    check("a service manager is told READY and kept informed", told[:3] == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"], told)
    check("ready", s.ask("GET", "/ready")[0] == 200)
    c = s.connection()
    c.request("POST", "/v1/completions", json.dumps({"prompt": "x", "max_tokens": 1500, "ignore_eos": True, "stream": True}))
    r = c.getresponse()
    r.read(50)
    s.process.send_signal(signal.SIGTERM)
    end = time.time() + 10
    while s.ask("GET", "/ready")[0] != 503 and time.time() < end:
        time.sleep(0.02)
    check("not ready, but alive", s.ask("GET", "/ready")[0] == 503 and s.ask("GET", "/health")[0] == 200)
    check("new work is refused", s.ask("POST", "/v1/completions", {"prompt": "x"})[0] == 503)
    check("the stream that runs is whole", r.read().endswith(b"data: [DONE]\n\n"))
    check("it ends with status 0", s.process.wait(30) == 0)
    listener.join(30)
    check("a service manager is told STOPPING", b"STOPPING=1" in told, told)
    s = Server("--drain", "0.5")
    c = s.connection()
    c.request("POST", "/v1/completions", json.dumps({"prompt": "x", "max_tokens": 4000, "ignore_eos": True, "stream": True}))
    r = c.getresponse()
    r.read(50)
    began = time.time()
    s.process.send_signal(signal.SIGTERM)
    text = r.read()
    check("one that takes too long ends properly", text.endswith(b"data: [DONE]\n\n") and b'"finish_reason":"length"' in text)
    check("soon", s.process.wait(30) == 0 and time.time() - began < 15, time.time() - began)


def tls():
    write_certificate()
    s = Server("--tls-cert", str(folder / "cert.pem"), "--tls-key", str(folder / "key.pem"))
    check("the address says https", s.address.startswith("https://"), s.address)
    s.tls = ssl.create_default_context(cafile=folder / "cert.pem")
    check("Python's ssl", s.ask("POST", "/v1/chat/completions", chat())[0] == 200)
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        one = ssl.create_default_context(cafile=folder / "cert.pem")
        one.minimum_version = one.maximum_version = version
        with one.wrap_socket(socket.create_connection(("127.0.0.1", s.port)), server_hostname="127.0.0.1") as line:
            check(f"{version.name}, {line.cipher()[0]}", line.version().replace(".", "_") in version.name or
                  line.version() == version.name.replace("_", "."), line.version())
    curl = ["curl", "-sS", "--cacert", folder / "cert.pem", f"https://127.0.0.1:{s.port}/health"]
    check("curl", b'"ok"' in subprocess.run(curl, capture_output=True).stdout)
    plain = subprocess.run(["curl", "-sS", f"http://127.0.0.1:{s.port}/health"], capture_output=True).stdout
    check("a client without TLS is told", b"https://" in plain, plain)
    before = ssl.get_server_certificate(("127.0.0.1", s.port))
    write_certificate("second")
    check("a new certificate is read", s.wait_for("for new connections"), s.said())
    check("and served", ssl.get_server_certificate(("127.0.0.1", s.port)) != before)
    check("it ends", s.end() == 0)


def rate(s, seconds=4, keep=True):
    """Small requests per second of four clients, on lines that stay open, or each on a new one."""
    count, end = [0] * 4, time.time() + seconds

    def client(i):
        c = s.connection()
        while time.time() < end:
            s.ask("GET", "/version", connection=c)
            count[i] += 1
            if not keep:
                c.close()
                c = s.connection()

    threads = [threading.Thread(target=client, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return sum(count) / seconds


def tokens_per_second(s, n=400):
    """Of eight streams on lines that are open already."""
    results, lines = [], [s.connection() for _ in range(8)]
    for c in lines:
        c.connect()

    def client(c):
        results.append(s.ask("POST", "/v1/completions", {"prompt": "x", "max_tokens": n, "ignore_eos": True, "stream": True},
                             connection=c)[0])

    began = time.time()
    threads = [threading.Thread(target=client, args=(c,)) for c in lines]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [200] * 8
    return 8 * n / (time.time() - began)


def costed(s, measure):
    """A rate, and what one of its pieces costs the server in seconds of a core."""
    def spent():
        fields = open(f"/proc/{s.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    began, before = time.time(), spent()
    got = measure(s)
    return got, (spent() - before) / (got * (time.time() - began))


def tls_cost():
    write_certificate()
    plain = Server("--quiet")
    other = Server("--quiet", "--tls-cert", str(folder / "cert.pem"), "--tls-key", str(folder / "key.pem"))
    other.tls = ssl.create_default_context(cafile=folder / "cert.pem")
    for what, measure in (("tokens/s, 8 streams", tokens_per_second), ("requests/s, open lines", rate),
                          ("requests/s, a new line each", lambda s: rate(s, keep=False))):
        pairs, work = [], []
        for _ in range(a.pairs):
            (p_rate, p_cost), (t_rate, t_cost) = costed(plain, measure), costed(other, measure)
            pairs.append((p_rate, t_rate)), work.append(t_cost / p_cost)
        ratios = sorted(t / q for q, t in pairs)
        print(f"       {what}: {statistics.median(q for q, _ in pairs):.0f} plain, {statistics.median(t for _, t in pairs):.0f} TLS; "
              f"ratio {statistics.median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f}); processor time of the server per piece: "
              f"{statistics.median(work):.3f} times as much; {a.pairs} pairs", flush=True)
    plain.end(), other.end()


def fairness():
    """One user's 50 requests, then another's one: time to first token of the one, beside that without fair shares (all requests
    of one user), and alone."""
    def first_token(s, user):
        began = time.time()
        c = s.connection()
        c.request("POST", "/v1/completions", json.dumps({"prompt": "x", "max_tokens": 20, "ignore_eos": True, "stream": True, "user": user}))
        r = c.getresponse()
        r.read(30)
        seconds = time.time() - began
        r.read()
        return seconds

    def crowd(s, many, one):
        threads = [threading.Thread(target=s.ask, args=("POST", "/v1/completions", {
            "prompt": "x", "max_tokens": 200, "ignore_eos": True, "user": many})) for _ in range(50)]
        began = time.time()
        for t in threads:
            t.start()
        while json.loads(s.ask("GET", "/slots")[1]).__len__() < 50 and time.time() < began + 5:
            time.sleep(0.01)
        seconds = first_token(s, one)
        for t in threads:
            t.join()
        return seconds, time.time() - began

    s = Server("--quiet", "--max-seqs", "4")
    first_token(s, "one")
    alone, fair, unfair, whole = [], [], [], []
    for _ in range(a.pairs):
        alone.append(first_token(s, "one"))
        seconds, all_of_it = crowd(s, "many", "one")
        fair.append(seconds), whole.append(all_of_it)
        unfair.append(crowd(s, "one", "one")[0])
    m = statistics.median
    print(f"       time to first token of one request behind another user's 50 (4 at once): {m(fair):.2f} s with fair shares, "
          f"{m(unfair):.2f} s in order of arrival, {m(alone):.3f} s alone; the 50 took {m(whole):.1f} s; medians of {a.pairs}")
    check("the one does not wait for the fifty", m(fair) < m(unfair) / 3, (fair, unfair))
    s.end()


STEPS = {"limits": limits, "reload": reload, "drain": drain, "tls": tls, "tls_cost": tls_cost, "fairness": fairness}
for name in a.steps or STEPS:
    print(name, flush=True)
    STEPS[name]()
raise SystemExit(1 if failed else 0)
