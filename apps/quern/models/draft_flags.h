// --speculate and --draft: speculative decoding, by prompt lookup or with a draft model. visit() declares both.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "apps/quern/cli/args.h"
#include "quern/infer/speculation/speculation_options.h"
#include "quern/models/context/context_settings.h"
#include "quern/models/model.h"
#include "quern/text/tokenizer/tokenizer.h"

namespace quern::cli {

struct DraftFlags {
  std::string dir = {};  // of the draft model, or a format: a quantized copy of the model; empty: none
  std::optional<std::string> speculate = {};
  template <class V>
  void visit(V& v) {
    static_assert(infer::kDefaultDraftTokens == 8, "the default that --speculate shows");
    v("speculate", speculate,
      "speculative decoding: draft up to K tokens per step by prompt lookup (ngram[:K]), with the --draft model "
      "(draft[:K]), or both[:K]; output is unchanged up to rounding",
      {.value = "MODE", .shown_default = "none; both with --draft; K = 8"});
    v("draft", dir,
      "draft model for speculative decoding: a folder with the same tokenizer, or q4 or q8 to draft with a quantized "
      "copy of the model",
      {.value = "MODEL"});
  }
  infer::SpeculationOptions options() const;        // throws Error; both, with a draft model and no --speculate
  int64_t weights(const std::string& model) const;  // bytes of its files
  // Null without --draft. `context` is the model's, for a copy of it. Throws Error unless the model in `dir` has the tokens of the one in `model`, `tokenizer`'s.
  std::unique_ptr<models::Model> load(const std::string& model, const text::Tokenizer& tokenizer,
                                      const models::ContextSettings& context) const;
};

}  // namespace quern::cli
