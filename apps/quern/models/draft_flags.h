// --speculate and --draft: who guesses tokens ahead of their step, and the smaller model that may.
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
  std::string dir = {};  // of the draft model, or a scheme: the model itself packed so; empty: none
  std::optional<std::string> speculate = {};
  void add_to(Args& args, const std::string& on_answers, const std::string& whose = "");
  SpeculationOptions options() const;               // throws Error; with a draft model and no word both guess
  int64_t weights(const std::string& model) const;  // bytes of its files
  // Null without --draft. Throws Error unless the model in `dir` has the tokens of the one in `model`, `tokenizer`'s.
  std::unique_ptr<Model> load(const std::string& model, const Tokenizer& tokenizer) const;
};

}  // namespace quern
