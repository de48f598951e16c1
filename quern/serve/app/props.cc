// GET /props: what this server is, its loaded models, and for llama-server's clients the default settings of one of them.
#include "quern/base/version.h"
#include "quern/serve/app/app.h"
#include "quern/serve/llama/llama_api.h"

namespace quern::serve {
namespace {

Json loaded_json(const ServedModel& m) {
  Json one = Json::object(), generation = Json::object();
  const auto& d = m.defaults;
  generation.set("temperature", d.sampling.temperature), generation.set("top_p", d.sampling.top_p);
  generation.set("top_k", d.sampling.top_k), generation.set("do_sample", d.do_sample);
  one.set("id", m.id), one.set("family", m.family()), one.set("context_length", m.max_tokens());
  one.set("vocab_size", m.vocab_size()), one.set("chat_template", m.chat_template.source());
  one.set("generation", std::move(generation));
  return one;
}

}  // namespace

void App::props(Exchange& e) {
  Json j = Json::object(), list = Json::array(), asked = Json::object();
  for (const auto& [key, value] : e.request().query)
    if (key == "model" && !value.empty()) asked.set("model", value);
  std::shared_ptr<ServedModel> shown;
  if (asked.find("model")) {
    allow_model(e.caller, asked);
    shown = models_->loaded(model_name(asked));
  }
  for (const std::string& id : models_->ids()) {
    const auto m = models_->loaded(id);
    if (!m || !may_see(e.caller, id)) continue;
    if (!asked.find("model") && !shown) shown = m;
    list.push(loaded_json(*m));
  }
  j.set("version", quern::version()), j.set("models", std::move(list));
  j.set("memory", grounding_.has_memory()), j.set("documents", grounding_.has_documents());
  j.set("runs", !o_.runs.empty());
  if (shown) tell_llama_props(*shown, j);
  e.answer(200, "application/json", j.dump());
}

}  // namespace quern::serve
