// What agents ask for beside answers: names of models, token counts, the end of a thinking.
#include <algorithm>

#include "quern/serve/api/messages_api.h"
#include "quern/serve/api/models_api.h"
#include "quern/serve/api/responses_api.h"
#include "quern/serve/app/app.h"
#include "quern/serve/wire/api_error.h"
#include "quern/serve/wire/wire.h"

namespace quern::serve {

ModelNames App::names_for(const Caller& caller, const LiveSettings& live) const {
  return {*models_, live.aliases, started_, [this, &caller](const std::string& name, const std::string& id) {
            return may_use(caller, name) || may_use(caller, id);
          }};
}

void App::models(Exchange& e) {
  const auto live = this->live();
  const ModelNames names = names_for(e.caller, *live);
  constexpr std::string_view kBelow = "/v1/models/";
  if (!e.request().path.starts_with(kBelow)) return e.answer(200, "application/json", models_json(names).dump());
  const std::string asked = e.request().path.substr(kBelow.size());
  Json name = Json::object();
  name.set("model", asked);
  allow_model(e.caller, name);
  e.answer(200, "application/json", model_json(names, asked, model_name(name)).dump());
}

void App::count_tokens(Exchange& e) {
  const Json body = read_body(e);
  e.answer(200, "application/json", count_tokens_json(*language_model_for(body), body).dump());
}

void App::input_tokens(Exchange& e) {
  const Json body = read_body(e);
  e.answer(200, "application/json", input_tokens_json(*language_model_for(body), body, responses_, e.caller).dump());
}

// The id is that of the answer, or of its HTTP request: they share what is behind the prefix.
void App::end_thinking(Exchange& e) {
  constexpr std::string_view kBelow = "/v1/requests/", kEnd = "/end_thinking";
  std::string id = e.request().path.substr(kBelow.size());
  if (!id.ends_with(kEnd))
    throw ApiError(404, "invalid_request_error", "", fmt::format("expected {}ID{}", kBelow, kEnd));
  id.resize(id.size() - kEnd.size());
  const std::string request = std::string(kRequestId) + id.substr(id.find_last_of("-_") + 1);
  const std::string* user = admission_.open() || e.caller.admin ? nullptr : &e.caller.user;
  auto how = EngineHost::ThinkingEnd::unknown;
  for (const std::string& model : models_->ids())
    if (const auto m = models_->loaded(model); m && m->host && !m->base)
      how = std::max(how, m->host->end_thinking(request, user));
  if (how == EngineHost::ThinkingEnd::unknown)
    throw ApiError(404, "invalid_request_error", "", fmt::format("no running request has the id '{}'", id));
  Json j = Json::object();
  j.set("id", id), j.set("object", "request.end_thinking"), j.set("ended", how == EngineHost::ThinkingEnd::ended);
  e.answer(200, "application/json", j.dump());
}

}  // namespace quern::serve
