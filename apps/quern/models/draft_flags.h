// --speculate and --draft: speculative decoding, by prompt lookup or with a draft model.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "apps/quern/cli/args.h"
#include "quern/infer/speculation/speculation_options.h"
#include "quern/models/model.h"
#include "quern/text/tokenizer/tokenizer.h"

namespace quern {

struct DraftFlags {
  std::string dir = {};  // of the draft model, or a format: a quantized copy of the model; empty: none
  std::optional<std::string> speculate = {};
  // Both are added to the help: what may override --speculate, and which models --draft is for.
  void add_to(Args& args, const std::string& overridden = "", const std::string& whose = "");
  SpeculationOptions options() const;               // throws Error; both, with a draft model and no --speculate
  int64_t weights(const std::string& model) const;  // bytes of its files
  // Null without --draft. Throws Error unless the model in `dir` has the tokens of the one in `model`, `tokenizer`'s.
  std::unique_ptr<Model> load(const std::string& model, const Tokenizer& tokenizer) const;
};

}  // namespace quern
