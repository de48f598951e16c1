// The routes of the Batch API: files and batches.
#include "quern/serve/app/app.h"
#include "quern/serve/http/multipart.h"
#include "quern/serve/wire/api_error.h"
#include "quern/serve/wire/wire.h"

namespace quern::serve {
namespace {

constexpr int64_t kBatchPriority = 1000;
constexpr const char *kFiles = "/v1/files/", *kBatches = "/v1/batches/";

// What a path has after `prefix`, and without `ending`, which is cut off it; false where it does not end so.
std::string id_in(const Exchange& e, const char* prefix) {
  return e.request().path.substr(std::string_view(prefix).size());
}
bool cut_ending(std::string& id, std::string_view ending) {
  if (!id.ends_with(ending)) return false;
  id.resize(id.size() - ending.size());
  return true;
}

PageRequest read_page(const Exchange& e, int64_t maximum) {
  PageRequest page{.limit = std::min<int64_t>(20, maximum)};
  if (const std::string* after = e.request().parameter("after")) page.after = *after;
  const std::string* limit = e.request().parameter("limit");
  if (!limit) return page;
  int64_t n = 0;
  for (char c : *limit) n = c >= '0' && c <= '9' && n <= maximum ? 10 * n + (c - '0') : maximum + 1;
  if (limit->empty() || n < 1 || n > maximum) bad_field("limit", "'{}': expected 1 to {}", *limit, maximum);
  page.limit = n;
  return page;
}

void send_json(Exchange& e, const Json& j) { e.answer(200, "application/json", j.dump()); }

}  // namespace

bool App::requests_wait() const {
  for (const std::string& id : models_->ids())
    if (const auto m = models_->loaded(id); m && m->host && !m->base && m->host->counts().waiting > 0) return true;
  return false;
}

BatchRunner& App::batch_runner() {
  std::lock_guard lock(mutex_);
  if (!batches_) {
    const std::filesystem::path folder = o_.sessions.empty() ? "" : std::filesystem::path(o_.sessions) / "batch";
    batches_ = std::make_unique<BatchRunner>(
        folder, BatchHooks{.serve = [this](Exchange& e, const std::string& key,
                                           LineStart start) { return serve_inside(e, key, start); },
                           .clients_wait = [this] { return requests_wait(); },
                           .clients_run = [this] { return running_ > 0; },
                           .turn = o_.batch_turn});
  }
  return *batches_;
}

// With the rights and limits of the key, charged to it; no log line. Requests of clients go first, but for a line in its turn.
LineEnd App::serve_inside(Exchange& e, const std::string& key, LineStart start) {
  try {
    std::optional<Admission::Pass> pass;
    if (admission_.open())
      e.caller.user = "batch";
    else if (key.empty())
      e.caller.apart = true;  // made when there were no keys: it reaches what is nobody's, as it did then
    else
      pass.emplace(admission_.admit_as(e, key));
    e.caller.lowest_priority = std::max(e.caller.lowest_priority, start == LineStart::in_turn ? 0 : kBatchPriority);
    for (const Route& r : kRoutes)
      if (r.method == e.request().method && matches(r, e.request().path)) {
        (this->*r.serve)(e);
        break;
      }
  } catch (const ApiError& x) {
    if (x.status == 429 && x.code != kUsedUp) return {.again = true, .after_seconds = x.retry_seconds};
    if (e.status() == 0) e.answer(x.status, "application/json", error_json(x).dump());
  } catch (const Error& x) {
    if (e.status() == 0) e.answer(400, "application/json", error_json(ApiError(x.what())).dump());
  }
  return {};
}

void App::post_file(Exchange& e) {
  refuse_foreign_page(e, "files and batches");
  const std::string* type = e.request().header("content-type");
  const auto boundary = type ? form_boundary(*type) : std::nullopt;
  if (!boundary) bad_field("content-type", "expected multipart/form-data with a boundary");
  std::string purpose, name, content;
  bool there = false;
  for (FormPart& part : parse_form(e.request().body, *boundary)) {
    if (part.name == "purpose") purpose = std::move(part.content);
    if (part.name != "file") continue;
    there = true, name = part.filename.empty() ? "file" : std::move(part.filename), content = std::move(part.content);
  }
  if (!there) bad_field("file", "expected a part of this name with the file");
  if (purpose != "batch") bad_field("purpose", "'{}': only batch is supported", purpose);
  if (content.empty()) bad_field("file", "is empty");
  send_json(e, batch_runner().files().add({name.substr(0, 255), purpose, e.caller.owner()}, content).json());
}

void App::files(Exchange& e) {
  const std::string* purpose = e.request().parameter("purpose");
  std::vector<Json> all;
  for (const StoredFile& f : batch_runner().files().list(e.caller))
    if (!purpose || f.purpose == *purpose) all.push_back(f.json());
  send_json(e, page_json(all, read_page(e, 10'000)));
}

void App::file(Exchange& e) {
  std::string id = id_in(e, kFiles);
  if (!cut_ending(id, "/content")) return send_json(e, batch_runner().files().get(id, e.caller).json());
  e.answer(200, "application/octet-stream", batch_runner().files().content(id, e.caller));
}

void App::delete_file(Exchange& e) {
  refuse_foreign_page(e, "files and batches");
  const std::string id = id_in(e, kFiles);
  batch_runner().files().erase(id, e.caller);
  Json j = Json::object();
  j.set("id", id), j.set("object", "file"), j.set("deleted", true);
  send_json(e, j);
}

void App::post_batch(Exchange& e) {
  refuse_foreign_page(e, "files and batches");
  const Json body = read_body(e);
  send_json(e, batch_runner().create(body, e.caller, admission_.open() ? "" : e.caller.user));
}
void App::batches(Exchange& e) { send_json(e, batch_runner().list(read_page(e, 100), e.caller)); }
void App::batch(Exchange& e) { send_json(e, batch_runner().get(id_in(e, kBatches), e.caller)); }

void App::post_batch_step(Exchange& e) {
  refuse_foreign_page(e, "files and batches");
  std::string id = id_in(e, kBatches);
  if (!cut_ending(id, "/cancel")) {
    e.header("allow", "GET");
    throw ApiError(405, "invalid_request_error", "", fmt::format("POST {}: expected GET", e.request().path));
  }
  send_json(e, batch_runner().cancel(id, e.caller));
}

}  // namespace quern::serve
