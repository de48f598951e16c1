#!/usr/bin/env python3
"""Foreign clients and agents, unmodified, against a server whose model follows a script (tests/serve/scripted_model.h).

    ninja -C build/dev scripted_server
    python3 -m venv clients && clients/bin/pip install -r tools/e2e/clients/requirements.txt
    for c in aider pydantic_ai; do
      python3 -m venv $c && $c/bin/pip install -r tools/e2e/clients/requirements_$c.txt
    done
    tools/e2e/clients.py build/dev/test/scripted_server --python clients/bin/python --python aider=aider/bin/python \
        --python pydantic_ai=pydantic_ai/bin/python

Every file clients/client_NAME.py is a client: a process of its own that does small tasks in all their steps, each of which
is checked. The table lists them with their versions; the exit code is the number of clients that failed or are missing.
--only NAME picks clients, --url URL takes a server that runs already.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent / "clients"
PACKAGES = {"openai_agents": "openai-agents", "langchain": "langchain-openai", "llama_index": "llama-index-core",
            "pydantic_ai": "pydantic-ai-slim", "haystack": "haystack-ai", "aider": "aider-chat",
            "semantic_kernel": "semantic-kernel", "mini_swe_agent": "mini-swe-agent", "autogen": "autogen-agentchat"}


def start_server(program):
    spec = importlib.util.spec_from_file_location("script", HERE / "script.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    file = pathlib.Path(tempfile.mkdtemp()) / "script.json"
    file.write_text(json.dumps(module.script("scripted")))
    server = subprocess.Popen([program, file], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return server, server.stdout.readline().strip()


def version(python, name):
    code = f"import importlib.metadata as m; print(m.version({PACKAGES.get(name, name)!r}))"
    r = subprocess.run([python, "-c", code], capture_output=True, text=True)
    return r.stdout.strip() or "missing"


def run_client(python, name, url, seconds):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "ANTHROPIC_"))}
    environment |= {"QUERN_E2E_URL": url, "PYTHONPATH": str(HERE), "OPENAI_API_KEY": "none", "ANTHROPIC_API_KEY": "none",
                    "LITELLM_LOCAL_MODEL_COST_MAP": "True", "NO_PROXY": "127.0.0.1", "TIKTOKEN_CACHE_DIR": "",
                    "LITELLM_LOG": "ERROR"}
    try:
        r = subprocess.run([python, HERE / f"client_{name}.py"], env=environment, capture_output=True, text=True,
                           timeout=seconds, stdin=subprocess.DEVNULL)
        out, trouble = r.stdout, r.stderr[-600:] if r.returncode else ""
    except subprocess.TimeoutExpired as e:
        out, trouble = (e.stdout or b"").decode(), f"no end after {seconds} s"
    steps = [json.loads(line) for line in out.splitlines() if line.startswith('{"step"')]
    return steps, trouble


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("server", help="build/dev/test/scripted_server")
    p.add_argument("--python", action="append", default=[],
                   help="the interpreter that has the clients' packages; CLIENT=FILE: of one whose packages are its own")
    p.add_argument("--only", action="append", default=[])
    p.add_argument("--url")
    p.add_argument("--seconds", type=float, default=600, help="for each client")
    a = p.parse_args()
    named = dict(x.split("=", 1) for x in a.python if "=" in x)
    common = [x for x in a.python if "=" not in x] or [sys.executable]
    server, url = (None, a.url) if a.url else start_server(a.server)
    failures, rows = 0, []
    try:
        for file in sorted(HERE.glob("client_*.py")):
            name = file.stem.removeprefix("client_")
            if a.only and name not in a.only:
                continue
            python = named.get(name, common[-1])
            steps, trouble = run_client(python, name, url, a.seconds)
            good = sum(s["ok"] for s in steps)
            failed = bool(trouble) or not steps or good < len(steps)
            failures += failed
            rows.append((name, version(python, name), f"{good} of {len(steps)}", "FAILED" if failed else "ok"))
            print("| {:<16} | {:<9} | {:<8} | {:<6} |".format(*rows[-1]), flush=True)
            for s in steps:
                if not s["ok"]:
                    print("   ", s["step"], s["error"])
            if trouble:
                print("   ", trouble)
    finally:
        if server:
            server.terminate()
            server.wait()
    print(f"{len(rows)} clients, {failures} failed")
    return failures


sys.exit(main())
