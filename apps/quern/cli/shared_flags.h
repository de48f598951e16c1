// Flags of verbs in several folders: each is declared here once, and a verb sets its default.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "quern/base/setting.h"

namespace quern::cli {

struct RanksFlag {
  int64_t ranks = 1;
  template <class V>
  void visit(V& v) {
    v("ranks", ranks,
      "number of ranks in this process, one thread each; for several processes or machines use mpirun");
  }
};

struct ThinkFlag {
  std::optional<std::string> plan = {};
  template <class V>
  void visit(V& v) {
    v("think", plan,
      "test-time compute plan: single, vote:N (self-consistency), best:N (best-of-N), rsa:NxCxT, mrsa:NxCxT "
      "(Markovian "
      "RSA), delethink:T, pacore:NxCxT or hybrid:NxCxT, then ,beta= ,tau= ,final= in tokens",
      {.value = "PLAN"});
  }
};

struct McpFlag {
  std::string file = {};
  template <class V>
  void visit(V& v) {
    v("mcp", file, "MCP servers whose tools chats may use, as {\"mcpServers\": {NAME: {\"command\", \"args\"}}}",
      {.value = "FILE"});
  }
};

struct HtmlReportFlag {
  std::string file = {};
  template <class V>
  void visit(V& v) {
    v("html", file, "write a report to FILE, one HTML page", {.value = "FILE"});
  }
};

struct NgramFlag {
  int64_t words = 13;
  template <class V>
  void visit(V& v) {
    v("ngram", words, "number of words per n-gram");
  }
};

struct VocabFlag {
  int64_t size;
  template <class V>
  void visit(V& v) {
    v("vocab", size, "vocabulary size, including special tokens and the 256 bytes");
  }
};

}  // namespace quern::cli
