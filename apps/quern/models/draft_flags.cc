// A draft model from another folder keeps its weight format, or uses bf16.
#include "apps/quern/models/draft_flags.h"

#include "apps/quern/models/context.h"
#include "apps/quern/models/shipped_models.h"
#include "quern/base/error.h"

namespace quern::cli {

infer::SpeculationOptions DraftFlags::options() const {
  const infer::SpeculationOptions o = speculate     ? infer::parse_speculation(*speculate)
                                      : dir.empty() ? infer::SpeculationOptions{}
                                                    : infer::parse_speculation("both");
  if (o.draft && dir.empty()) fail("--speculate {} needs a draft model: name one with --draft", *speculate);
  return o;
}

int64_t DraftFlags::weights(const std::string& model) const {
  return weight_bytes(is_packing(dir) ? model : model_folder(dir));
}

std::unique_ptr<models::Model> DraftFlags::load(const std::string& model, const text::Tokenizer& tokenizer,
                                                const models::ContextSettings& context) const {
  if (dir.empty()) return nullptr;
  if (is_packing(dir))
    return load_for_inference(model, models::with_context(nn::builtin_registry(), options_of(dir), context));
  const std::string folder = model_folder(dir);
  const text::Tokenizer its = models::load_tokenizer(folder);
  if (its.vocab_size() != tokenizer.vocab_size())
    fail("--draft {}: its vocabulary has {} tokens, the model's has {}; both must have the same tokenizer", dir,
         its.vocab_size(), tokenizer.vocab_size());
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id)
    if (its.id_to_token(id) != tokenizer.id_to_token(id))
      fail("--draft {}: token {} is '{}', but '{}' in the model; both must have the same tokenizer", dir, id,
           its.id_to_token(id), tokenizer.id_to_token(id));
  return load_for_inference(folder, "auto");
}

}  // namespace quern::cli
