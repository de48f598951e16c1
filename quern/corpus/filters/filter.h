// Interface of document filters: whether a document passes, which rules it fails (all of them, and the first in the
// filter's order), and its text afterwards. A filter is one file with a function that makes it; filters own buffers,
// so every thread has its own.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quern::corpus {

struct FilterResult {
  uint64_t failing = 0;   // bit i: rule i rejects
  std::string_view text;  // what goes on; valid until the next call
  bool changed = false;   // text differs from what came
  bool keep() const { return failing == 0; }
  int first() const { return failing == 0 ? -1 : __builtin_ctzll(failing); }
};

// What is known of a document beside its text; empty: not known.
struct DocumentOrigin {
  std::string_view url;      // where it comes from
  std::string_view license;  // that it states of itself (DocumentView)
};

class DocumentFilter {
 public:
  virtual ~DocumentFilter() = default;
  virtual std::span<const char* const> rules() const = 0;  // at most 64, in order
  virtual FilterResult apply(std::string_view utf8) = 0;
  virtual FilterResult apply_page(std::string_view utf8, const DocumentOrigin&) { return apply(utf8); }
  virtual bool wants_url() const { return false; }
  // Rules that reject nothing, whatever comes, because the list that they look in is not there.
  virtual std::vector<const char*> idle_rules() const { return {}; }
};

using FilterMaker = std::function<std::unique_ptr<DocumentFilter>()>;

}  // namespace quern::corpus
