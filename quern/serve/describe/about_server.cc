// The endpoints about the server itself: models, adapters, tokens, state, saved sessions.
#include "quern/serve/describe/about.h"

namespace quern::serve::about {

const char kModels[] = R"json({"tag": "models", "summary": "the served models", "answer": "ModelList"})json";
const char kModel[] = R"json({"path": "/v1/models/{model}", "tag": "models", "summary": "a served model",
"needs": ["model", "key_model"], "answer": "Model"})json";

const char kAdapters[] = R"json({"tag": "models", "summary": "the LoRA adapters",
"answer": {"type": "array", "items": {"$ref": "#/components/schemas/Adapter"}}})json";
const char kLoadAdapter[] =
    R"json({"tag": "models", "summary": "loads a LoRA adapter from the server's adapter folder",
"needs": ["rights", "model"], "answer": "Adapter",
"body": {"type": "object", "required": ["lora_name", "lora_path"], "properties": {
  "lora_name": {"type": "string", "pattern": "^[A-Za-z0-9_./-]{1,128}$"}, "lora_path": {"type": "string", "minLength": 1},
  "base_model_name": {"type": ["string", "null"]}}}})json";
const char kUnloadAdapter[] = R"json({"tag": "models", "summary": "unloads a LoRA adapter",
"needs": ["rights", "id"], "answer": "Deleted",
"body": {"type": "object", "required": ["lora_name"], "properties": {
  "lora_name": {"type": "string", "pattern": "^[A-Za-z0-9_./-]{1,128}$"}}}})json";

const char kTokenize[] = R"json({"tag": "reading", "summary": "the tokens of a text or of a chat", "needs": ["model"],
"body": {"type": "object", "properties": {
  "model": {"$ref": "#/components/schemas/ModelName"}, "content": {"type": ["string", "null"], "description": "as llama-server has it"},
  "prompt": {"type": ["string", "null"], "description": "as vLLM has it"},
  "messages": {"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/Messages"}]},
  "add_special": {"type": ["boolean", "null"]}, "add_special_tokens": {"type": ["boolean", "null"]},
  "parse_special": {"type": ["boolean", "null"]}, "with_pieces": {"type": ["boolean", "null"]},
  "add_generation_prompt": {"type": ["boolean", "null"]}, "return_token_strs": {"type": ["boolean", "null"]}}},
"answer": {"type": "object", "required": ["tokens", "count"], "properties": {
  "tokens": {"type": "array", "items": {"type": ["integer", "object"], "properties": {
    "id": {"type": "integer"}, "piece": {"type": ["string", "array"]}}}},
  "count": {"type": "integer"}, "max_model_len": {"type": "integer"},
  "pieces": {"type": "array", "items": {"type": "string"}},
  "token_strs": {"type": "array", "items": {"type": "string"}}}}})json";
const char kDetokenize[] = R"json({"tag": "reading", "summary": "the text of tokens", "needs": ["model"],
"body": {"type": "object", "required": ["tokens"], "properties": {
  "model": {"$ref": "#/components/schemas/ModelName"}, "tokens": {"type": "array", "items": {"type": ["integer", "object"], "minimum": 0,
    "required": ["id"], "properties": {"id": {"type": "integer", "minimum": 0}}}}}},
"answer": {"type": "object", "required": ["content", "prompt"], "properties": {
  "content": {"type": "string"}, "prompt": {"type": "string", "description": "the same, as vLLM names it"}}}})json";
const char kApplyTemplate[] =
    R"json({"tag": "reading", "summary": "the prompt that the chat template makes of a chat",
"needs": ["model"],
"body": {"type": "object", "required": ["messages"], "properties": {
  "model": {"$ref": "#/components/schemas/ModelName"}, "messages": {"$ref": "#/components/schemas/Messages"},
  "tools": {"type": ["array", "null"], "items": {"$ref": "#/components/schemas/Tool"}},
  "chat_template_kwargs": {"type": ["object", "null"]}}},
"answer": {"type": "object", "required": ["prompt"], "properties": {"prompt": {"type": "string"}}}})json";

const char kWebUi[] = R"json({"tag": "server", "summary": "the web UI", "answer_type": "text/html",
"answer": {"type": "string"}})json";
const char kManifest[] = R"json({"tag": "server", "summary": "the web UI as an app",
"answer_type": "application/manifest+json", "answer": {"type": "object", "required": ["name", "icons"]}})json";
const char kServiceWorker[] = R"json({"tag": "server", "summary": "the service worker of the web UI",
"answer_type": "text/javascript", "answer": {"type": "string"}})json";
const char kIcon[] = R"json({"tag": "server", "summary": "the icon of the web UI", "answer_type": "image/svg+xml",
"answer": {"type": "string"}})json";
const char kHealth[] = R"json({"tag": "server", "summary": "whether the server is alive",
"answer": {"type": "object", "required": ["status"], "properties": {"status": {"const": "ok"}}}})json";
const char kReady[] = R"json({"tag": "server", "summary": "whether a request would be taken now", "needs": ["ready"],
"answer": {"type": "object", "required": ["status", "reasons"], "properties": {
  "status": {"const": "ready"}, "reasons": {"type": "array", "items": {"type": "string"}}}}})json";
const char kUsage[] =
    R"json({"tag": "server", "summary": "what the caller's API key has used, or every key for an admin",
"answer": {"type": "object", "required": ["object", "data"], "properties": {
  "object": {"const": "list"}, "data": {"type": "array", "items": {"type": "object", "required": ["name", "today", "since_start"]}}}}})json";
const char kVersion[] = R"json({"tag": "server", "summary": "the version of the program",
"answer": {"type": "object", "required": ["version"], "properties": {"version": {"type": "string"}}}})json";
const char kOpenApi[] = R"json({"tag": "server", "summary": "this document",
"answer": {"type": "object", "required": ["openapi", "info", "paths"]}})json";
const char kProps[] = R"json({"tag": "server", "summary": "properties of the loaded models; default settings",
"needs": ["model", "key_model"],
"query": {"model": {"type": "string", "description": "whose default settings; the first loaded one by default"}},
"answer": {"type": "object", "required": ["version", "models", "memory", "documents", "runs"], "properties": {
  "version": {"type": "string"}, "models": {"type": "array", "items": {"type": "object", "required": ["id", "family"]}},
  "memory": {"type": "boolean"}, "documents": {"type": "boolean"}, "runs": {"type": "boolean"},
  "default_generation_settings": {"type": "object"}, "total_slots": {"type": "integer"},
  "model_alias": {"type": "string"}, "model_path": {"type": "string"}, "chat_template": {"type": "string"},
  "bos_token": {"type": "string"}, "eos_token": {"type": "string"}, "build_info": {"type": "string"},
  "modalities": {"type": "object"}}}})json";
const char kMetrics[] = R"json({"tag": "server", "answer_type": "text/plain",
"summary": "metrics for Prometheus; by key those of the caller's own, or all for an admin",
"answer": {"type": "string"}})json";
const char kSlots[] = R"json({"tag": "server", "summary": "the requests in flight", "needs": ["rights"],
"query": {"text": {"enum": ["true", "false"], "description": "with prompts and outputs, where the server allows it"},
  "fail_on_no_slot": {"type": "string", "description": "503 when as many requests run as can"}},
"answer": {"type": "array", "items": {"$ref": "#/components/schemas/Slot"}}})json";

const char kEndThinking[] = R"json({"path": "/v1/requests/{request_id}/end_thinking", "tag": "server",
"summary": "ends the thinking of a running request", "needs": ["id"],
"answer": {"type": "object", "required": ["id", "object", "ended"], "properties": {"id": {"type": "string"},
  "object": {"const": "request.end_thinking"}, "ended": {"type": "boolean"}}}})json";
const char kRuns[] = R"json({"tag": "runs", "summary": "the training runs", "needs": ["id"],
"answer": {"type": "object", "required": ["object", "data"], "properties": {
  "object": {"const": "list"}, "data": {"type": "array", "items": {"type": "object", "required": ["id"], "properties": {
    "id": {"type": "string"}, "object": {"const": "run"}, "step": {"type": "integer"}, "tokens": {"type": "integer"},
    "phase": {"type": "string"}, "updated": {"type": "integer"}, "age_seconds": {"type": "integer"}}}}}}})json";
const char kRun[] = R"json({"path": "/v1/runs/{id}", "tag": "runs", "summary": "metric lines and samples of a run",
"needs": ["id"],
"query": {"after": {"type": "string", "description": "next of an earlier answer: only what was written since"}},
"answer": {"type": "object", "required": ["id", "metrics", "samples"], "properties": {
  "id": {"type": "string"}, "next": {"type": "string"}, "reset": {"type": "boolean"},
  "metrics": {"type": "array", "items": {"type": "object"}}, "samples": {"type": "array", "items": {"type": "object"}}}}})json";
const char kCache[] =
    R"json({"tag": "server", "summary": "what the prefix caches hold, as trees", "needs": ["rights"],
"query": {"text": {"enum": ["true", "false"], "description": "with the beginnings of texts, where the server allows it"}},
"answer": {"type": "object", "required": ["object", "models"], "properties": {
  "object": {"const": "cache"}, "models": {"type": "array", "items": {"type": "object",
    "required": ["model", "memory_bytes", "memory_budget_bytes", "disk", "trees", "omitted_nodes"],
    "properties": {"model": {"type": "string"}, "memory_bytes": {"type": "integer"},
      "memory_budget_bytes": {"type": "integer"}, "disk": {"type": ["object", "null"]},
      "trees": {"type": "array", "items": {"type": "object"}}, "omitted_nodes": {"type": "integer"}}}}}}})json";

const char kSessions[] =
    R"json({"tag": "sessions", "summary": "the saved sessions of the caller's key, or all for an admin",
"answer": {"type": "object", "required": ["object", "data"], "properties": {
  "object": {"const": "list"}, "data": {"type": "array", "items": {"$ref": "#/components/schemas/Session"}}}}})json";
const char kSession[] = R"json({"path": "/v1/sessions/{name}", "tag": "sessions", "summary": "a saved session",
"needs": ["id"], "answer": "Session"})json";
const char kPostSession[] = R"json([{"path": "/v1/sessions/{name}", "tag": "sessions",
  "summary": "saves a chat or a text with its state", "needs": ["page", "model", "run", "disk"], "answer": "Session",
  "body": {"type": "object", "description": "either messages or a prompt", "properties": {
    "model": {"$ref": "#/components/schemas/ModelName"}, "prompt": {"type": ["string", "null"]},
    "messages": {"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/Messages"}]},
    "chat_template_kwargs": {"type": ["object", "null"]}}}},
{"path": "/v1/sessions/{name}/restore", "tag": "sessions", "summary": "puts a saved session into the prefix cache",
  "needs": ["page", "id", "model"], "answer": "Session", "body_optional": true,
  "body": {"type": "object", "properties": {"model": {"$ref": "#/components/schemas/ModelName"}}}}])json";
const char kDeleteSession[] =
    R"json({"path": "/v1/sessions/{name}", "tag": "sessions", "summary": "deletes a session",
"needs": ["id"], "answer": "Deleted"})json";

}  // namespace quern::serve::about
