#include "apps/quern/run/eval_model.h"

#include "apps/quern/models/shipped_models.h"

namespace quern::cli {

LoadedModel load_to_evaluate(const std::string& name, const WeightFlags& weights, infer::GenerateOptions& generate) {
  const std::string dir = model_folder(name);
  text::Tokenizer tokenizer = models::load_tokenizer(dir);
  std::unique_ptr<models::Model> model = load_for_inference(dir, weights.load_options());
  generate.stop_ids = models::load_generation_config(dir).eos_token_id;
  text::ChatTemplate chat_template = models::load_chat_template(dir, model->family());
  return {std::move(tokenizer), std::move(model), std::move(chat_template)};
}

}  // namespace quern::cli
