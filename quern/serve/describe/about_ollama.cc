// The endpoints of Ollama.
#include "quern/serve/describe/about.h"

namespace quern::serve::about {

const char kOllamaChat[] =
    R"json({"tag": "Ollama", "summary": "a chat: streamed as lines of JSON unless stream is false",
"needs": ["model", "run"], "error": "OllamaError", "answer": "OllamaChat", "stream": "OllamaChat",
"stream_type": "application/x-ndjson",
"body": {"type": "object", "required": ["model"], "properties": {
  "model": {"type": "string"}, "stream": {"type": ["boolean", "null"]},
  "messages": {"type": ["array", "null"], "description": "none: the model is loaded, or unloaded with keep_alive 0",
    "items": {"type": "object", "required": ["role"], "properties": {
      "role": {"enum": ["system", "user", "assistant", "tool"]}, "content": {"type": ["string", "null"]},
      "thinking": {"type": ["string", "null"]}, "tool_name": {"type": ["string", "null"]},
      "tool_calls": {"type": ["array", "null"], "items": {"type": "object", "required": ["function"], "properties": {
        "function": {"type": "object", "required": ["name"], "properties": {
          "name": {"type": "string"}, "arguments": {"type": "object"}}}}}}}}},
  "tools": {"type": ["array", "null"], "items": {"$ref": "#/components/schemas/Tool"}},
  "think": {"type": ["boolean", "string", "null"]}, "format": {"$ref": "#/components/schemas/OllamaFormat"},
  "options": {"$ref": "#/components/schemas/OllamaOptions"},
  "keep_alive": {"$ref": "#/components/schemas/OllamaKeepAlive"}}}})json";

const char kOllamaGenerate[] = R"json({"tag": "Ollama",
"summary": "an answer to a prompt: streamed as lines of JSON unless stream is false",
"needs": ["model", "run"], "error": "OllamaError", "answer": "OllamaGenerated", "stream": "OllamaGenerated",
"stream_type": "application/x-ndjson",
"body": {"type": "object", "required": ["model"], "properties": {
  "model": {"type": "string"}, "stream": {"type": ["boolean", "null"]},
  "prompt": {"type": ["string", "null"], "description": "none: the model is loaded, or unloaded with keep_alive 0"},
  "suffix": {"type": ["string", "null"], "description": "for models with fill-in-the-middle tokens"},
  "system": {"type": ["string", "null"]}, "raw": {"type": ["boolean", "null"]},
  "context": {"type": ["array", "null"], "items": {"type": "integer", "minimum": 0}},
  "think": {"type": ["boolean", "string", "null"]}, "format": {"$ref": "#/components/schemas/OllamaFormat"},
  "options": {"$ref": "#/components/schemas/OllamaOptions"},
  "keep_alive": {"$ref": "#/components/schemas/OllamaKeepAlive"}}}})json";

const char kOllamaTags[] = R"json({"tag": "Ollama", "summary": "the served models", "error": "OllamaError",
"answer": {"type": "object", "required": ["models"], "properties": {
  "models": {"type": "array", "items": {"$ref": "#/components/schemas/OllamaModel"}}}}})json";
const char kOllamaPs[] = R"json({"tag": "Ollama", "summary": "the loaded models", "error": "OllamaError",
"answer": {"type": "object", "required": ["models"], "properties": {"models": {"type": "array", "items": {
  "allOf": [{"$ref": "#/components/schemas/OllamaModel"}, {"required": ["expires_at", "size_vram", "context_length"]}]}}}}})json";
const char kOllamaVersion[] =
    R"json({"tag": "Ollama", "summary": "the version of the program", "error": "OllamaError",
"answer": {"type": "object", "required": ["version"], "properties": {"version": {"type": "string"}}}})json";
const char kOllamaShow[] = R"json({"tag": "Ollama", "summary": "a model: template, sizes, capabilities",
"needs": ["model"], "error": "OllamaError",
"body": {"type": "object", "properties": {"model": {"type": "string"}, "name": {"type": "string"},
  "verbose": {"type": ["boolean", "null"]}}},
"answer": {"type": "object", "required": ["modelfile", "template", "details", "model_info", "capabilities"],
  "properties": {"modelfile": {"type": "string"}, "template": {"type": "string"}, "parameters": {"type": "string"},
  "details": {"type": "object"}, "model_info": {"type": "object"}, "modified_at": {"type": "string"},
  "capabilities": {"type": "array", "items": {"enum": ["completion", "tools", "thinking", "insert", "embedding"]}}}}})json";
const char kOllamaEmbed[] = R"json({"tag": "Ollama", "summary": "vectors of texts", "needs": ["model"],
"error": "OllamaError",
"body": {"type": "object", "required": ["model", "input"], "properties": {"model": {"type": "string"},
  "input": {"type": ["string", "array"], "items": {"type": "string"}, "maxItems": 2048},
  "truncate": {"type": ["boolean", "null"]}, "dimensions": {"type": ["integer", "null"], "minimum": 1},
  "options": {"$ref": "#/components/schemas/OllamaOptions"},
  "keep_alive": {"$ref": "#/components/schemas/OllamaKeepAlive"}}},
"answer": {"type": "object", "required": ["model", "embeddings", "total_duration", "load_duration", "prompt_eval_count"],
  "properties": {"model": {"type": "string"}, "total_duration": {"type": "integer"}, "load_duration": {"type": "integer"},
  "prompt_eval_count": {"type": "integer"},
  "embeddings": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}}}}})json";
const char kOllamaEmbeddings[] = R"json({"tag": "Ollama", "summary": "the vector of a text", "needs": ["model"],
"error": "OllamaError",
"body": {"type": "object", "required": ["model", "prompt"], "properties": {"model": {"type": "string"},
  "prompt": {"type": "string"}, "options": {"$ref": "#/components/schemas/OllamaOptions"},
  "keep_alive": {"$ref": "#/components/schemas/OllamaKeepAlive"}}},
"answer": {"type": "object", "required": ["embedding"], "properties": {
  "embedding": {"type": "array", "items": {"type": "number"}}}}})json";

// The server serves what it was started with: these are refused, always.
const char kOllamaPull[] = R"json({"tag": "Ollama", "summary": "refused: this server downloads nothing",
"needs": ["refused", "rights"], "error": "OllamaError", "body": {"type": "object"}, "answer": "OllamaError"})json";
const char kOllamaPush[] = R"json({"tag": "Ollama", "summary": "refused: this server uploads nothing",
"needs": ["refused", "rights"], "error": "OllamaError", "body": {"type": "object"}, "answer": "OllamaError"})json";
const char kOllamaCreate[] = R"json({"tag": "Ollama", "summary": "refused: this server makes no models",
"needs": ["refused", "rights"], "error": "OllamaError", "body": {"type": "object"}, "answer": "OllamaError"})json";
const char kOllamaCopy[] = R"json({"tag": "Ollama", "summary": "refused: this server copies no models",
"needs": ["refused", "rights"], "error": "OllamaError", "body": {"type": "object"}, "answer": "OllamaError"})json";
const char kOllamaDelete[] = R"json({"tag": "Ollama", "summary": "refused: this server deletes no models",
"needs": ["refused", "rights"], "error": "OllamaError", "body": {"type": "object"}, "answer": "OllamaError"})json";

}  // namespace quern::serve::about
