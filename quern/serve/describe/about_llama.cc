// The endpoints of llama-server that OpenAI does not have.
#include "quern/serve/describe/about.h"

namespace quern::serve::about {

const char kLlamaCompletion[] = R"json({"tag": "llama-server", "summary": "text after a text: whole or streamed",
"needs": ["model", "run"], "generation": true, "answer": "LlamaCompletion", "stream": "LlamaCompletion",
"body": {"type": "object", "required": ["prompt"], "properties": {
  "model": {"$ref": "#/components/schemas/ModelName"},
  "prompt": {"description": "a text, token ids, or a list that mixes both",
    "oneOf": [{"type": "string"}, {"type": "array", "minItems": 1, "items": {"type": ["string", "integer"]}}]},
  "n_predict": {"type": ["integer", "null"], "minimum": -1, "description": "-1: up to the end of the context"},
  "max_tokens": {"type": ["integer", "null"], "minimum": -1},
  "stream": {"type": ["boolean", "null"]}, "n_probs": {"type": ["integer", "null"], "minimum": 0, "maximum": 20},
  "repeat_penalty": {"type": ["number", "null"], "minimum": 0.01, "maximum": 100},
  "logit_bias": {"description": "an object, or pairs of a token id or a text and a number, or false",
    "type": ["object", "array", "boolean", "null"]},
  "json_schema": {"type": ["object", "null"]}, "grammar": {"type": ["string", "null"]},
  "cache_prompt": {"type": ["boolean", "null"]}, "id_slot": {"type": ["integer", "null"]},
  "return_tokens": {"type": ["boolean", "null"]},
  "return_progress": {"type": ["boolean", "null"]}, "ignore_eos": {"type": ["boolean", "null"]},
  "t_max_predict_ms": {"type": ["number", "null"], "minimum": 0},
  "lora": {"$ref": "#/components/schemas/Lora"}}}})json";

const char kInfill[] = R"json({"tag": "llama-server", "summary": "the text between two texts (fill in the middle)",
"needs": ["model", "run"], "generation": true, "answer": "LlamaCompletion", "stream": "LlamaCompletion",
"body": {"type": "object", "required": ["input_prefix", "input_suffix"], "properties": {
  "model": {"$ref": "#/components/schemas/ModelName"},
  "input_prefix": {"type": "string"}, "input_suffix": {"type": "string"}, "prompt": {"type": ["string", "null"]},
  "input_extra": {"type": ["array", "null"], "items": {"type": "object", "required": ["text"], "properties": {
    "filename": {"type": "string"}, "text": {"type": "string"}}}},
  "n_predict": {"type": ["integer", "null"], "minimum": -1}, "stream": {"type": ["boolean", "null"]}}}})json";

const char kLlamaEmbedding[] = R"json({"tag": "llama-server", "summary": "vectors of texts", "needs": ["model"],
"body": {"type": "object", "properties": {
  "model": {"$ref": "#/components/schemas/ModelName"},
  "content": {"$ref": "#/components/schemas/Prompt"}, "input": {"$ref": "#/components/schemas/Prompt"}}},
"answer": {"type": "array", "items": {"type": "object", "required": ["index", "embedding"], "properties": {
  "index": {"type": "integer"},
  "embedding": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}}}}}})json";

}  // namespace quern::serve::about
