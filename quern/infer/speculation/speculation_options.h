// Options of speculative decoding: the draft sources and the maximum draft length.
#pragma once
#include <cstdint>
#include <string>

namespace quern {

constexpr int64_t kMaxDraftTokens = 16;  // tokens of one draft
constexpr int64_t kDefaultDraftTokens = 8;

struct SpeculationOptions {
  int64_t max_draft = 0;  // tokens of a draft; 0 = none are guessed
  bool ngram = false;     // by what stood in the text before (ngram_draft.h), asked first: it costs nothing
  bool draft = false;     // by the engine's draft model (draft_model.h)

  static SpeculationOptions by_ngram(int64_t max_draft) { return {.max_draft = max_draft, .ngram = true}; }
  static SpeculationOptions by_draft(int64_t max_draft) { return {.max_draft = max_draft, .draft = true}; }
  bool on() const { return max_draft > 0; }
};

// "none", or "ngram", "draft" or "both" and perhaps ":K", tokens of a draft at most. Throws Error.
SpeculationOptions parse_speculation(const std::string& text);

}  // namespace quern
