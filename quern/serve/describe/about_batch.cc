// The endpoints of OpenAI's Batch API.
#include "quern/serve/describe/about.h"

namespace quern::serve::about {

const char kPostFile[] = R"json({"tag": "batch", "summary": "uploads a file", "needs": ["rights", "disk"], "answer": "File",
"body_type": "multipart/form-data",
"body": {"type": "object", "required": ["file", "purpose"], "properties": {
  "file": {"type": "string", "contentMediaType": "application/octet-stream"}, "purpose": {"const": "batch"}}}})json";
const char kFiles[] = R"json({"tag": "batch", "summary": "the files of the caller's key, or all for an admin, newest first",
"query": {"purpose": {"type": "string"}, "after": {"type": "string", "description": "the id before the page"},
  "limit": {"type": "integer", "minimum": 1, "maximum": 10000}},
"answer": {"allOf": [{"$ref": "#/components/schemas/Page"}, {"properties": {
  "data": {"type": "array", "items": {"$ref": "#/components/schemas/File"}}}}]}})json";
const char kFile[] = R"json([{"path": "/v1/files/{file_id}", "tag": "batch", "summary": "the facts of a file",
  "needs": ["id"], "answer": "File"},
{"path": "/v1/files/{file_id}/content", "tag": "batch", "summary": "a file", "needs": ["id"],
  "answer_type": "application/octet-stream", "answer": {"type": "string"}}])json";
const char kDeleteFile[] = R"json({"path": "/v1/files/{file_id}", "tag": "batch", "summary": "deletes a file",
"needs": ["rights", "id"], "answer": "Deleted"})json";

const char kPostBatch[] = R"json({"tag": "batch", "summary": "runs the requests of a file", "needs": ["rights", "id", "disk"],
"answer": "Batch",
"body": {"type": "object", "required": ["input_file_id", "endpoint", "completion_window"], "properties": {
  "input_file_id": {"type": "string"}, "completion_window": {"const": "24h"},
  "endpoint": {"enum": ["/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses"]},
  "metadata": {"type": ["object", "null"], "maxProperties": 16,
    "additionalProperties": {"type": "string", "maxLength": 512}}}}})json";
const char kBatches[] = R"json({"tag": "batch", "summary": "the batches of the caller's key, or all for an admin, newest first",
"query": {"after": {"type": "string", "description": "the id before the page"},
  "limit": {"type": "integer", "minimum": 1, "maximum": 100}},
"answer": {"allOf": [{"$ref": "#/components/schemas/Page"}, {"properties": {
  "data": {"type": "array", "items": {"$ref": "#/components/schemas/Batch"}}}}]}})json";
const char kBatch[] = R"json({"path": "/v1/batches/{batch_id}", "tag": "batch", "summary": "a batch", "needs": ["id"],
"answer": "Batch"})json";
const char kCancelBatch[] = R"json({"path": "/v1/batches/{batch_id}/cancel", "tag": "batch",
"summary": "cancels a batch; what is done is kept", "needs": ["rights", "id", "conflict", "disk"], "answer": "Batch"})json";

}  // namespace quern::serve::about
