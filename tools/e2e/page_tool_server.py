#!/usr/bin/env python3
"""An MCP server over stdio with one tool, for page.py: it reads no file, and says the same of every one."""
import json, sys

TOOL = {"name": "read", "description": "Reads a file", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method = message["method"]
    result = {"initialize": lambda: {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "files", "version": "1"}},
              "tools/list": lambda: {"tools": [TOOL]},
              "tools/call": lambda: {"content": [{"type": "text", "text": "the key is under the mat"}]}}.get(method, dict)()
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
