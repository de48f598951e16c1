// A loaded model of the server: weights, tokenizer, chat template, generation defaults and the engine's host thread; or
// an encoder, which embeds and ranks. One with an adapter shares all of these with the model below it, whose engine runs
// its requests among the others.
#pragma once
#include <memory>
#include <mutex>
#include <string>

#include "quern/encoders/text_encoder.h"
#include "quern/models/adapter_sites.h"
#include "quern/models/checkpoint.h"
#include "quern/models/context_length.h"
#include "quern/serve/host/engine_host.h"
#include "quern/serve/tools/constraint_fields.h"

namespace quern::serve {

struct ServedEncoder {
  encoders::TextEncoder text;
  std::mutex busy = {};  // held during a call, which uses all threads
};

// A language model with its host, or an encoder: then `model` and `host` are null.
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
  std::shared_ptr<ServedEncoder> encoder = {};
  int64_t created = 0;           // Unix time of loading
  std::string fingerprint = {};  // of weights and how they are kept (quern/models/fingerprint.h)
  std::shared_ptr<ConstraintCache> constraints = std::make_shared<ConstraintCache>();

  std::string family() const { return encoder ? "encoder" : model->family(); }
  // The context; a model without positions also takes more (context_length.h).
  int64_t max_tokens() const { return encoder ? encoder->text.max_tokens() : models::context_length(*model); }
  int64_t vocab_size() const { return encoder ? encoder->text.encoder().vocab_size() : model->vocab_size(); }
};

// The model with other adapters than its own; `m` stays.
std::shared_ptr<ServedModel> with_adapters(const std::shared_ptr<ServedModel>& m, nn::ChosenAdapters adapters);

}  // namespace quern::serve
