// A loaded model of the server: weights, tokenizer, chat template, generation defaults and the engine's host thread. One
// with an adapter shares all of these with the model below it, whose engine runs its requests among the others.
#pragma once
#include <memory>
#include <string>

#include "quern/models/adapter_sites.h"
#include "quern/models/checkpoint.h"
#include "quern/serve/host/engine_host.h"
#include "quern/serve/tools/constraint_fields.h"

namespace quern::serve {

struct ServedModel {
  std::shared_ptr<ServedModel> base = {};  // whose weights and engine these are; null: its own
  std::string id;                          // as clients name it
  std::shared_ptr<models::Model> model;
  text::Tokenizer tokenizer;
  text::ChatTemplate chat_template;
  models::GenerationConfig defaults;
  std::shared_ptr<models::Model> draft = {};               // guesses for it, where there is one
  std::shared_ptr<const models::AdapterSites> sites = {};  // where adapters may stand; null: they may not
  nn::ChosenAdapters adapters = {};                        // of every request that does not choose
  std::shared_ptr<EngineHost> host;
  int64_t created = 0;           // Unix time of loading
  std::string fingerprint = {};  // of weights and how they are kept (quern/models/fingerprint.h)
  std::shared_ptr<ConstraintCache> constraints = std::make_shared<ConstraintCache>();
};

// The model with other adapters than its own; `m` stays.
std::shared_ptr<ServedModel> with_adapters(const std::shared_ptr<ServedModel>& m, nn::ChosenAdapters adapters);

}  // namespace quern::serve
