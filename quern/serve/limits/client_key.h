// API keys of clients and what each may use, from the command line or from a file of keys (TOML, or JSON of the same shape):
//
//   [[key]]
//   name = "ci"                       logs, metrics and messages say this and never the key
//   sha256 = "9f86d081884c7d65…"      or key = "…"
//   requests_per_minute = 60
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/setting.h"
#include "quern/serve/http/sha256.h"

namespace quern::serve {

struct KeyLimits {
  int64_t requests_per_minute = 0, tokens_per_minute = 0, tokens_per_day = 0;  // 0: no limit
  int64_t concurrent = 0, max_context = 0, max_tokens = 0, priority = 0;
  std::vector<std::string> models = {};
  bool admin = false;
  template <class V>
  void visit(V& v) {
    const Setting unlimited = {.shown_default = "unlimited", .range = Bounds::at_least(0)};
    v("requests_per_minute", requests_per_minute, "requests per minute", unlimited);
    v("tokens_per_minute", tokens_per_minute, "prompt and generated tokens per minute", unlimited);
    v("tokens_per_day", tokens_per_day, "prompt and generated tokens per day, which begins at midnight UTC",
      unlimited);
    v("concurrent", concurrent, "requests in flight at once", unlimited);
    v("max_context", max_context, "tokens of prompt and output of one request; a longer prompt is refused",
      {.shown_default = "as the model", .range = Bounds::at_least(0)});
    v("max_tokens", max_tokens, "generated tokens of one request, which then ends with finish_reason `length`",
      {.shown_default = "as the model", .range = Bounds::at_least(0)});
    v("priority", priority,
      "lowest `priority` value that a request may have; a lower one, which would be served sooner, becomes this");
    v("models", models, "names of the models that may be used; others are not listed either",
      {.shown_default = "all"});
    v("admin", admin,
      "see and end what other keys run: GET /v1/usage and /metrics report every key, GET /v1/cache shows texts; "
      "reach "
      "what every key keeps here, and change the documents and the adapters");
  }
};

struct ClientKey {
  std::string name, key, sha256;  // key is empty once the digest is made
  KeyLimits limits = {};
  Sha256Digest digest = {};
  bool of_file = false;  // and so has a name that somebody gave it
  template <class V>
  void visit(V& v) {
    v("name", name, "what logs, metrics and messages call it");
    v("key", key, "the key that clients send; 8 characters or more", {.shown_default = ""});
    v("sha256", sha256, "instead of `key`: its SHA-256 as 64 hex digits", {.shown_default = ""});
    limits.visit(v);
  }
};

// Throws Error naming the file and the field, never a key.
std::vector<ClientKey> read_key_file(const std::filesystem::path& file);
// Keys without limits, called key-1, key-2, …
std::vector<ClientKey> plain_keys(const std::vector<std::string>& keys);

}  // namespace quern::serve
