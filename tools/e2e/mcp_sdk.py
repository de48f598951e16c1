#!/usr/bin/env python3
"""The official MCP SDK against Quern, in both roles, unmodified: as client of `quern mcp`, and as servers of `quern serve --mcp`.

    pip install mcp          # 1.x and 2.x both work
    python tools/e2e/mcp_sdk.py build/dev/apps/quern/quern

Each check prints a line; the exit code is the number of failures. Answers of a small model are not judged, their form is.
"""
import asyncio
import contextlib
import importlib.metadata
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import mcp

QUERN = os.path.abspath(sys.argv[1])
SDK = importlib.metadata.version("mcp")
NEW = int(SDK.split(".")[0]) >= 2
failures = 0

# A server of the SDK: over stdio, or over HTTP when a port is given.
SERVER = '''
import sys
try:
    from mcp.server.mcpserver import Context, MCPServer as Server
except ImportError:
    from mcp.server.fastmcp import Context, FastMCP as Server
port = int(sys.argv[1]) if len(sys.argv) > 1 else 0
old = {} if port == 0 or Server.__name__ == "MCPServer" else {"host": "127.0.0.1", "port": port}
server = Server("sdk", **old)

@server.tool()
def shout(text: str) -> str:
    """Says it loudly"""
    return text.upper()

@server.tool()
def table(rows: int) -> dict[str, int]:
    """Rows by name"""
    return {f"row {i}": i for i in range(rows)}

@server.tool()
async def steps(n: int, ctx: Context) -> str:
    """Reports progress"""
    for i in range(min(n, 20)):
        await ctx.report_progress(i + 1, n)
    return f"{n} steps"

@server.tool()
def trouble() -> str:
    """Always fails"""
    raise ValueError("there is trouble")

@server.resource("memo://today")
def today() -> str:
    """Of today"""
    return "the memo of today"

@server.resource("memo://{day}/text")
def memo(day: str) -> str:
    """Of a day"""
    return f"the memo of {day}"

@server.prompt()
def review(path: str) -> str:
    """Reviews a file"""
    return f"Please review {path}."

if port == 0:
    server.run()
elif old:
    server.run(transport="streamable-http")
else:
    server.run(transport="streamable-http", host="127.0.0.1", port=port)
'''


def check(name, ok, detail=""):
    global failures
    failures += not ok
    print("ok    " if ok else "FAILED", name, "" if ok else str(detail)[:400], flush=True)


def field(o, snake, camel):
    return getattr(o, snake if hasattr(o, snake) else camel)


@contextlib.asynccontextmanager
async def connected(target, mode):
    """A session of the SDK's client with a command line or a URL."""
    command = isinstance(target, list)
    if NEW:
        server = mcp.StdioServerParameters(command=target[0], args=target[1:]) if command else target
        async with mcp.Client(server, mode=mode) as client:
            yield client, client.protocol_version
        return
    from mcp.client.streamable_http import streamablehttp_client

    way = mcp.stdio_client(mcp.StdioServerParameters(command=target[0], args=target[1:])) if command else streamablehttp_client(target)
    async with way as streams, mcp.ClientSession(streams[0], streams[1]) as session:
        hello = await session.initialize()
        yield session, hello.protocolVersion


async def use_our_server(where, target, mode):
    async with connected(target, mode) as (c, version):
        say = lambda what, ok, detail="": check(f"{where}, {version}: {what}", ok, detail)
        tools = {t.name: t for t in (await c.list_tools()).tools}
        say("tools", set(tools) == {"search_documents", "read_document", "memory_add", "memory_ask", "memory_list", "memory_forget",
                                    "chat", "generate", "tokenize"}, sorted(tools))
        say("schemas", all(field(t, "input_schema", "inputSchema")["type"] == "object" for t in tools.values()))
        call = c.call_tool
        hits = field(await call("search_documents", {"query": "Who burned the mill?"}), "structured_content", "structuredContent")["hits"]
        say("search", "mill" in hits[0]["text"], hits)
        read = await call("read_document", {"path": hits[0]["path"]})
        say("read", "lightning" in read.content[0].text, read)
        wrong = await call("read_document", {"path": "nowhere.txt"})
        say("a mistake is a result", field(wrong, "is_error", "isError") and "nowhere.txt" in wrong.content[0].text, wrong)
        await call("memory_add", {"text": "The meeting is in room 12.", "time": "2026-03-02 10:00", "conversation": where})
        asked = await call("memory_ask", {"question": "What was said in March 2026?", "now": "2026-06-01", "conversation": where})
        say("memory", "room 12" in asked.content[0].text, asked)
        gone = await call("memory_forget", {"everything": True, "conversation": where})
        say("forget", field(gone, "structured_content", "structuredContent")["forgotten"] == 1, gone)
        heard = []
        async def progress(done, total, message):
            heard.append(done)
        said = await call("chat", {"messages": [{"role": "user", "content": "What is 3 + 4?"}], "max_tokens": 64},
                          progress_callback=progress)
        say("chat", not field(said, "is_error", "isError") and
            field(said, "structured_content", "structuredContent")["usage"]["completion_tokens"] > 0, said)
        say("progress", len(heard) > 0 and heard == sorted(heard), heard)
        count = await call("tokenize", {"text": "What is 3 + 4?"})
        say("tokenize", field(count, "structured_content", "structuredContent")["count"] > 3, count)
        resources = (await c.list_resources()).resources
        document = next(r for r in resources if str(r.uri).startswith("quern-document:"))
        text = (await c.read_resource(document.uri)).contents[0].text
        say("resources", "mill" in text or "bread" in text.lower(), text)
        prompt = await c.get_prompt("answer_from_documents", {"question": "Who burned the mill?"})
        say("prompts", "lightning" in prompt.messages[0].content.text, prompt)
        say("list of prompts", len((await c.list_prompts()).prompts) == 2)
        try:
            bad = await call("no_such_tool", {})
            say("an unknown tool", field(bad, "is_error", "isError"), bad)
        except Exception as e:
            say("an unknown tool", "no_such_tool" in str(e), e)


def http(method, url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=120) as r:
            return r.status, json.loads(r.read())
    except urllib.error.HTTPError as e:
        return e.code, json.loads(e.read())


def our_client(url, servers):
    status, tools = http("GET", url + "/v1/mcp/tools")
    check("tools of the SDK's servers", status == 200 and len(tools["data"]) == 4 * len(servers) and not tools["errors"], tools)
    for name in servers:
        say = lambda what, ok, detail="": check(f"quern serve with {name}: {what}", ok, detail)
        call = lambda **body: http("POST", url + "/v1/mcp/call", {"server": name, **body})
        status, r = call(tool="shout", arguments={"text": "quietly"})
        say("a call", status == 200 and r["text"] == "QUIETLY" and not r["is_error"], r)
        status, r = call(tool="table", arguments={"rows": 3})
        say("a structured result", status == 200 and "row 2" in json.dumps(r["structured"]), r)
        status, r = call(tool="steps", arguments={"n": 5})
        say("a call with progress", r["text"] == "5 steps", r)
        status, r = call(tool="trouble")
        say("a failing call", status == 200 and r["is_error"] and "trouble" in r["text"], r)
        status, r = call(tool="shout", arguments={"text": 3})
        say("wrong arguments", status == 200 and r["is_error"], r)
        status, r = call(tool="shot")
        say("an unknown tool", status == 404 and "did you mean 'shout'" in r["error"]["message"], r)
        status, r = http("GET", f"{url}/v1/mcp/resources?server={name}")
        uris = [x.get("uri") or x["uri_template"] for x in r["data"]]
        say("resources", sorted(uris) == ["memo://today", "memo://{day}/text"], r)
        status, r = call(resource="memo://friday/text")
        say("a resource", r["text"] == "the memo of friday", r)
        status, r = http("GET", f"{url}/v1/mcp/prompts?server={name}")
        say("prompts", r["data"][0]["name"] == "review" and r["data"][0]["arguments"][0]["required"], r)
        status, r = call(prompt="review", arguments={"path": "a.py"})
        say("a prompt", r["messages"][0]["content"] == "Please review a.py.", r)
        chat = {
            "messages": [{"role": "user", "content": "Shout!"}],
            "max_tokens": 200,
            "tool_choice": {"type": "function", "function": {"name": f"{name}__steps"}},
            "parallel_tool_calls": False,
            "mcp": {"servers": [name], "allow": [f"{name}.*"]},
        }
        status, r = http("POST", url + "/v1/chat/completions", chat)
        ran = r.get("x_mcp", {}).get("calls", [])
        say("a chat that calls", status == 200 and len(ran) >= 1 and ran[0]["tool"] == "steps", r)
        status, r = http("POST", url + "/v1/chat/completions", {**chat, "mcp": {"servers": [name]}})
        pending = r.get("x_mcp", {}).get("pending", [])
        say("a chat that asks", status == 200 and r["choices"][0]["finish_reason"] == "tool_calls" and len(pending) == 1, r)
    status, r = http("GET", url + "/v1/mcp/servers")
    check("states", all(s["state"] == "running" and s["tools"] == 4 for s in r["data"]), r)
    print("      protocol versions:", {s["name"]: s["protocol"] for s in r["data"]})


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def running(command, **how):
    """A server that prints its address, until the block ends."""
    p = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **how)
    try:
        yield p.stdout.readline().strip()
    finally:
        p.terminate()
        p.wait(20)


def wait_for(port):
    for _ in range(300):
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    sys.exit("the SDK's HTTP server does not listen")


def main():
    print("mcp", SDK)
    with tempfile.TemporaryDirectory() as folder:
        docs, index = os.path.join(folder, "docs"), os.path.join(folder, "index")
        os.mkdir(docs)
        for name, text in [("mill.md", "# The mill\n\nThe mill burned down after lightning struck it.\n"), ("bread.txt", "Bread needs flour.\n")]:
            with open(os.path.join(docs, name), "w") as f:
                f.write(text)
        subprocess.run([QUERN, "recall", "index", docs, "--db", index], check=True, stdout=subprocess.DEVNULL)
        ours = [QUERN, "mcp", "--recall", index, "--memory", os.path.join(folder, "memory.db"), "--model", "zaya-nano"]
        modes = ["legacy", "auto"] if NEW else ["legacy"]
        for mode in modes:
            asyncio.run(use_our_server("stdio", ours, mode))
        with running([*ours, "--http", "127.0.0.1:0"]) as address:
            for mode in modes:
                asyncio.run(use_our_server("http", address, mode))
        script, port = os.path.join(folder, "sdk.py"), free_port()
        with open(script, "w") as f:
            f.write(SERVER)
        listening = subprocess.Popen([sys.executable, script, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(port)
            config = os.path.join(folder, "mcp.json")
            with open(config, "w") as f:
                json.dump({"mcpServers": {"pipe": {"command": sys.executable, "args": [script]},
                                          "web": {"url": f"http://127.0.0.1:{port}/mcp"}}}, f)
            serve = [QUERN, "serve", "zaya-nano", "--port", "0", "--quiet", "--mcp", config]
            with running(serve, stderr=subprocess.DEVNULL) as address:
                our_client(address, ["pipe", "web"])
        finally:
            listening.kill()
            listening.wait(20)
    print("failures:", failures)
    sys.exit(min(failures, 100))


if __name__ == "__main__":
    main()
