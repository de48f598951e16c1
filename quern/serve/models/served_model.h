// A loaded model of the server: weights, tokenizer, chat template, generation defaults and the engine's host thread.
#pragma once
#include <memory>
#include <string>

#include "quern/models/checkpoint.h"
#include "quern/serve/host/engine_host.h"
#include "quern/serve/tools/constraint_fields.h"

namespace quern::serve {

struct ServedModel {
  std::string id;  // as clients name it
  std::unique_ptr<models::Model> model;
  text::Tokenizer tokenizer;
  text::ChatTemplate chat_template;
  models::GenerationConfig defaults;
  std::unique_ptr<models::Model> draft = {};  // guesses for it, where there is one
  std::unique_ptr<EngineHost> host;
  int64_t created = 0;           // Unix time of loading
  std::string fingerprint = {};  // of weights and how they are kept (quern/models/fingerprint.h)
  std::shared_ptr<ConstraintCache> constraints = std::make_shared<ConstraintCache>();
};

}  // namespace quern::serve
