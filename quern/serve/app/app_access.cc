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

// A name without the tag that Ollama gives to all.
std::string_view without_latest(std::string_view name) {
  constexpr std::string_view kLatest = ":latest";
  return name.ends_with(kLatest) ? name.substr(0, name.size() - kLatest.size()) : name;
}

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

// A chat with x_memory stores what is said.
void App::refuse_foreign_memory(const Exchange& e, const Json& body) const {
  const Json* memory = body.find("x_memory");
  if (memory && !memory->is_null() && *memory != Json(false)) refuse_foreign_page(e, "the memory");
}

void App::refuse_foreign_page(const Exchange& e, const char* what, HostNames names) const {
  if (page_may_call(e.request(), live()->cors, names)) return;
  throw ApiError(403, "permission_error", "foreign_origin",
                 fmt::format("pages of {} may not use {} of this server", *e.request().header("origin"), what));
}

// Names of a key are whole: `qwen` is not `qwen:7b`. Only `:latest` may be there or not, unless both are served.
bool App::may_use(const Caller& caller, std::string_view model) const {
  if (caller.models.empty()) return true;
  const std::vector<std::string> ids = models_->ids();
  return std::ranges::any_of(caller.models, [&](const std::string& name) {
    return name == model ||
           (std::ranges::find(ids, name) == ids.end() && without_latest(name) == without_latest(model));
  });
}

bool App::may_see(const Caller& caller, const std::string& id) const {
  return may_use(caller, id) ||
         std::ranges::any_of(caller.models, [&](const std::string& name) { return meant(name) == id; });
}

// What a name stands for: a served model by its own name, with a plan behind it or not, else what an alias says.
std::string App::meant(const std::string& name) const { return served_as(name) ? name : live()->model(name); }

// The longest name that fits: where `qwen` and `qwen:7b` are served, `qwen:7b:vote` is the latter with a plan.
std::optional<App::ModelName> App::served_as(const std::string& name) const {
  std::optional<ModelName> best;
  for (const std::string& id : models_->ids())
    if ((name == id || name.starts_with(id + ":")) && (!best || id.size() > best->id.size()))
      best = ModelName{.id = id, .plan = name == id ? "" : name.substr(id.size() + 1)};
  return best;
}

// A plan behind the name of a model that its caller may use is no other model.
bool App::may_name(const Caller& caller, const std::string& name) const {
  if (may_use(caller, name)) return true;
  const auto model = served_as(meant(name));
  if (!model) return false;
  if (may_use(caller, model->id)) return true;
  const std::string plan = ":" + model->plan;
  return !model->plan.empty() && name.ends_with(plan) && may_use(caller, name.substr(0, name.size() - plan.size()));
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
  if (!name->is_string() || may_name(caller, name->as_string())) return;
  refuse("model", name->as_string());
}

void App::refuse_change_of_adapters(const Exchange& e) const {
  refuse_foreign_page(e, "the adapters");
  if (e.caller.models.empty() && e.caller.reaches_all()) return;
  throw ApiError(
      403, "permission_error", "not_an_admin",
      fmt::format("the API key '{}' may use the adapters that there are; an admin key for all models loads "
                  "and unloads them",
                  e.caller.user));
}

void App::refuse_when_busy() const {
  const int64_t beside = running_ - 1;
  if (beside < o_.max_requests) return;
  ApiError x(429, "rate_limit_error", "too_many_requests",
             fmt::format("{} requests are running, the maximum of this server; try again", beside));
  x.retry_seconds = 2;
  throw x;
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
