// The routes of llama-server's and Ollama's own endpoints.
#include "quern/base/stopwatch.h"
#include "quern/serve/app/app.h"
#include "quern/serve/llama/llama_api.h"
#include "quern/serve/ollama/ollama_models.h"
#include "quern/serve/ollama/ollama_request.h"
#include "quern/serve/wire/api_error.h"

namespace quern::serve {
namespace {

Json named(const std::string& id) {
  Json j = Json::object();
  j.set("model", id);
  return j;
}

// The model's name as the client wrote it.
std::string name_of(const Json& body) {
  const Json* name = body.find("model");
  return name && name->is_string() ? name->as_string() : ollama_model_id(body);
}

}  // namespace

// A model whose very name ends in Ollama's tag is meant by it.
std::string App::ollama_model(const Json& body) const {
  const std::string whole = name_of(body);
  const auto found = served_as(whole);
  return model_name(named(found && found->plan.empty() ? whole : ollama_model_id(body)));
}

void App::llama_complete(Exchange& e) {
  const Json body = read_body(e);
  llama_completion(*model_with_room(body), e, body);
}
void App::infill(Exchange& e) {
  const Json body = read_body(e);
  llama_infill(*model_with_room(body), e, body);
}
void App::llama_embed(Exchange& e) {
  const Json body = read_body(e);
  llama_embedding(*model_for(body), e, body);
}

// Loads the model, lets `serve` answer, and keeps the model as long as the request asks: of one user among several, whose
// models are the others' too, it is not taken.
void App::ollama_run(const Caller& caller, const Json& body, const OllamaServe& serve) {
  const Stopwatch watch;
  const std::string id = ollama_model(body);
  const std::optional<double> keep = ollama_keep_alive(body);
  auto m = model_for(named(id));
  serve(*m, OllamaCall{.name = name_of(body), .load_seconds = watch.seconds()});
  m.reset();
  if (keep && caller.reaches_all()) models_->keep_alive(id, *keep);
}

void App::ollama_write(Exchange& e, void (*answer)(ServedModel&, Exchange&, const Json&, const OllamaCall&)) {
  const Json body = read_body(e);
  const bool loads = only_loads(body);
  const OllamaForm form = answer == &serve::ollama_chat ? OllamaForm::chat : OllamaForm::generate;
  ollama_run(e.caller, body, [&](ServedModel& m, const OllamaCall& call) {
    refuse_encoder(m);
    refuse_full(m);
    if (!loads) return answer(m, e, body, call);
    const char* reason = ollama_keep_alive(body) == 0 ? "unload" : "load";
    e.answer(200, "application/json", ollama_loaded_json(form, call, reason).dump());
  });
}
void App::ollama_chat(Exchange& e) { ollama_write(e, &serve::ollama_chat); }
void App::ollama_generate(Exchange& e) { ollama_write(e, &serve::ollama_generate); }

void App::ollama_embed(Exchange& e) {
  const Json body = read_body(e);
  ollama_run(e.caller, body, [&](ServedModel& m, const OllamaCall& call) { serve::ollama_embed(m, e, body, call); });
}
void App::ollama_embeddings(Exchange& e) {
  const Json body = read_body(e);
  ollama_run(e.caller, body, [&](ServedModel& m, const OllamaCall&) { ollama_embedding(m, e, body); });
}

void App::ollama_show(Exchange& e) {
  const Json body = read_body(e);
  const std::string id = ollama_model(body);
  e.answer(200, "application/json", ollama_show_json(*model_for(named(id))).dump());
}
void App::ollama_tags(Exchange& e) {
  const auto live = this->live();
  e.answer(200, "application/json", ollama_tags_json(names_for(e.caller, *live)).dump());
}
void App::ollama_ps(Exchange& e) {
  const auto live = this->live();
  e.answer(200, "application/json", ollama_running_json(names_for(e.caller, *live)).dump());
}

void App::ollama_refuse(Exchange& e) {
  throw ApiError(
      403, "permission_error", "",
      fmt::format("{} is not supported: this server serves the models it was started with; put models where "
                  "`quern pull` says, and start it with them",
                  e.request().path));
}

}  // namespace quern::serve
