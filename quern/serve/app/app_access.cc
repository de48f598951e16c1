// What an App decides about a request besides its route: CORS, which models its caller may use, and whether the server still
// takes work.
#include <algorithm>

#include "quern/serve/app/app.h"
#include "quern/serve/wire/api_error.h"

namespace quern::serve {
namespace {

constexpr const char* kExposed =
    "x-request-id, request-id, retry-after, x-ratelimit-limit-requests, x-ratelimit-remaining-requests, "
    "x-ratelimit-reset-requests, x-ratelimit-limit-tokens, x-ratelimit-remaining-tokens, x-ratelimit-reset-tokens";

// A model's name without a thinking plan behind it.
std::string_view without_plan(std::string_view name) { return name.substr(0, name.find(':')); }

}  // namespace

std::shared_ptr<const LiveSettings> App::live() const {
  std::lock_guard lock(mutex_);
  return live_;
}

void App::configure(LiveSettings settings) {
  auto fresh = std::make_shared<const LiveSettings>(std::move(settings));
  std::lock_guard lock(mutex_);
  live_ = std::move(fresh);
}

// CORS. Clients of the two APIs send headers of their own (x-stainless-…, anthropic-version): what a page asks for it
// gets, unless the server was told which.
void App::add_cors_headers(Exchange& e) const {
  const auto live = this->live();
  if (live->cors.empty()) return;
  const std::string *origin = e.request().header("origin"),
                    *wanted = e.request().header("access-control-request-headers");
  const bool all = std::ranges::find(live->cors, "*") != live->cors.end();
  if (!all) e.header("vary", "origin");
  if (!all && (!origin || std::ranges::find(live->cors, *origin) == live->cors.end())) return;
  const std::string otherwise = wanted ? *wanted : "authorization, content-type, x-api-key";
  e.header("access-control-allow-origin", all ? "*" : *origin);
  e.header("access-control-allow-headers", live->cors_headers.empty() ? otherwise : live->cors_headers);
  e.header("access-control-expose-headers", kExposed);
  e.header("access-control-allow-methods", live->cors_methods);
}

// For what acts on the machine, by tools or files: a browser page of any origin can send some requests without asking
// first, also where it may not read the answer.
void App::refuse_foreign_page(const Exchange& e, const char* what) const {
  refuse_foreign_page(e, what, admission_.open() ? HostNames::addresses : HostNames::any);
}

void App::refuse_foreign_page(const Exchange& e, const char* what, HostNames names) const {
  if (page_may_call(e.request(), live()->cors, names)) return;
  throw ApiError(403, "permission_error", "foreign_origin",
                 fmt::format("pages of {} may not use {} of this server", *e.request().header("origin"), what));
}

bool App::may_use(const Caller& caller, std::string_view model) {
  return caller.models.empty() || std::ranges::find(caller.models, model) != caller.models.end() ||
         std::ranges::find(caller.models, without_plan(model)) != caller.models.end();
}

bool App::may_see(const Caller& caller, const std::string& id) const {
  return may_use(caller, id) ||
         std::ranges::any_of(caller.models, [&](const std::string& name) { return meant(name) == id; });
}

// What a name stands for: a served model by its own name, with a plan behind it or not, else what an alias says.
std::string App::meant(const std::string& name) const {
  const std::string id = name.substr(0, name.find(':'));
  for (const std::string& served : models_->ids())
    if (served == name || served == id) return name;
  return live()->model(name);
}

// A body that names no model gets the first that its caller may use. Adapters that it chooses are models too.
void App::allow_model(const Caller& caller, Json& body) const {
  if (caller.models.empty()) return;
  const auto refuse = [&](const char* param, const std::string& name) {
    ApiError x(403, "permission_error", "model_not_allowed",
               fmt::format("the API key '{}' may not use model '{}'; it may use: {}", caller.user, name,
                           fmt::join(caller.models, ", ")));
    x.param = param;
    throw x;
  };
  if (const Json* lora = body.find("lora"); lora && lora->is_array())
    for (const Json& one : lora->as_array()) {
      const Json* id = one.is_object() ? one.find("id") : nullptr;
      if (id && id->is_string() && !may_use(caller, id->as_string())) refuse("lora", id->as_string());
      if (id && !id->is_string()) bad_field("lora", "id: with this API key, expected the name of an adapter");
    }
  const Json* name = body.find("model");
  if (!name || name->is_null()) {
    const std::vector<std::string> ids = models_->ids();
    const auto first = std::ranges::find_if(ids, [&](const std::string& id) { return may_use(caller, id); });
    body.set("model", first == ids.end() ? caller.models[0] : *first);
    return;
  }
  if (!name->is_string() || may_use(caller, name->as_string()) || may_use(caller, meant(name->as_string()))) return;
  refuse("model", name->as_string());
}

void App::refuse_change_of_adapters(const Exchange& e) const {
  refuse_foreign_page(e, "the adapters");
  if (e.caller.models.empty()) return;
  throw ApiError(403, "permission_error", "",
                 fmt::format("the API key '{}' is for some models only and may not change which adapters there are",
                             e.caller.user));
}

void App::refuse_when_busy(Exchange& e) const {
  const int64_t beside = running_ - 1;
  if (beside < o_.max_requests) return;
  e.header("retry-after", "2");
  throw ApiError(429, "rate_limit_error", "too_many_requests",
                 fmt::format("{} requests are running, the maximum of this server; try again", beside));
}

void App::refuse_when_stopping(Exchange& e) const {
  if (!draining_) return;
  e.header("retry-after", "5");
  throw ApiError(503, "server_error", "stopping", "the server is stopping and takes no more requests; try again");
}

void App::drain() { draining_ = true; }

void App::end_requests() {
  {
    std::lock_guard lock(mutex_);
    if (batches_) batches_->stop();
  }
  for (const std::string& id : models_->ids())
    if (const auto m = models_->loaded(id); m && m->host) m->host->end_all();
}

std::vector<std::string> App::unready() const {
  std::vector<std::string> why;
  if (draining_) why.emplace_back("the server is stopping");
  if (const int64_t beside = running_ - 1; beside >= o_.max_requests)  // without the one that asks
    why.push_back(fmt::format("{} requests are running, the maximum", beside));
  for (const std::string& id : models_->ids())
    if (const auto m = models_->loaded(id); m && m->host && !m->base && m->host->full())
      why.push_back(fmt::format("the queue of model {} is full", id));
  return why;
}

// Alive: it answers.
void App::health(Exchange& e) { e.answer(200, "application/json", R"({"status":"ok"})"); }

// Ready: a request would be taken now.
void App::ready(Exchange& e) {
  const std::vector<std::string> why = unready();
  Json j = Json::object(), reasons = Json::array();
  for (const std::string& reason : why) reasons.push(reason);
  j.set("status", why.empty() ? "ready" : "unready"), j.set("reasons", std::move(reasons));
  e.answer(why.empty() ? 200 : 503, "application/json", j.dump());
}

void App::usage(Exchange& e) { e.answer(200, "application/json", admission_.usage(e).dump()); }

}  // namespace quern::serve
