// The model of an evaluation: what a folder holds of it, loaded.
#pragma once
#include <memory>
#include <string>

#include "apps/quern/models/context.h"
#include "quern/models/model.h"
#include "quern/reason/evaluation.h"
#include "quern/reason/gym_eval.h"

namespace quern::cli {

struct LoadedModel {
  text::Tokenizer tokenizer;
  std::unique_ptr<models::Model> model;
  text::ChatTemplate chat_template;
  reason::EvaluatedModel evaluated() const { return {*model, tokenizer, chat_template}; }
};

// `name`: a folder, or a model that ships with Quern. Its stop tokens go into `generate`.
LoadedModel load_to_evaluate(const std::string& name, const models::LoadOptions& options,
                             infer::GenerateOptions& generate);

// Throws UsageError where no answer can be sampled with what was given, before a model is loaded and asked.
void check_sampling(const char* verb, const Args& a, const GivenSettings<infer::GenerateOptions>& given);
// Throws Error where a model of that name is not there, saying what is expected.
void check_model_name(const std::string& name);
// Says on stderr at which difficulties fewer problems were asked than were asked for.
void tell_few(const char* verb, const reason::GymProblems& problems);

}  // namespace quern::cli
