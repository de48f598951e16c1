// The endpoints of OpenAI's API, and the reranking ones of Jina, Cohere and vLLM.
#include "quern/serve/describe/about.h"

namespace quern::serve::about {

const char kChat[] = R"json({"tag": "generation", "summary": "a chat: whole or streamed",
"needs": ["model", "run", "rights"], "generation": true, "answer": "ChatCompletion", "stream": "ChatChunk",
"body": {"type": "object", "required": ["messages"], "properties": {
  "model": {"$ref": "#/components/schemas/ModelName"}, "messages": {"$ref": "#/components/schemas/Messages"},
  "max_tokens": {"type": ["integer", "null"], "minimum": 1, "maximum": 2147483648},
  "max_completion_tokens": {"type": ["integer", "null"], "minimum": 1, "maximum": 2147483648},
  "n": {"type": ["integer", "null"], "minimum": 1, "maximum": 64},
  "stream": {"type": ["boolean", "null"]}, "stream_options": {"$ref": "#/components/schemas/StreamOptions"},
  "logprobs": {"type": ["boolean", "null"]},
  "top_logprobs": {"type": ["integer", "null"], "minimum": 0, "maximum": 20, "description": "needs logprobs"},
  "tools": {"type": ["array", "null"], "maxItems": 512, "items": {"$ref": "#/components/schemas/Tool"}},
  "tool_choice": {"$ref": "#/components/schemas/ToolChoice"}, "parallel_tool_calls": {"type": ["boolean", "null"]},
  "response_format": {"$ref": "#/components/schemas/ResponseFormat"},
  "structured_outputs": {"type": ["object", "null"], "description": "json, json_object, regex, choice or grammar"},
  "grammar": {"type": ["string", "null"]}, "regex": {"type": ["string", "null"]},
  "chat_template_kwargs": {"type": ["object", "null"]}, "reasoning_effort": {"type": ["string", "null"]},
  "thinking_budget": {"type": ["integer", "null"], "minimum": 0, "maximum": 2147483648},
  "x_think": {"type": ["string", "object", "null"], "description": "a plan for test-time compute"},
  "x_memory": {"type": ["boolean", "object", "null"]}, "x_documents": {"type": ["boolean", "object", "null"]},
  "mcp": {"type": ["boolean", "object", "null"], "description": "tools of MCP servers"},
  "speculative": {"type": ["object", "string", "boolean", "null"]}, "ignore_eos": {"type": ["boolean", "null"]},
  "lora": {"$ref": "#/components/schemas/Lora"}, "return_progress": {"type": ["boolean", "null"]},
  "continue_final_message": {"type": ["boolean", "null"], "description": "the last message begins the answer"},
  "timeout": {"type": ["number", "null"], "minimum": 0.001, "maximum": 1000000}}}})json";

const char kCompletions[] = R"json({"tag": "generation", "summary": "text after a text: whole or streamed",
"needs": ["model", "run"], "generation": true, "answer": "TextCompletion", "stream": "TextCompletion",
"body": {"type": "object", "required": ["prompt"], "properties": {
  "model": {"$ref": "#/components/schemas/ModelName"}, "prompt": {"$ref": "#/components/schemas/Prompt"},
  "max_tokens": {"type": ["integer", "null"], "minimum": 0, "maximum": 2147483648, "description": "16 by default"},
  "n": {"type": ["integer", "null"], "minimum": 1, "maximum": 64},
  "best_of": {"type": ["integer", "null"], "minimum": 1, "maximum": 64, "description": "must equal n"},
  "echo": {"type": ["boolean", "null"]},
  "logprobs": {"type": ["integer", "boolean", "null"], "minimum": 0, "maximum": 20},
  "stream": {"type": ["boolean", "null"]}, "stream_options": {"$ref": "#/components/schemas/StreamOptions"},
  "response_format": {"$ref": "#/components/schemas/ResponseFormat"},
  "structured_outputs": {"type": ["object", "null"]},
  "grammar": {"type": ["string", "null"]}, "regex": {"type": ["string", "null"]},
  "speculative": {"type": ["object", "string", "boolean", "null"]}, "ignore_eos": {"type": ["boolean", "null"]},
  "lora": {"$ref": "#/components/schemas/Lora"}, "return_progress": {"type": ["boolean", "null"]},
  "timeout": {"type": ["number", "null"], "minimum": 0.001, "maximum": 1000000}}}})json";

const char kEmbeddings[] = R"json({"tag": "reading", "summary": "vectors of texts, of length 1", "needs": ["model"],
"body": {"type": "object", "required": ["input"], "properties": {
  "model": {"$ref": "#/components/schemas/ModelName"}, "input": {"$ref": "#/components/schemas/Prompt"},
  "encoding_format": {"enum": ["float", "base64", null]},
  "dimensions": {"type": ["integer", "null"], "minimum": 1, "description": "must be the model's own"}}},
"answer": {"type": "object", "required": ["object", "data", "model", "usage"], "properties": {
  "object": {"const": "list"}, "model": {"type": "string"}, "usage": {"$ref": "#/components/schemas/ReadingUsage"},
  "data": {"type": "array", "items": {"type": "object", "required": ["object", "index", "embedding"], "properties": {
    "object": {"const": "embedding"}, "index": {"type": "integer"},
    "embedding": {"type": ["array", "string"], "items": {"type": "number"}}}}}}}})json";

const char kRerank[] = R"json({"tag": "reading", "summary": "documents by relevance to a query", "needs": ["model"],
"body": {"type": "object", "required": ["query", "documents"], "properties": {
  "model": {"$ref": "#/components/schemas/ModelName"}, "query": {"type": "string", "minLength": 1},
  "documents": {"type": "array", "minItems": 1, "maxItems": 10000, "items": {"$ref": "#/components/schemas/Document"}},
  "top_n": {"type": ["integer", "null"], "minimum": 1}, "return_documents": {"type": ["boolean", "null"]},
  "x_score": {"enum": ["words", "meaning", "both", "model", null]}}},
"answer": {"type": "object", "required": ["id", "object", "model", "results", "usage"], "properties": {
  "id": {"type": "string"}, "object": {"const": "list"}, "model": {"type": "string"},
  "usage": {"$ref": "#/components/schemas/ReadingUsage"},
  "results": {"type": "array", "items": {"type": "object", "required": ["index", "relevance_score"], "properties": {
    "index": {"type": "integer"}, "relevance_score": {"type": "number"},
    "document": {"type": "object", "required": ["text"]}}}}}}})json";

const char kScore[] = R"json({"tag": "reading", "summary": "relevance of texts to texts", "needs": ["model"],
"body": {"type": "object", "required": ["text_1", "text_2"], "properties": {
  "model": {"$ref": "#/components/schemas/ModelName"},
  "text_1": {"type": ["string", "array"], "minItems": 1, "items": {"type": "string"}},
  "text_2": {"type": ["string", "array"], "minItems": 1, "maxItems": 10000, "items": {"type": "string"}},
  "x_score": {"enum": ["words", "meaning", "both", "model", null]}}},
"answer": {"type": "object", "required": ["id", "object", "created", "model", "data", "usage"], "properties": {
  "id": {"type": "string"}, "object": {"const": "list"}, "created": {"type": "integer"}, "model": {"type": "string"},
  "usage": {"$ref": "#/components/schemas/ReadingUsage"},
  "data": {"type": "array", "items": {"type": "object", "required": ["index", "object", "score"], "properties": {
    "index": {"type": "integer"}, "object": {"const": "score"}, "score": {"type": "number"}}}}}}})json";

const char kResponses[] = R"json({"tag": "generation", "summary": "a response, which a later one may continue",
"needs": ["model", "id", "run"], "answer": "Response",
"stream": {"type": "object", "required": ["type", "sequence_number"], "properties": {
  "type": {"type": "string", "pattern": "^response\\."}, "sequence_number": {"type": "integer"}}},
"body": "ResponseRequest"})json";

const char kInputTokens[] = R"json({"tag": "reading", "summary": "how many tokens a response's request has",
"needs": ["model", "id"], "body": "ResponseRequest",
"answer": {"type": "object", "required": ["object", "input_tokens"], "properties": {
  "object": {"const": "response.input_tokens"}, "input_tokens": {"type": "integer", "minimum": 0}}}})json";

const char kResponse[] = R"json([{"path": "/v1/responses/{response_id}", "tag": "generation",
  "summary": "a stored response", "needs": ["id"], "answer": "Response"},
{"path": "/v1/responses/{response_id}/input_items", "tag": "generation",
  "summary": "the input items of a stored response", "needs": ["id"],
  "answer": {"type": "object", "required": ["object", "data", "has_more"], "properties": {
    "object": {"const": "list"}, "data": {"type": "array"}, "has_more": {"type": "boolean"}}}}])json";

const char kDeleteResponse[] = R"json({"path": "/v1/responses/{response_id}", "tag": "generation",
"summary": "deletes a stored response", "needs": ["id"], "answer": "Deleted"})json";

}  // namespace quern::serve::about
