// Parses a source and a number after a colon.
#include "quern/infer/speculation/speculation_options.h"

#include <charconv>
#include <string_view>

#include "quern/base/error.h"

namespace quern::infer {

SpeculationOptions parse_speculation(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  if (text == "none") return {};
  SpeculationOptions o{.max_draft = kDefaultDraftTokens, .ngram = kind != "draft", .draft = kind != "ngram"};
  const char* end = text.data() + text.size();
  bool good = kind == "ngram" || kind == "draft" || kind == "both";
  if (good && colon != text.npos) {
    const auto [rest, bad] = std::from_chars(text.data() + colon + 1, end, o.max_draft);
    good = bad == std::errc() && rest == end && o.max_draft >= 1 && o.max_draft <= kMaxDraftTokens;
  }
  if (!good)
    fail(
        "speculative decoding '{}': expected none, ngram, draft or both, or with a draft length, e.g. ngram:4, of 1 "
        "to {}",
        text, kMaxDraftTokens);
  return o;
}

}  // namespace quern::infer
