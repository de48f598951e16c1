#include "apps/quern/run/eval_model.h"

#include <algorithm>
#include <filesystem>

#include "apps/quern/models/shipped_models.h"
#include "quern/gym/environment_registry.h"

namespace quern::cli {

LoadedModel load_to_evaluate(const std::string& name, const models::LoadOptions& options,
                             infer::GenerateOptions& generate) {
  const std::string dir = model_folder(name);
  text::Tokenizer tokenizer = models::load_tokenizer(dir);
  std::unique_ptr<models::Model> model = load_for_inference(dir, options);
  generate.stop_ids = models::load_generation_config(dir).eos_token_id;
  text::ChatTemplate chat_template = models::load_chat_template(dir, model->family());
  return {std::move(tokenizer), std::move(model), std::move(chat_template)};
}

void check_sampling(const char* verb, const Args& a, const GivenSettings<infer::GenerateOptions>& given) {
  infer::GenerateOptions o;
  given.overlay(o);
  a.check(o);
  if (o.max_tokens < 1)
    throw UsageError(fmt::format("quern {}: --max-tokens {}: expected 1 or more", verb, o.max_tokens));
}

void check_model_name(const std::string& name) {
  if (std::filesystem::exists(model_folder(name))) return;
  const bool is_environment = std::ranges::any_of(gym::plugin_environments().environments(),
                                                  [&](const gym::NamedEnvironment& e) { return e.name == name; });
  fail("no model '{}': expected a folder, or the name of a model that comes with Quern, such as zaya-nano{}", name,
       is_environment ? fmt::format("; '{}' is an environment: name the model before it", name) : "");
}

void tell_few(const char* verb, const reason::GymProblems& problems) {
  for (const reason::FewProblems& f : problems.few())
    fmt::print(stderr, "quern {}: {}: only {} different problems at difficulty {}\n", verb, f.at.environment->name,
               f.there, f.at.difficulty);
}

}  // namespace quern::cli
