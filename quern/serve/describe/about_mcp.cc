// MCP servers: lists and calls.
#include "quern/serve/describe/about.h"

namespace quern::serve::about {

const char kMcpLists[] =
    R"json([{"path": "/v1/mcp/servers", "tag": "mcp", "summary": "the MCP servers and their states",
"needs": ["rights", "id"], "query": {"server": {"type": "string"}}, "answer": {"type": "object",
  "required": ["object", "data", "errors"], "properties": {"object": {"const": "list"}, "errors": {"type": "array"},
  "data": {"type": "array", "items": {"type": "object", "required": ["name", "transport", "state", "starts"],
    "properties": {"transport": {"enum": ["stdio", "http"]},
      "state": {"enum": ["idle", "running", "failed", "disabled"]}}}}}}},
{"path": "/v1/mcp/tools", "tag": "mcp", "summary": "the tools of MCP servers", "needs": ["rights", "id"],
"query": {"server": {"type": "string", "description": "of this server alone"}}, "answer": {"type": "object",
  "required": ["object", "data", "errors"], "properties": {"object": {"const": "list"}, "errors": {"type": "array"},
  "data": {"type": "array", "items": {"type": "object", "required": ["server", "name", "function"]}}}}},
{"path": "/v1/mcp/resources", "tag": "mcp", "summary": "the resources of MCP servers", "needs": ["rights", "id"],
"query": {"server": {"type": "string"}}, "answer": {"type": "object",
  "required": ["object", "data", "errors"], "properties": {"object": {"const": "list"}, "errors": {"type": "array"},
  "data": {"type": "array", "items": {"type": "object", "required": ["server"]}}}}},
{"path": "/v1/mcp/prompts", "tag": "mcp", "summary": "the prompts of MCP servers", "needs": ["rights", "id"],
"query": {"server": {"type": "string"}}, "answer": {"type": "object",
  "required": ["object", "data", "errors"], "properties": {"object": {"const": "list"}, "errors": {"type": "array"},
  "data": {"type": "array", "items": {"type": "object", "required": ["server"]}}}}}])json";

const char kMcpCall[] = R"json({"tag": "mcp", "summary": "calls a tool, reads a resource or gets a prompt",
"needs": ["rights", "id", "upstream"], "answer": {"type": "object", "required": ["server"]},
"body": {"type": "object", "properties": {
  "server": {"type": ["string", "null"]}, "tool": {"type": ["string", "null"]},
  "function": {"type": ["string", "null"], "description": "server and tool in one name"},
  "resource": {"type": ["string", "null"], "description": "a URI"}, "prompt": {"type": ["string", "null"]},
  "arguments": {"type": ["object", "null"]},
  "timeout": {"type": ["number", "null"], "minimum": 0.001, "maximum": 86400}}}})json";

}  // namespace quern::serve::about
