// The OpenAPI 3.1 document of the server, made of one description per route. A description is a JSON object, or a list of
// them where a route answers several paths:
//
//   {"path": "/v1/models/{model}",          only where the route's own path is a prefix
//    "tag": "models", "summary": "…",
//    "query": {"text": {"type": "boolean", "description": "…"}},
//    "body": SCHEMA, "body_type": "…" [application/json], "body_optional": true,
//    "generation": true,                    the body has the sampling fields, too: as infer/options declares them
//    "answer": SCHEMA, "answer_type": "…" [application/json],
//    "stream": SCHEMA, "stream_type": "…" [text/event-stream]    the same status, when the request asks for a stream
//    "needs": ["model", "run", …],          what may fail: kFailures says with which status
//    "error": "Error"}                      the schema of a refusal; [Error]
//
// SCHEMA is a JSON Schema, or the name of one in components.cc as text.
#pragma once
#include <string>
#include <vector>

#include "quern/base/json.h"

namespace quern::serve {

struct DescribedRoute {
  std::string method, path;
  std::string about;  // the description's text; empty: there is none, and the document leaves the route out
  bool open = false;  // without a key
};

struct OpenApiOptions {
  std::string version;     // of the program
  std::string prefix;      // of all paths
  bool needs_key = false;  // somebody who has none is refused
};

// Throws Error naming a route whose description is not of this form.
Json openapi_document(const std::vector<DescribedRoute>& routes, const OpenApiOptions& options);

Json component_schemas();               // by name
Json generation_schemas();              // of the sampling fields, by name
Json named_schema(const Json& schema);  // {"$ref": …} where it is a name

}  // namespace quern::serve
