// The memory of conversations, and the search index.
#include "quern/serve/describe/about.h"

namespace quern::serve::about {

const char kAddMemory[] =
    R"json({"tag": "memory", "summary": "adds turns to a conversation", "needs": ["page", "user", "id"],
"answer": {"type": "object", "required": ["object", "conversation", "user", "data", "notes"], "properties": {
  "object": {"const": "list"}, "conversation": {"type": "string"}, "user": {"type": ["string", "null"]},
  "data": {"type": "array", "items": {"type": "object", "required": ["id", "response", "session", "notes"], "properties": {
    "id": {"type": "string"}, "response": {"type": "integer"}, "session": {"type": "integer"},
    "notes": {"type": "array", "items": {"type": "string"}}}}},
  "notes": {"type": "array", "items": {"type": "string"}}}},
"body": {"type": "object", "additionalProperties": false, "properties": {
  "conversation": {"type": ["string", "null"], "minLength": 1, "maxLength": 200, "description": "made if it is missing; chat by default"},
  "user": {"$ref": "#/components/schemas/MemoryUser"},
  "zone": {"type": ["string", "null"], "description": "time zone of a new conversation, such as Europe/Berlin"},
  "turns": {"type": ["array", "null"], "minItems": 1, "maxItems": 10000, "items": {"type": "object", "required": ["text"],
    "additionalProperties": false, "properties": {
      "speaker": {"type": ["string", "null"], "minLength": 1, "maxLength": 200}, "text": {"type": "string", "minLength": 1},
      "time": {"$ref": "#/components/schemas/MemoryTime"}}}},
  "speaker": {"type": ["string", "null"], "minLength": 1, "maxLength": 200, "description": "of one turn; user by default"},
  "text": {"type": ["string", "null"], "minLength": 1, "description": "of one turn, instead of turns"},
  "time": {"$ref": "#/components/schemas/MemoryTime"}}}})json";

const char kMemoryTurns[] = R"json({"tag": "memory", "summary": "the turns of a conversation, in order of time",
"needs": ["user", "id"],
"query": {"conversation": {"type": "string", "minLength": 1, "maxLength": 200, "description": "chat by default"},
  "user": {"type": "string", "maxLength": 200}, "order": {"enum": ["asc", "desc"]},
  "after": {"type": "string", "description": "the id before the page"},
  "limit": {"type": "integer", "minimum": 1, "maximum": 1000}},
"answer": {"allOf": [{"$ref": "#/components/schemas/Page"}, {"required": ["total"], "properties": {
  "total": {"type": "integer"}, "data": {"type": "array", "items": {"$ref": "#/components/schemas/MemoryTurn"}}}}]}})json";

const char kDeleteMemoryTurn[] = R"json({"path": "/v1/memory/turns/{turn_id}", "tag": "memory",
"summary": "deletes a turn permanently", "needs": ["page", "id"], "answer": "Deleted"})json";

const char kSearchMemory[] = R"json({"tag": "memory", "summary": "finds turns by time, speaker and topic",
"needs": ["user", "id"],
"answer": {"type": "object", "required": ["object", "question", "found", "data", "plans", "notes"], "properties": {
  "object": {"const": "memory.search"}, "question": {"type": "string"}, "found": {"type": "integer"},
  "data": {"type": "array", "items": {"$ref": "#/components/schemas/MemoryTurn"},
    "description": "best first where a topic was searched, else in order of time"},
  "plans": {"type": "array", "items": {"type": "object", "required": ["conversation", "route", "chain"], "properties": {
    "conversation": {"type": "string"}, "user": {"type": ["string", "null"]},
    "route": {"enum": ["time", "topic", "time and topic", "neither"]}, "chain": {"type": "string"}}}},
  "notes": {"type": "array", "items": {"type": "string"}, "description": "what was not taken literally, and that nothing was found"}}},
"body": {"type": "object", "additionalProperties": false, "properties": {
  "question": {"type": ["string", "null"], "minLength": 1}, "query": {"type": ["string", "null"], "description": "the same as question"},
  "conversation": {"type": ["string", "null"]},
  "conversations": {"type": ["string", "array", "null"], "items": {"type": "string"}, "description": "all that the key may see by default"},
  "user": {"$ref": "#/components/schemas/MemoryUser"},
  "now": {"type": ["string", "null"], "description": "time of the question; now by default"},
  "k": {"type": ["integer", "null"], "minimum": 1, "maximum": 1000, "description": "maximum number of turns; 10 by default"},
  "speaker": {"type": ["string", "null"], "description": "who asks: whom I and my mean; user by default"},
  "context": {"type": ["array", "null"], "items": {"type": "object", "required": ["text"], "properties": {
    "speaker": {"type": ["string", "null"]}, "text": {"type": "string"}}}, "description": "the turns before the question"},
  "rank": {"enum": ["auto", "bm25", "mixpr", "both", null]}, "day_first": {"type": ["boolean", "null"]},
  "all_speakers": {"type": ["boolean", "null"]}}}})json";

const char kMemoryConversations[] = R"json({"tag": "memory", "summary": "the conversations", "needs": ["user"],
"query": {"user": {"type": "string", "maxLength": 200}},
"answer": {"type": "object", "required": ["object", "data"], "properties": {"object": {"const": "list"},
  "data": {"type": "array", "items": {"type": "object",
    "required": ["object", "conversation", "user", "zone", "gap_seconds", "turns", "sessions"], "properties": {
      "object": {"const": "memory.conversation"}, "conversation": {"type": "string"}, "user": {"type": ["string", "null"]},
      "zone": {"type": "string"}, "gap_seconds": {"type": "integer"}, "turns": {"type": "integer"},
      "sessions": {"type": "integer"}}}}}}})json";

const char kDeleteMemoryConversation[] = R"json({"path": "/v1/memory/conversations/{conversation}", "tag": "memory",
"summary": "deletes a conversation permanently", "needs": ["page", "user", "id"],
"query": {"user": {"type": "string", "maxLength": 200}}, "answer": "Deleted"})json";

const char kMemoryExport[] =
    R"json({"tag": "memory", "summary": "all turns as JSON lines, which quern memory import reads",
"needs": ["user", "id"],
"query": {"conversation": {"type": "string"}, "user": {"type": "string", "maxLength": 200}},
"answer_type": "application/x-ndjson", "answer": {"type": "string"}})json";

const char kSearchRecall[] = R"json({"tag": "recall", "summary": "finds passages of the documents", "needs": ["id"],
"answer": {"type": "object", "required": ["object", "query", "found", "data", "notes"], "properties": {
  "object": {"const": "recall.search"}, "query": {"type": "string"}, "found": {"type": "integer"},
  "data": {"type": "array", "items": {"type": "object", "required": ["id", "object", "score", "begin", "end", "text"],
    "properties": {"id": {"type": "string"}, "object": {"const": "recall.hit"}, "score": {"type": "number"},
      "begin": {"type": "integer"}, "end": {"type": "integer"}, "line": {"type": "integer"}, "title": {"type": "string"},
      "url": {"type": "string"}, "metadata": {"type": "object"}, "heading": {"type": "string"}, "text": {"type": "string"}}}},
  "notes": {"type": "array", "items": {"type": "string"}}}},
"body": {"type": "object", "additionalProperties": false, "properties": {
  "query": {"type": ["string", "null"], "minLength": 1}, "question": {"type": ["string", "null"], "description": "the same as query"},
  "k": {"type": ["integer", "null"], "minimum": 1, "maximum": 1000, "description": "maximum number of passages; 8 by default"},
  "filter": {"type": ["object", "null"], "description": "metadata that a document must have; of a list, one of its values"},
  "user": {"type": ["string", "null"]}}}})json";

const char kIndexRecall[] = R"json({"tag": "recall", "summary": "adds documents, or replaces those of the same id",
"needs": ["page", "admin", "id", "conflict"],
"answer": {"type": "object", "required": ["object", "indexed", "replaced", "documents", "ids"], "properties": {
  "object": {"const": "recall.index"}, "indexed": {"type": "integer"}, "replaced": {"type": "integer"},
  "documents": {"type": "integer", "description": "of the whole index now"}, "ids": {"type": "array", "items": {"type": "string"}}}},
"body": {"type": "object", "required": ["documents"], "additionalProperties": false, "properties": {
  "documents": {"type": "array", "minItems": 1, "maxItems": 1000, "items": {"type": "object", "required": ["id", "text"],
    "additionalProperties": false, "properties": {
      "id": {"type": "string", "minLength": 1, "maxLength": 1024}, "text": {"type": "string", "minLength": 1},
      "title": {"type": ["string", "null"], "maxLength": 1000}, "url": {"type": ["string", "null"], "maxLength": 1000},
      "metadata": {"type": ["object", "null"]}, "format": {"enum": ["plain", "markdown", "html", null]}}}},
  "user": {"type": ["string", "null"]}}}})json";

const char kDeleteRecall[] = R"json({"path": "/v1/recall/documents/{document_id}", "tag": "recall",
"summary": "removes a document from the index", "needs": ["page", "admin", "id", "conflict"], "answer": "Deleted"})json";

}  // namespace quern::serve::about
