// For tests: a server with a file of keys.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/serve/serving.h"

namespace quern {

inline const std::string kChat =
    R"({"messages": [{"role": "user", "content": "x"}], "ignore_eos": true, "max_tokens": 5})";

class WithKeys : public Serving {
 protected:
  ~WithKeys() override {
    std::error_code none;
    std::filesystem::remove(file_, none);
  }
  void start_with(const std::string& keys, serve::AppOptions options = {}) {
    std::ofstream(file_) << keys;
    options.keys_file = file_;
    start(options);
  }
  // Of a key, to any path.
  RawAnswer ask(const char* key, const char* method, const std::string& path, const std::string& body = {},
                const char* headers = "") {
    return http(port(), method, path, body, fmt::format("Authorization: Bearer {}\r\n{}", key, headers));
  }
  RawAnswer chat(const char* key, const std::string& body = kChat) {
    return ask(key, "POST", "/v1/chat/completions", body);
  }
  RawAnswer get(const std::string& path, const char* key) { return ask(key, "GET", path); }
  static std::string header(const RawAnswer& a, const std::string& name) {
    const size_t at = a.head.find("\r\n" + name + ": ");
    if (at == a.head.npos) return "";
    const size_t from = at + name.size() + 4;
    return a.head.substr(from, a.head.find("\r\n", from) - from);
  }
  std::string file_ = testing::TempDir() + fmt::format("keys-{}.toml", ::getpid());
};

}  // namespace quern
