// The model of an evaluation: what a folder holds of it, loaded.
#pragma once
#include <memory>
#include <string>

#include "apps/quern/models/context.h"
#include "quern/models/model.h"
#include "quern/reason/evaluation.h"

namespace quern::cli {

struct LoadedModel {
  text::Tokenizer tokenizer;
  std::unique_ptr<models::Model> model;
  text::ChatTemplate chat_template;
  reason::EvaluatedModel evaluated() const { return {*model, tokenizer, chat_template}; }
};

// `name`: a folder, or a model that ships with Quern. Its stop tokens go into `generate`.
LoadedModel load_to_evaluate(const std::string& name, const WeightFlags& weights, infer::GenerateOptions& generate);

}  // namespace quern::cli
