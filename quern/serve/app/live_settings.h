// Settings that a running server takes up without a restart, from flags and from a file (TOML, or JSON of the same shape):
//
//   cors = ["https://example.org"]
//   [aliases]
//   "gpt-4o-mini" = "zaya-nano"
//   [[models]]
//   name = "small"
//   dir = "/srv/models/small"
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/json.h"
#include "quern/base/setting.h"
#include "quern/serve/models/model_aliases.h"

namespace quern::serve {

struct LiveModel {
  std::string name, dir;
  bool operator==(const LiveModel&) const = default;
  template <class V>
  void visit(V& v) {
    v("name", name, "name that clients use");
    v("dir", dir, "model folder, .gguf file, or a name in the Hugging Face cache");
  }
};

struct LiveSettings {
  std::vector<std::string> cors = {};                       // origins, "*" for all; empty: other origins may not call
  std::string cors_methods = "GET, POST, DELETE, OPTIONS";  // that CORS allows
  std::string cors_headers = {};                            // the same; empty: those that the browser asks for
  ModelAliases aliases = {};                                // further names of models
  std::vector<LiveModel> models = {};                       // beside those of the command line

  template <class V>
  void visit_cors(V& v) {
    v("cors", cors, "allow browser pages of this origin to call the server (CORS), * for all; repeatable",
      {.value = "ORIGIN"});
    v("cors_methods", cors_methods, "HTTP methods that CORS allows", {.value = "METHODS"});
    v("cors_headers", cors_headers, "request headers that CORS allows",
      {.value = "HEADERS", .shown_default = "those that the browser asks for"});
  }
  std::string model(const std::string& name) const;  // what an alias stands for, a plan behind it kept; else the name
};

// The settings of `file` over those given; throws Error naming the file and the key.
LiveSettings read_live_settings(const std::filesystem::path& file, LiveSettings over);
// Throws Error, with `where` in front, unless each is "*" or an origin such as https://example.org.
void check_origins(const std::vector<std::string>& origins, std::string_view where);

}  // namespace quern::serve
