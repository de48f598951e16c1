// Options of speculative decoding: the draft sources and the maximum draft length.
#pragma once
#include <cstdint>
#include <string>

namespace quern::infer {

constexpr int64_t kMaxDraftTokens = 16;  // maximum draft length
constexpr int64_t kDefaultDraftTokens = 8;

struct SpeculationOptions {
  int64_t max_draft = 0;  // maximum draft length; 0 = off
  bool ngram = false;     // prompt lookup (ngram_draft.h), tried first: it costs nothing
  bool draft = false;     // the engine's draft model (draft_model.h)

  static SpeculationOptions by_ngram(int64_t max_draft) { return {.max_draft = max_draft, .ngram = true}; }
  static SpeculationOptions by_draft(int64_t max_draft) { return {.max_draft = max_draft, .draft = true}; }
  bool on() const { return max_draft > 0; }
};

// "none", or "ngram", "draft" or "both", optionally with a maximum draft length ":K". Throws Error.
SpeculationOptions parse_speculation(const std::string& text);

}  // namespace quern::infer
