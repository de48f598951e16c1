// Routes, keys, CORS, the log and the counters.
#include "quern/serve/app/app.h"

#include <algorithm>
#include <cmath>

#include "quern/base/nearest.h"
#include "quern/base/stopwatch.h"
#include "quern/base/version.h"
#include "quern/serve/api/completion_api.h"
#include "quern/serve/api/embeddings_api.h"
#include "quern/serve/api/mcp_chat.h"
#include "quern/serve/api/messages_api.h"
#include "quern/serve/api/rerank_api.h"
#include "quern/serve/api/responses_api.h"
#include "quern/serve/api/runs_api.h"
#include "quern/serve/api/slots_api.h"
#include "quern/serve/api/token_api.h"
#include "quern/serve/app/web_ui.h"
#include "quern/serve/http/api_key.h"
#include "quern/serve/keep/response_file.h"
#include "quern/serve/models/request_adapters.h"
#include "quern/serve/ollama/ollama_reply.h"
#include "quern/serve/wire/api_error.h"
#include "quern/serve/wire/wire.h"

namespace quern::serve {
namespace {

constexpr int64_t kMaxKept = 65'536;  // stored responses on disk

std::unique_ptr<ResponseBackend> response_shelf(const std::string& folder) {
  if (folder.empty()) return nullptr;
  return std::make_unique<ResponseFile>(std::filesystem::path(folder) / "responses.db", kMaxKept);
}

}  // namespace

App::App(std::unique_ptr<ModelManager> models, AppOptions options)
    : admission_({.plain = options.api_keys, .file = options.keys_file, .max_requests = options.max_requests}),
      models_(std::move(models)),
      started_(unix_time()),
      o_(std::move(options)),
      grounding_(o_.grounding),
      sessions_(o_.sessions),
      responses_(1024, size_t{256} << 20, response_shelf(o_.sessions)),
      live_(std::make_shared<const LiveSettings>(o_.live)) {
  if (!o_.otlp.empty()) exporter_ = std::make_unique<OtlpExporter>(o_.otlp);
  if (!o_.sessions.empty()) batch_runner();  // what an earlier server left open is resumed
}
App::App(std::vector<std::unique_ptr<ServedModel>> models, AppOptions options)
    : App(std::make_unique<ModelManager>(std::move(models)), std::move(options)) {}
App::~App() = default;

bool App::matches(const Route& r, const std::string& path) {
  const std::string_view p = r.path;
  return path == p || (p.size() > 1 && p.ends_with('/') && path.size() > p.size() && path.starts_with(p));
}

// The page's addresses are relative, so its own has to end in '/'.
bool App::enter(Exchange& e) const {
  const std::string& path = e.request().path;
  if (o_.prefix.empty()) return true;
  if (path == o_.prefix) {
    e.header("location", o_.prefix + "/");
    e.answer(308, "", "");
    return false;
  }
  if (!path.starts_with(o_.prefix + "/"))
    throw ApiError(404, "invalid_request_error", "",
                   fmt::format("there is no {}: this server's paths begin with {}/", path, o_.prefix));
  e.below(o_.prefix);
  return true;
}

void App::handle(Exchange& e) {
  const Stopwatch watch;
  const std::string id = e.id = new_id(kRequestId.data());
  const std::string path = e.request().path;  // with the prefix, for the log
  e.header("x-request-id", id), e.header("request-id", id);
  add_cors_headers(e);
  ++running_;
  e.facts.keep_output = exporter_ && o_.otlp_content;
  auto refuse = [&](const ApiError& x) {
    if (e.status() != 0) return;
    if (x.status == 429) e.header("retry-after", fmt::format("{:.0f}", std::max(1.0, std::ceil(x.retry_seconds))));
    const bool anthropic = e.request().path.starts_with("/v1/messages");
    const bool ollama = e.request().path.starts_with("/api/");
    const Json body = anthropic ? anthropic_error_json(x, id) : ollama ? ollama_error_json(x) : error_json(x);
    e.answer(x.status, "application/json", body.dump());
  };
  try {
    if (enter(e)) dispatch(e);
  } catch (const ApiError& x) {
    refuse(x);
  } catch (const Error& x) {
    refuse(ApiError(x.what()));
  } catch (const std::exception& x) {
    refuse(ApiError(500, "server_error", "", x.what()));
  }
  --running_;
  measure(e, e.request().path, watch.seconds());
  const auto route =
      std::find_if(kRoutes.begin(), kRoutes.end(), [&](const Route& r) { return matches(r, e.request().path); });
  {
    std::lock_guard lock(mutex_);
    ++answered_[{route != kRoutes.end() ? route->path : "other", e.status()}];
  }
  if (!o_.log) return;
  Json j = Json::object();
  j.set("time", unix_time()), j.set("id", id), j.set("method", e.request().method), j.set("path", path);
  j.set("status", e.status()), j.set("gone", e.gone());
  if (!e.caller.user.empty()) j.set("user", e.caller.user);
  j.set("ms", 1e3 * watch.seconds());
  fmt::print(stderr, "{}\n", j.dump());
}

void App::dispatch(Exchange& e) {
  const HttpRequest& r = e.request();
  if (r.method == "OPTIONS") return e.answer(204, "", "");
  const std::string method = r.method == "HEAD" ? "GET" : r.method;
  const Route* found = nullptr;
  std::string other;
  const bool exact = std::any_of(kRoutes.begin(), kRoutes.end(), [&](const Route& x) { return r.path == x.path; });
  for (const Route& route : kRoutes) {
    if (exact ? r.path != route.path : !matches(route, r.path)) continue;
    if (method == route.method) found = &route;
    other += (other.empty() ? "" : ", ") + std::string(route.method);
  }
  if (const char* below = method_below(r.path); below && method != below) found = nullptr, other = below;
  if (!found && !other.empty()) {
    e.header("allow", other);
    throw ApiError(405, "invalid_request_error", "", fmt::format("{} {}: expected {}", r.method, r.path, other));
  }
  if (!found) throw ApiError(404, "invalid_request_error", "", fmt::format("there is no {}", r.path));
  if (found->open) return (this->*found->serve)(e);
  if (!found->control) refuse_when_busy();
  admission_.identify(e);
  if (method == "GET" || found->control) return (this->*found->serve)(e);
  const Working counted(working_);
  refuse_when_stopping(e);
  const Admission::Pass pass = admission_.admit(e);
  (this->*found->serve)(e);
}

Json App::parse_body(Exchange& e) const {
  Json j;
  try {
    j = Json::parse(e.request().body, "the request's body");
  } catch (const Error& x) {
    throw ApiError(x.what());
  }
  if (!j.is_object()) throw ApiError("the request's body: expected a JSON object");
  admission_.name_user(e, j);
  return j;
}

Json App::read_body(Exchange& e) const {
  Json j = parse_body(e);
  const Json *model = j.find("model"), *name = j.find("name");
  if (name && (!model || model->is_null()) && e.request().path.starts_with("/api/"))  // as Ollama's clients may write
    j.set("model", Json(*name));
  allow_model(e.caller, j);
  return j;
}

std::string App::model_name(const Json& body, std::string* plan) const {
  const std::vector<std::string> ids = models_->ids();
  const Json* name = body.find("model");
  if (!name || name->is_null()) return ids[0];
  if (!name->is_string()) bad_field("model", "expected a string");
  const std::string wanted = meant(name->as_string());
  if (const auto found = served_as(wanted); found && (plan || found->plan.empty())) {
    if (plan && !found->plan.empty()) *plan = found->plan;
    return found->id;
  }
  std::vector<std::string> names = ids;
  for (const auto& [alias, model] : live()->aliases) names.push_back(alias);
  ApiError x(404, "invalid_request_error", "model_not_found",
             fmt::format("model '{}' is not served here{}; served: {}", wanted, did_you_mean(wanted, names),
                         fmt::join(names, ", ")));
  x.param = "model";
  throw x;
}

std::shared_ptr<ServedModel> App::model_for(const Json& body, std::string* plan) {
  return choose_adapters(*models_, models_->get(model_name(body, plan)), body);
}

void App::refuse_encoder(const ServedModel& m) {
  if (!m.encoder) return;
  ApiError x(400, "invalid_request_error", "model_not_supported",
             fmt::format("model '{}' is an encoder: it serves /v1/embeddings, /v1/rerank and /v1/score", m.id));
  x.param = "model";
  throw x;
}

void App::refuse_full(const ServedModel& m) {
  if (m.host->full()) throw ApiError(429, "rate_limit_error", "queue_full", "the queue is full; try again");
}

std::shared_ptr<ServedModel> App::language_model_for(const Json& body, std::string* plan) {
  auto m = model_for(body, plan);
  refuse_encoder(*m);
  return m;
}

std::shared_ptr<ServedModel> App::model_with_room(const Json& body, std::string* plan) {
  auto m = language_model_for(body, plan);
  refuse_full(*m);
  return m;
}

void App::chat(Exchange& e) {
  const Json body = read_body(e);
  std::string plan;
  refuse_foreign_memory(e, body);
  const auto m = model_with_room(body, &plan);
  const Grounded g = grounding_.ground(body, m->tokenizer, unix_time(), e.caller);
  const mcp::Servers* tools = body.find("mcp") && o_.mcp ? &mcp_servers(e) : nullptr;
  if (const auto said = chat_as_asked(*m, e, g, plan, tools)) grounding_.keep(g, *said, unix_time());
}

void App::complete(Exchange& e) {
  const Json body = read_body(e);
  completions(*model_with_room(body), e, body);
}

void App::embed(Exchange& e) {
  const Json body = read_body(e);
  embeddings(*model_for(body), e, body);
}

void App::rank(Exchange& e) {
  const Json body = read_body(e);
  rerank(*model_for(body), e, body);
}

void App::score(Exchange& e) {
  const Json body = read_body(e);
  score_pairs(*model_for(body), e, body);
}

void App::messages(Exchange& e) {
  const Json body = read_body(e);
  refuse_foreign_memory(e, body);
  const auto m = model_with_room(body);
  const Grounded g = grounding_.ground(chat_body_of_messages(body), m->tokenizer, unix_time(), e.caller);
  if (const auto said = anthropic_messages(*m, e, g)) grounding_.keep(g, *said, unix_time());
}

void App::responses(Exchange& e) {
  const Json body = read_body(e);
  refuse_foreign_memory(e, body);
  create_response(*model_with_room(body), e, body, responses_, grounding_);
}

void App::response(Exchange& e) {
  constexpr std::string_view kBelow = "/v1/responses/", kItems = "/input_items";
  std::string id = e.request().path.substr(kBelow.size());
  const bool items = id.ends_with(kItems);
  if (items) id.resize(id.size() - kItems.size());
  const auto r = responses_.get(id, e.caller);
  if (!r) throw ApiError(404, "invalid_request_error", "", fmt::format("response '{}' does not exist", id));
  if (!items) return e.answer(200, "application/json", r->response.dump());
  Json j = Json::object();
  j.set("object", "list"), j.set("data", r->input), j.set("has_more", false);
  e.answer(200, "application/json", j.dump());
}

void App::delete_response(Exchange& e) {
  const std::string id = e.request().path.substr(std::string_view("/v1/responses/").size());
  if (!responses_.erase(id, e.caller))
    throw ApiError(404, "invalid_request_error", "", fmt::format("response '{}' does not exist", id));
  Json j = Json::object();
  j.set("id", id), j.set("object", "response"), j.set("deleted", true);
  e.answer(200, "application/json", j.dump());
}

namespace {
std::string session_name(const Exchange& e) {
  return e.request().path.substr(std::string_view("/v1/sessions/").size());
}
}  // namespace

void App::sessions(Exchange& e) { e.answer(200, "application/json", sessions_.list(e.caller).dump()); }
void App::session(Exchange& e) {
  e.answer(200, "application/json", sessions_.facts(session_name(e), e.caller).dump());
}
void App::delete_session(Exchange& e) {
  e.answer(200, "application/json", sessions_.erase(session_name(e), e.caller).dump());
}

void App::post_session(Exchange& e) {
  constexpr std::string_view kRestore = "/restore";
  if (admission_.open()) refuse_foreign_page(e, "the saved sessions", HostNames::any);
  std::string name = session_name(e);
  Json body = e.request().body.empty() ? Json::object() : parse_body(e);
  if (body.find("lora")) bad_field("lora", "a session has the adapter of its model's name and no other");
  const bool restores = name.ends_with(kRestore);
  if (restores) name.resize(name.size() - kRestore.size());
  if (const Json* model = body.find("model"); restores && (!model || model->is_null()))
    body.set("model", sessions_.model_of(name, e.caller));
  allow_model(e.caller, body);
  if (restores)
    return e.answer(200, "application/json", sessions_.restore(name, *language_model_for(body), e.caller).dump());
  const Json saved = sessions_.save(name, *model_with_room(body), body, e);
  if (!saved.is_null()) e.answer(200, "application/json", saved.dump());
}

void App::adapters(Exchange& e) {
  const auto shown = [&](const std::string& id) { return may_see(e.caller, id); };
  e.answer(200, "application/json", list_adapters(*models_, o_.adapters, shown).dump());
}
void App::add_adapter(Exchange& e) {
  refuse_change_of_adapters(e);
  e.answer(200, "application/json", load_adapter(*models_, o_.adapters, read_body(e)).dump());
}
void App::remove_adapter(Exchange& e) {
  refuse_change_of_adapters(e);
  e.answer(200, "application/json", unload_adapter(*models_, o_.adapters, read_body(e)).dump());
}

void App::tokenize(Exchange& e) {
  const Json body = read_body(e);
  e.answer(200, "application/json", tokenize_json(*model_for(body), body).dump());
}
void App::detokenize(Exchange& e) {
  const Json body = read_body(e);
  e.answer(200, "application/json", detokenize_json(*model_for(body), body).dump());
}
void App::apply_template(Exchange& e) {
  const Json body = read_body(e);
  e.answer(200, "application/json", apply_template_json(*language_model_for(body), body).dump());
}

void App::show_web_ui(Exchange& e) { answer_web_file(e); }
void App::runs(Exchange& e) { e.answer(200, "application/json", runs_json(o_.runs, e.request()).dump()); }

void App::version(Exchange& e) {
  e.answer(200, "application/json", fmt::format(R"({{"version":"{}"}})", quern::version()));
}

void App::slots(Exchange& e) {
  std::vector<std::shared_ptr<ServedModel>> loaded;
  for (const std::string& id : models_->ids())
    if (auto m = models_->loaded(id); m && m->host && !m->base && may_see(e.caller, id))
      loaded.push_back(std::move(m));
  e.answer(200, "application/json", slots_json(loaded, e.request(), SlotText{o_.slots_text}).dump());
}

}  // namespace quern::serve
