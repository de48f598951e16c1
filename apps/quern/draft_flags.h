// --speculate and --draft: who guesses tokens ahead of their step, and the smaller model that may.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "apps/quern/args.h"
#include "quern/infer/speculation_options.h"
#include "quern/models/model.h"
#include "quern/text/tokenizer.h"

namespace quern {

struct DraftFlags {
  std::string dir = {};  // of the draft model; empty: none
  std::optional<std::string> speculate = {};
  void add_to(Args& args, const std::string& on_answers, const std::string& whose = "");
  SpeculationOptions options() const;  // throws Error; with a draft model and no word both guess
  std::string folder() const;          // of a model by its name, too
  // Null without --draft. Throws Error unless the model in `dir` has `tokenizer`'s tokens.
  std::unique_ptr<Model> load(const Tokenizer& tokenizer) const;
};

}  // namespace quern
