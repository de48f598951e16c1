// Schemas that several endpoints share.
#include "quern/serve/describe/openapi.h"

namespace quern::serve {
namespace {

constexpr const char* kComponents = R"json({
"Error": {"type": "object", "required": ["error"], "properties": {"error": {
  "type": "object", "required": ["message", "type"], "properties": {
    "message": {"type": "string", "description": "what is wrong, what was found and what to change"},
    "type": {"enum": ["invalid_request_error", "authentication_error", "permission_error", "rate_limit_error", "server_error"]},
    "param": {"type": ["string", "null"], "description": "the field that is wrong"},
    "code": {"type": ["string", "null"]}}}}},
"AnthropicError": {"anyOf": [{"$ref": "#/components/schemas/Error"}, {
  "type": "object", "required": ["type", "error", "request_id"], "properties": {
    "type": {"const": "error"}, "request_id": {"type": "string"},
    "error": {"type": "object", "required": ["type", "message"], "properties": {
      "type": {"type": "string"}, "message": {"type": "string"}}}}}]},
"OllamaError": {"anyOf": [{"$ref": "#/components/schemas/Error"}, {
  "type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}}]},
"Unready": {"type": "object", "required": ["status", "reasons"], "properties": {
  "status": {"const": "unready"}, "reasons": {"type": "array", "items": {"type": "string"}}}},
"MemoryUser": {"type": ["string", "null"], "maxLength": 200,
  "description": "whose memory; a key of the file of keys is a user of its own, and only admin keys name another"},
"MemoryTime": {"type": ["string", "integer", "null"],
  "description": "such as 2026-05-08 13:56, with or without +02:00, or Unix seconds; now by default"},
"MemoryTurn": {"type": "object",
  "required": ["id", "object", "conversation", "user", "speaker", "text", "time", "response", "session"], "properties": {
    "id": {"type": "string"}, "object": {"const": "memory.turn"}, "conversation": {"type": "string"},
    "user": {"type": ["string", "null"]}, "speaker": {"type": "string"}, "text": {"type": "string"},
    "time": {"type": "string", "description": "on the speaker's clock, with its offset"},
    "response": {"type": "integer", "description": "number within the conversation, in order of arrival"},
    "session": {"type": "integer"}, "score": {"type": "number"}}},
"Deleted": {"type": "object", "required": ["deleted"], "properties": {
  "id": {"type": "string"}, "name": {"type": "string"}, "object": {"type": "string"}, "deleted": {"const": true}}},
"ModelName": {"type": ["string", "null"],
  "description": "id of a served model, the first one by default; ID:PLAN thinks by a plan"},
"Prompt": {"description": "a text, token ids, or a list of either", "oneOf": [{"type": "string"},
  {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}},
  {"type": "array", "minItems": 1, "maxItems": 256, "items": {"oneOf": [{"type": "string"},
    {"type": "array", "items": {"type": "integer", "minimum": 0}}]}}]},
"Text": {"type": ["string", "array"], "items": {"type": "object", "required": ["type", "text"], "properties": {
  "type": {"enum": ["text", "input_text", "output_text"]}, "text": {"type": "string"}}},
  "description": "a text, or parts of type text, which are joined"},
"ToolCall": {"type": "object", "required": ["function"], "properties": {
  "id": {"type": "string"}, "type": {"const": "function"},
  "function": {"type": "object", "required": ["name"], "properties": {
    "name": {"type": "string"}, "arguments": {"type": ["string", "object"], "description": "a JSON object, or the text of one"}}}}},
"Message": {"type": "object", "required": ["role"], "properties": {
  "role": {"enum": ["system", "developer", "user", "assistant", "tool"]},
  "content": {"oneOf": [{"$ref": "#/components/schemas/Text"}, {"type": "null"}]},
  "name": {"type": "string"}, "tool_call_id": {"type": "string"}, "reasoning_content": {"type": "string"},
  "tool_calls": {"type": "array", "items": {"$ref": "#/components/schemas/ToolCall"}}}},
"Messages": {"type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/Message"}},
"Tool": {"type": "object", "required": ["type", "function"], "properties": {"type": {"const": "function"},
  "function": {"type": "object", "required": ["name"], "properties": {
    "name": {"type": "string", "pattern": "^[A-Za-z0-9_.:-]{1,128}$"}, "description": {"type": "string"},
    "parameters": {"type": "object", "description": "a JSON Schema of type object"}, "strict": {"type": ["boolean", "null"]}}}}},
"ToolChoice": {"description": "auto, none, required, a named function, or one of some", "oneOf": [
  {"enum": ["auto", "none", "required"]},
  {"type": "object", "required": ["type", "function"], "properties": {"type": {"const": "function"},
    "function": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}}},
  {"type": "object", "required": ["type", "allowed_tools"], "properties": {"type": {"const": "allowed_tools"},
    "allowed_tools": {"type": "object", "required": ["tools"], "properties": {"mode": {"enum": ["auto", "required"]},
      "tools": {"type": "array", "minItems": 1}}}}}]},
"ResponseFormat": {"type": "object", "required": ["type"], "properties": {
  "type": {"enum": ["text", "json_object", "json_schema"]},
  "json_schema": {"type": "object", "properties": {"name": {"type": "string"}, "schema": {"type": "object"}}}}},
"Lora": {"type": ["array", "null"], "description": "the adapters of this request; [] is the base model",
  "items": {"type": "object", "required": ["id"], "properties": {
    "id": {"type": ["string", "integer"]}, "scale": {"type": "number"}}}},
"StreamOptions": {"type": ["object", "null"], "properties": {"include_usage": {"type": ["boolean", "null"]}}},
"Usage": {"type": "object", "required": ["prompt_tokens", "completion_tokens", "total_tokens"], "properties": {
  "prompt_tokens": {"type": "integer", "minimum": 0}, "completion_tokens": {"type": "integer", "minimum": 0},
  "total_tokens": {"type": "integer", "minimum": 0},
  "prompt_tokens_details": {"type": "object", "properties": {"cached_tokens": {"type": "integer", "minimum": 0}}},
  "completion_tokens_details": {"type": "object", "properties": {"reasoning_tokens": {"type": "integer", "minimum": 0}}}}},
"ReadingUsage": {"type": "object", "required": ["prompt_tokens", "total_tokens"], "properties": {
  "prompt_tokens": {"type": "integer"}, "total_tokens": {"type": "integer"},
  "x_truncated_texts": {"type": "integer", "description": "texts that were cut to what an encoder reads"}}},
"Timings": {"type": "object", "required": ["prompt_n", "cache_n", "prompt_ms", "predicted_n", "predicted_ms"],
  "properties": {
  "prompt_n": {"type": "integer"}, "cache_n": {"type": "integer"}, "prompt_ms": {"type": "number"},
  "prompt_per_token_ms": {"type": "number"}, "prompt_per_second": {"type": "number"},
  "predicted_n": {"type": "integer"}, "predicted_ms": {"type": "number"},
  "predicted_per_token_ms": {"type": "number"}, "predicted_per_second": {"type": "number"},
  "draft_n": {"type": "integer"}, "draft_n_accepted": {"type": "integer"},
  "cache_note": {"type": "string", "description": "why no more of the prompt was in the prefix cache"}}},
"ChatLogprobs": {"type": ["object", "null"], "properties": {"content": {"type": "array", "items": {
  "type": "object", "required": ["token", "logprob", "bytes", "top_logprobs"], "properties": {
    "token": {"type": "string"}, "logprob": {"type": "number"}, "bytes": {"type": "array", "items": {"type": "integer"}},
    "top_logprobs": {"type": "array"}}}}}},
"ChatCompletion": {"type": "object", "required": ["id", "object", "created", "model", "choices", "usage"],
  "properties": {
  "id": {"type": "string"}, "object": {"const": "chat.completion"}, "created": {"type": "integer"},
  "model": {"type": "string"}, "usage": {"$ref": "#/components/schemas/Usage"},
  "timings": {"$ref": "#/components/schemas/Timings"},
  "choices": {"type": "array", "minItems": 1, "items": {
    "type": "object", "required": ["index", "message", "finish_reason"], "properties": {
    "index": {"type": "integer"}, "finish_reason": {"enum": ["stop", "length", "tool_calls"]},
    "logprobs": {"$ref": "#/components/schemas/ChatLogprobs"},
    "message": {"type": "object", "required": ["role", "content"], "properties": {
      "role": {"const": "assistant"}, "content": {"type": ["string", "null"]},
      "reasoning_content": {"type": "string"}, "x_warnings": {"type": "array", "items": {"type": "string"}},
      "tool_calls": {"type": "array", "items": {"$ref": "#/components/schemas/ToolCall"}}}}}}}}},
"ChatChunk": {"type": "object", "required": ["id", "object", "created", "model", "choices"], "properties": {
  "id": {"type": "string"}, "object": {"const": "chat.completion.chunk"}, "created": {"type": "integer"},
  "model": {"type": "string"}, "choices": {"type": "array"}, "usage": {"type": ["object", "null"]},
  "prompt_progress": {"$ref": "#/components/schemas/Progress"}},
  "description": "the data of one event; the last event is [DONE]"},
"Progress": {"type": "object", "required": ["total", "cache", "processed", "time_ms"], "properties": {
  "total": {"type": "integer"}, "cache": {"type": "integer"}, "processed": {"type": "integer"},
  "time_ms": {"type": "number"}}},
"TextCompletion": {"type": "object", "required": ["id", "object", "created", "model", "choices"], "properties": {
  "id": {"type": "string"}, "object": {"const": "text_completion"}, "created": {"type": "integer"},
  "model": {"type": "string"}, "usage": {"$ref": "#/components/schemas/Usage"},
  "timings": {"$ref": "#/components/schemas/Timings"},
  "choices": {"type": "array", "items": {"type": "object", "required": ["index", "text", "finish_reason"],
    "properties": {
    "index": {"type": "integer"}, "text": {"type": "string"}, "finish_reason": {"enum": ["stop", "length", null]},
    "logprobs": {"type": ["object", "null"], "properties": {
      "tokens": {"type": "array", "items": {"type": "string"}},
      "token_logprobs": {"type": "array", "items": {"type": ["number", "null"]}},
      "top_logprobs": {"type": "array", "items": {"type": ["object", "null"]}},
      "text_offset": {"type": "array", "items": {"type": "integer"}}}}}}}}},
"Model": {"type": "object", "required": ["id", "object", "created", "owned_by", "loaded"], "properties": {
  "id": {"type": "string"}, "object": {"const": "model"}, "created": {"type": "integer"},
  "owned_by": {"type": "string"}, "loaded": {"type": "boolean"}, "family": {"type": "string"},
  "context_length": {"type": "integer"}}},
"ModelList": {"type": "object", "required": ["object", "data"], "properties": {
  "object": {"const": "list"}, "data": {"type": "array", "items": {"$ref": "#/components/schemas/Model"}}}},
"Adapter": {"type": "object", "required": ["id", "object", "parent", "path", "loaded"], "properties": {
  "id": {"type": "string"}, "object": {"const": "model"}, "parent": {"type": "string"}, "path": {"type": "string"},
  "loaded": {"type": "boolean"}}},
"AnthropicMessage": {"type": "object",
  "required": ["id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"], "properties": {
  "id": {"type": "string"}, "type": {"const": "message"}, "role": {"const": "assistant"}, "model": {"type": "string"},
  "content": {"type": "array", "items": {"type": "object", "required": ["type"], "properties": {
    "type": {"enum": ["text", "thinking", "tool_use"]}}}},
  "stop_reason": {"type": ["string", "null"]},
  "stop_sequence": {"type": ["string", "null"]},
  "usage": {"type": "object", "required": ["input_tokens", "output_tokens"], "properties": {
    "input_tokens": {"type": "integer"}, "output_tokens": {"type": "integer"},
    "cache_read_input_tokens": {"type": "integer"}, "cache_creation_input_tokens": {"type": "integer"}}}}},
"AnthropicRequest": {"type": "object", "required": ["messages", "max_tokens"], "properties": {
  "model": {"$ref": "#/components/schemas/ModelName"}, "max_tokens": {"type": "integer", "minimum": 1},
  "messages": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["role", "content"],
    "properties": {"role": {"enum": ["user", "assistant"]}, "content": {"type": ["string", "array"],
      "items": {"type": "object", "required": ["type"], "properties": {
        "type": {"enum": ["text", "thinking", "redacted_thinking", "tool_use", "tool_result", "document", "search_result"]}, "text": {"type": "string"}}}}}}},
  "system": {"type": ["string", "array", "null"], "items": {"type": "object", "required": ["type", "text"],
    "properties": {"type": {"const": "text"}, "text": {"type": "string"}}}},
  "temperature": {"type": ["number", "null"], "minimum": 0, "maximum": 100},
  "top_p": {"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": 1},
  "top_k": {"type": ["integer", "null"], "minimum": -1},
  "stop_sequences": {"type": ["array", "null"], "maxItems": 16, "items": {"type": "string", "minLength": 1}},
  "stream": {"type": ["boolean", "null"]},
  "tools": {"type": ["array", "null"], "items": {"type": "object", "required": ["name", "input_schema"],
    "properties": {"name": {"type": "string", "pattern": "^[A-Za-z0-9_.:-]{1,128}$"},
      "description": {"type": "string"}, "input_schema": {"type": "object"}}}},
  "tool_choice": {"type": ["object", "null"], "required": ["type"], "properties": {
    "type": {"enum": ["auto", "any", "tool", "none"]}, "name": {"type": "string"}}},
  "output_config": {"type": ["object", "null"], "properties": {"effort": {"type": ["string", "null"]},
    "format": {"type": ["object", "null"]}}}, "context_management": {"type": ["object", "null"]},
  "thinking": {"type": ["object", "null"], "required": ["type"], "properties": {
    "type": {"enum": ["enabled", "disabled", "adaptive"]}, "budget_tokens": {"type": "integer", "minimum": 1}}},
  "timeout": {"type": ["number", "null"], "minimum": 0.001, "maximum": 1000000}}},
"ResponseRequest": {"type": "object", "required": ["input"], "properties": {
  "model": {"$ref": "#/components/schemas/ModelName"}, "instructions": {"type": ["string", "null"]},
  "input": {"oneOf": [{"type": "string"}, {"type": "array", "minItems": 1, "items": {"type": "object", "properties": {
    "type": {"enum": ["message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
      "reasoning", "item_reference"]},
    "role": {"enum": ["user", "assistant", "system", "developer"]},
    "content": {"$ref": "#/components/schemas/Text"}}}}]},
  "max_output_tokens": {"type": ["integer", "null"], "minimum": 1, "maximum": 2147483648},
  "previous_response_id": {"type": ["string", "null"]}, "store": {"type": ["boolean", "null"]},
  "stream": {"type": ["boolean", "null"]}, "temperature": {"type": ["number", "null"], "minimum": 0, "maximum": 100},
  "top_p": {"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": 1},
  "seed": {"type": ["integer", "null"]},
  "tools": {"type": ["array", "null"], "items": {"type": "object", "required": ["type", "name"], "properties": {
    "type": {"enum": ["function", "custom"]}, "name": {"type": "string", "pattern": "^[A-Za-z0-9_.:-]{1,128}$"},
    "description": {"type": ["string", "null"]}, "parameters": {"type": ["object", "null"]}}}},
  "tool_choice": {"oneOf": [{"enum": ["auto", "none", "required"]},
    {"type": "object", "required": ["type"], "properties": {"type": {"enum": ["function", "custom", "allowed_tools"]},
      "name": {"type": "string"}, "mode": {"enum": ["auto", "required"]}, "tools": {"type": "array"}}}]},
  "parallel_tool_calls": {"type": ["boolean", "null"]},
  "text": {"type": ["object", "null"], "properties": {"format": {"type": "object", "required": ["type"], "properties": {
    "type": {"enum": ["text", "json_object", "json_schema"]}, "schema": {"type": "object"}}}}},
  "reasoning": {"type": ["object", "null"], "properties": {"effort": {"type": ["string", "null"]},
    "summary": {"type": ["string", "null"]}}},
  "include": {"type": ["array", "null"], "items": {"enum": ["reasoning.encrypted_content",
    "message.output_text.logprobs"]}}, "top_logprobs": {"type": ["integer", "null"], "minimum": 0, "maximum": 20},
  "metadata": {"type": ["object", "null"]}, "truncation": {"enum": ["disabled", null]},
  "timeout": {"type": ["number", "null"], "minimum": 0.001, "maximum": 1000000}}},
"Response": {"type": "object", "required": ["id", "object", "created_at", "status", "model", "output"], "properties": {
  "id": {"type": "string"}, "object": {"const": "response"}, "created_at": {"type": "integer"},
  "status": {"enum": ["completed", "incomplete", "failed", "in_progress", "cancelled", "queued"]},
  "model": {"type": "string"},
  "output": {"type": "array", "items": {"type": "object", "required": ["type"], "properties": {
    "type": {"enum": ["message", "reasoning", "function_call", "custom_tool_call"]}}}},
  "previous_response_id": {"type": ["string", "null"]}, "usage": {"type": ["object", "null"]}}},
"Document": {"oneOf": [{"type": "string"}, {"type": "object", "required": ["text"], "properties": {
  "text": {"type": "string"}}}]},
"Session": {"type": "object", "required": ["object", "name"], "properties": {
  "object": {"const": "session"}, "name": {"type": "string"}, "model": {"type": "string"},
  "created": {"type": "integer"}, "tokens": {"type": "integer"}, "bytes": {"type": "integer"},
  "seconds": {"type": "number"}, "error": {"type": "string"}}},
"Slot": {"type": "object", "required": ["id", "model", "state", "is_processing", "generated_tokens", "age_seconds"],
  "properties": {
  "id": {"type": "string", "description": "of the HTTP request"}, "model": {"type": "string"},
  "state": {"enum": ["waiting", "reading", "answering", "thinking"]}, "is_processing": {"type": "boolean"},
  "n_ctx": {"type": "integer"}, "prompt_tokens": {"type": "integer"}, "read_tokens": {"type": "integer"},
  "cached_tokens": {"type": "integer"}, "generated_tokens": {"type": "integer"}, "max_tokens": {"type": "integer"},
  "age_seconds": {"type": "number"}, "prompt": {"type": "string"}, "generated": {"type": "string"}}},
"LlamaCompletion": {"type": "object", "required": ["content", "stop"], "properties": {
  "index": {"type": "integer"}, "content": {"type": "string"}, "tokens": {"$ref": "#/components/schemas/TokenIds"},
  "id_slot": {"type": "integer"}, "stop": {"type": "boolean"}, "model": {"type": "string"},
  "tokens_predicted": {"type": "integer"}, "tokens_evaluated": {"type": "integer"},
  "tokens_cached": {"type": "integer"}, "generation_settings": {"type": "object"}, "prompt": {"type": "string"},
  "truncated": {"const": false}, "has_new_line": {"type": "boolean"},
  "stop_type": {"enum": ["none", "eos", "limit", "word"]}, "stopping_word": {"type": "string"},
  "completion_probabilities": {"type": "array"}, "timings": {"$ref": "#/components/schemas/Timings"},
  "prompt_progress": {"$ref": "#/components/schemas/Progress"}}},
"OllamaFormat": {"description": "json, or a JSON Schema", "oneOf": [{"enum": ["json", "", null]}, {"type": "object"}]},
"OllamaKeepAlive": {"type": ["string", "number", "null"], "description": "a duration as 5m, or seconds; 0 unloads"},
"OllamaOptions": {"type": ["object", "null"], "properties": {
  "num_predict": {"type": "integer", "minimum": -2}, "temperature": {"type": "number", "minimum": 0, "maximum": 100},
  "top_k": {"type": "integer", "minimum": -1}, "top_p": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
  "min_p": {"type": "number", "minimum": 0, "maximum": 1}, "repeat_penalty": {"type": "number", "minimum": 0.01, "maximum": 100},
  "presence_penalty": {"type": "number", "minimum": -2, "maximum": 2},
  "frequency_penalty": {"type": "number", "minimum": -2, "maximum": 2},
  "seed": {"type": "integer"}, "stop": {"type": ["string", "array"], "items": {"type": "string", "minLength": 1}, "minLength": 1}}},
"OllamaCounts": {"type": "object", "required": ["model", "created_at", "done"], "properties": {
  "model": {"type": "string"}, "created_at": {"type": "string", "format": "date-time"}, "done": {"type": "boolean"},
  "done_reason": {"enum": ["stop", "length", "load", "unload"]}, "total_duration": {"type": "integer"},
  "load_duration": {"type": "integer"}, "prompt_eval_count": {"type": "integer"},
  "prompt_eval_duration": {"type": "integer"}, "eval_count": {"type": "integer"}, "eval_duration": {"type": "integer"}}},
"OllamaChat": {"allOf": [{"$ref": "#/components/schemas/OllamaCounts"}, {"required": ["message"], "properties": {
  "message": {"type": "object", "required": ["role", "content"], "properties": {
    "role": {"const": "assistant"}, "content": {"type": "string"}, "thinking": {"type": "string"},
    "tool_calls": {"type": "array", "items": {"type": "object", "required": ["function"]}}}}}}]},
"OllamaGenerated": {"allOf": [{"$ref": "#/components/schemas/OllamaCounts"}, {"required": ["response"], "properties": {
  "response": {"type": "string"}, "thinking": {"type": "string"},
  "context": {"$ref": "#/components/schemas/TokenIds"}}}]},
"OllamaModel": {"type": "object", "required": ["name", "model", "size", "digest", "details"], "properties": {
  "name": {"type": "string"}, "model": {"type": "string"}, "size": {"type": "integer"}, "digest": {"type": "string"},
  "modified_at": {"type": "string", "format": "date-time"}, "expires_at": {"type": "string", "format": "date-time"},
  "size_vram": {"type": "integer"}, "context_length": {"type": "integer"},
  "details": {"type": "object", "required": ["format", "family", "families"], "properties": {
    "parent_model": {"type": "string"}, "format": {"type": "string"}, "family": {"type": "string"},
    "families": {"type": "array", "items": {"type": "string"}}, "parameter_size": {"type": "string"},
    "quantization_level": {"type": "string"}}}}},
"File": {"type": "object", "required": ["id", "object", "bytes", "created_at", "filename", "purpose"], "properties": {
  "id": {"type": "string"}, "object": {"const": "file"}, "bytes": {"type": "integer"}, "created_at": {"type": "integer"},
  "filename": {"type": "string"}, "purpose": {"type": "string"}, "status": {"type": "string"}}},
"Batch": {"type": "object", "required": ["id", "object", "endpoint", "input_file_id", "completion_window", "status",
  "created_at", "request_counts"], "properties": {
  "id": {"type": "string"}, "object": {"const": "batch"}, "endpoint": {"type": "string"},
  "input_file_id": {"type": "string"}, "completion_window": {"type": "string"},
  "status": {"enum": ["validating", "failed", "in_progress", "finalizing", "completed", "expired", "cancelling",
    "cancelled"]},
  "output_file_id": {"type": ["string", "null"]}, "error_file_id": {"type": ["string", "null"]},
  "created_at": {"type": "integer"}, "expires_at": {"type": "integer"},
  "request_counts": {"type": "object", "required": ["total", "completed", "failed"]},
  "errors": {"type": ["object", "null"]}, "metadata": {"type": ["object", "null"]}}},
"Page": {"type": "object", "required": ["object", "data", "first_id", "last_id", "has_more"], "properties": {
  "object": {"const": "list"}, "first_id": {"type": ["string", "null"]}, "last_id": {"type": ["string", "null"]},
  "has_more": {"type": "boolean"}}},
"TokenIds": {"type": "array", "items": {"type": "integer", "minimum": 0}}
})json";

}  // namespace

Json component_schemas() { return Json::parse(kComponents, "the schemas of the server"); }

}  // namespace quern::serve
