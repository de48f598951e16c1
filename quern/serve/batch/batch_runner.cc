// Results are appended to a file as they come; the facts of a batch are written when its status changes.
#include "quern/serve/batch/batch_runner.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "quern/base/error.h"
#include "quern/serve/wire/api_error.h"
#include "quern/serve/wire/generation_fields.h"
#include "quern/serve/wire/wire.h"

namespace quern::serve {
namespace {

namespace fs = std::filesystem;
constexpr std::array kEndpoints = {"/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses"};
constexpr const char *kResults = ".out", *kErrors = ".err", *kFactsFile = ".json";
constexpr const char *kOwner = "x_owner", *kKey = "x_key";  // of a batch's facts on disk
constexpr size_t kMaxBatches = 1000;
constexpr int64_t kDay = 86'400;

Json read_metadata(const Fields& f) {
  const Json* given = f.find("metadata");
  if (!given) return {};
  if (!given->is_object() || given->as_object().size() > 16)
    bad_field("metadata", "expected an object of up to 16 texts");
  for (const auto& [key, value] : given->as_object())
    if (key.size() > 64 || !value.is_string() || value.as_string().size() > 512)
      bad_field("metadata", "'{}': expected a key of up to 64 bytes and a text of up to 512", key);
  return *given;
}

Turn::Clock::time_point later(double seconds) {
  return Turn::Clock::now() +
         std::chrono::duration_cast<Turn::Clock::duration>(std::chrono::duration<double>(seconds));
}

Json counts_json() {
  Json j = Json::object();
  for (const char* what : {"total", "completed", "failed"}) j.set(what, int64_t{0});
  return j;
}

}  // namespace

bool BatchRunner::Batch::open() const {
  const std::string s = status();
  return s == "validating" || s == "in_progress" || s == "finalizing" || s == "cancelling";
}

size_t BatchRunner::Batch::take_line() {
  if (again.empty()) return next++;
  const size_t line = again.back();
  again.pop_back();
  return line;
}

BatchRunner::BatchRunner(const fs::path& folder, BatchHooks hooks)
    : folder_(folder), files_(folder_.path() / "files"), hooks_(std::move(hooks)), turn_(hooks_.turn) {
  fs::create_directories(folder_.path() / "batches");
  fs::permissions(folder_.path() / "batches", fs::perms::owner_all);
  load();
  for (int i = 0; i < kLines; ++i) workers_.emplace_back([this, i](const std::stop_token& s) { work(s, i); });
}

void BatchRunner::stop() {
  std::lock_guard lock(mutex_);
  stopping_ = true;
  for (const Shared& b : batches_)
    for (MemoryExchange* e : b->exchanges) e->cancel();
}

BatchRunner::~BatchRunner() {
  stop();
  for (std::jthread& w : workers_) w.request_stop();
  changed_.notify_all();
  workers_.clear();
}

void BatchRunner::load() {
  std::vector<Json> all;
  for (const auto& f : fs::directory_iterator(folder_.path() / "batches"))
    if (f.path().extension() == kFactsFile) all.push_back(Json::read(f));
  std::ranges::sort(all, [](const Json& a, const Json& b) {
    return std::pair(a.at("created_at").as_int(), a.at("id").as_string()) <
           std::pair(b.at("created_at").as_int(), b.at("id").as_string());
  });
  for (Json& j : all) {
    auto b = std::make_shared<Batch>();
    for (const auto& [field, value] : {std::pair{kOwner, &b->owner}, {kKey, &b->key}})
      if (const Json* there = j.find(field)) *value = there->as_string(), j.erase(field);
    b->facts = std::move(j);
    batches_.push_back(std::move(b));
    batches_.back()->cancelled = batches_.back()->status() == "cancelling";
  }
}

fs::path BatchRunner::path_of(const std::string& id, const char* ending) const {
  return folder_.path() / "batches" / (id + ending);  // ids are looked up among those that are there
}

BatchRunner::Shared BatchRunner::find(const std::string& id, const Caller& who) const {
  const auto at =
      std::ranges::find_if(batches_, [&](const Shared& b) { return b->id() == id && who.reaches(b->owner); });
  if (at == batches_.end())
    throw ApiError(404, "invalid_request_error", "", fmt::format("there is no batch '{}'", id));
  return *at;
}

Json BatchRunner::create(const Json& body, const Caller& who, const std::string& key) {
  const Fields f(body);
  const std::string endpoint = f.text("endpoint").value_or(""), file = f.text("input_file_id").value_or("");
  if (std::ranges::find(kEndpoints, endpoint) == kEndpoints.end())
    bad_field("endpoint", "'{}': expected {}", endpoint, fmt::join(kEndpoints, ", "));
  if (f.text("completion_window").value_or("") != "24h") bad_field("completion_window", "expected 24h");
  if (file.empty()) bad_field("input_file_id", "expected the id of a file with purpose batch");
  if (files_.get(file, who).purpose != "batch")
    bad_field("input_file_id", "'{}' has another purpose than batch", file);
  Json j = Json::object();
  const int64_t now = unix_time();
  j.set("id", new_id("batch_")), j.set("object", "batch"), j.set("endpoint", endpoint), j.set("errors", Json());
  j.set("input_file_id", file), j.set("completion_window", "24h"), j.set("status", "validating");
  j.set("output_file_id", Json()), j.set("error_file_id", Json()), j.set("created_at", now);
  for (const char* at : {"in_progress_at", "finalizing_at", "completed_at", "failed_at", "expired_at",
                         "cancelling_at", "cancelled_at"})
    j.set(at, Json());
  j.set("expires_at", now + kDay), j.set("request_counts", counts_json()), j.set("metadata", read_metadata(f));
  std::lock_guard lock(mutex_);
  if (batches_.size() >= kMaxBatches) {
    const auto done = std::ranges::find_if(batches_, [](const Shared& b) { return !b->open(); });
    if (done == batches_.end())
      throw ApiError(429, "rate_limit_error", "too_many_batches",
                     fmt::format("{} batches are open, the maximum", kMaxBatches));
    for (const char* ending : {kFactsFile, kResults, kErrors}) fs::remove(path_of((*done)->id(), ending));
    batches_.erase(done);
  }
  auto b = std::make_shared<Batch>(Batch{.facts = std::move(j), .owner = who.owner(), .key = key});
  save(*b);
  batches_.push_back(b);
  changed_.notify_all();
  return b->facts;
}

Json BatchRunner::get(const std::string& id, const Caller& who) const {
  std::lock_guard lock(mutex_);
  return find(id, who)->facts;
}

Json BatchRunner::list(const PageRequest& page, const Caller& who) const {
  std::vector<Json> all;
  std::lock_guard lock(mutex_);
  for (auto b = batches_.rbegin(); b != batches_.rend(); ++b)
    if (who.reaches((*b)->owner)) all.push_back((*b)->facts);
  return page_json(all, page);
}

Json BatchRunner::cancel(const std::string& id, const Caller& who) {
  std::lock_guard lock(mutex_);
  const Shared b = find(id, who);
  if (!b->open()) throw ApiError(409, "invalid_request_error", "", fmt::format("batch '{}' is {}", id, b->status()));
  if (!b->cancelled) {
    b->cancelled = true;
    set_status(*b, "cancelling");
    for (MemoryExchange* e : b->exchanges) e->cancel();
  }
  changed_.notify_all();
  return b->facts;
}

void BatchRunner::set_status(Batch& b, const char* status) const {
  b.facts.set("status", status);
  if (const std::string at = std::string(status) + "_at"; b.facts.find(at)) b.facts.set(at, unix_time());
  save(b);
}

void BatchRunner::count(Batch& b, const char* what) const {
  Json counts = b.facts.at("request_counts");
  counts.set(what, counts.at(what).as_int() + 1);
  b.facts.set("request_counts", std::move(counts));
}

void BatchRunner::save(const Batch& b) const {
  Json j = b.facts;
  for (const auto& [field, value] : {std::pair{kOwner, &b.owner}, {kKey, &b.key}})
    if (!value->empty()) j.set(field, *value);
  write_private(path_of(b.id(), kFactsFile), j.dump());
}

void BatchRunner::append(const Batch& b, const char* ending, const std::string& line) const {
  const int f = ::open(path_of(b.id(), ending).c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0600);
  const bool good = f >= 0 && ::write(f, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  if (f >= 0) ::close(f);
  if (!good) fail("the results of {} cannot be written", b.id());
}

void BatchRunner::begin(Batch& b) {
  b.begun = true;
  BatchInput in;
  try {
    in = read_batch_input(files_.content(b.facts.at("input_file_id").as_string(), {}),
                          b.facts.at("endpoint").as_string());
  } catch (const Error& e) {
    in.faults.push_back({"input_file", e.what(), 0});
  }
  if (!in.faults.empty()) {
    Json errors = Json::object(), data = Json::array();
    for (const BatchFault& f : in.faults) data.push(f.json());
    errors.set("object", "list"), errors.set("data", std::move(data));
    b.facts.set("errors", std::move(errors));
    return set_status(b, "failed");
  }
  Json counts = counts_json();
  counts.set("total", static_cast<int64_t>(in.lines.size()));
  b.facts.set("request_counts", std::move(counts));
  std::map<std::string, bool> known;
  for (const auto& [ending, what] : {std::pair{kResults, "completed"}, {kErrors, "failed"}}) {
    if (!fs::exists(path_of(b.id(), ending))) continue;  // of an earlier server
    std::string text = read_whole(path_of(b.id(), ending));
    const size_t before = text.size();
    for (const auto& [id, there] : finished_lines(text)) known[id] = there, count(b, what);
    if (text.size() != before) write_private(path_of(b.id(), ending), text);
  }
  std::erase_if(in.lines, [&](const BatchLine& l) { return known.contains(l.custom_id); });
  b.lines = std::move(in.lines);
  if (!b.cancelled) set_status(b, "in_progress");
}

BatchRunner::Shared BatchRunner::next_batch() {
  for (const Shared& b : batches_) {
    if (!b->open()) continue;
    if (!b->begun) begin(*b);
    if (!b->cancelled && b->open() && unix_time() >= b->facts.at("expires_at").as_int())
      b->next = b->lines.size(), b->again.clear();
    const bool left = !b->cancelled && b->has_line();
    if (!left && b->running == 0) settle(*b);
    if (left && b->open() && Turn::Clock::now() >= b->not_before) return b;
  }
  return nullptr;
}

void BatchRunner::settle(Batch& b) {
  if (!b.open()) return;
  const Json& counts = b.facts.at("request_counts");
  const bool all = counts.at("completed").as_int() + counts.at("failed").as_int() == counts.at("total").as_int();
  if (b.cancelled) return finish(b, "cancelled");
  if (!all) return finish(b, "expired");
  set_status(b, "finalizing");
  finish(b, "completed");
}

void BatchRunner::finish(Batch& b, const char* status) {
  try {
    for (const auto& [ending, field, name] :
         {std::tuple{kResults, "output_file_id", "output"}, {kErrors, "error_file_id", "errors"}}) {
      const fs::path path = path_of(b.id(), ending);
      if (!fs::exists(path)) continue;
      b.facts.set(
          field,
          files_.add({fmt::format("{}_{}.jsonl", b.id(), name), "batch_output", b.owner}, read_whole(path)).id);
    }
    set_status(b, status);
    for (const char* ending : {kResults, kErrors}) fs::remove(path_of(b.id(), ending));
  } catch (const Error& e) {
    Json errors = Json::object(), data = Json::array();
    data.push(BatchFault{"output_file", e.what(), 0}.json());
    errors.set("object", "list"), errors.set("data", std::move(data));
    b.facts.set("errors", std::move(errors));
    b.facts.set("status", "failed"), b.facts.set("failed_at", unix_time());
  }
  b.lines.clear();
}

bool BatchRunner::run_line(const Shared& b, LineStart start, std::unique_lock<std::mutex>& lock) {
  const size_t line = b->take_line();
  const BatchLine request = b->lines[line];
  HttpRequest r;
  r.method = "POST", r.path = r.target = b->facts.at("endpoint").as_string(), r.body = request.body.dump();
  MemoryExchange e(std::move(r));
  e.id = new_id("req-");
  b->exchanges.insert(&e), ++b->running;
  lock.unlock();
  std::string trouble;
  LineEnd end;
  try {
    end = hooks_.serve(e, b->key, start);
  } catch (const std::exception& x) {
    trouble = x.what();
  }
  lock.lock();
  b->exchanges.erase(&e), --b->running;
  if (e.gone()) return true;  // cancelled: it is run again, if at all
  if (end.again) {
    b->again.push_back(line);
    if (end.after_seconds > 0) b->not_before = later(end.after_seconds);
    return false;
  }
  const int status = e.status() == 0 ? 500 : e.status();
  append(*b, status == 200 ? kResults : kErrors,
         result_line(request, status, e.id, trouble.empty() ? e.body() : trouble));
  count(*b, status == 200 ? "completed" : "failed");
  return true;
}

void BatchRunner::work(const std::stop_token& stop, int worker) {
  constexpr auto kPause = std::chrono::milliseconds(50);
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested() && !stopping_) {
    try {
      const Shared b = next_batch();
      if (!b) {
        changed_.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; });
        continue;
      }
      lock.unlock();
      const bool asked = hooks_.clients_run(), queued = hooks_.clients_wait(), first = worker == 0;
      lock.lock();
      const Turn::Clock::time_point from = Turn::Clock::now();
      if (queued ? !first || !turn_.due(from) : asked && !first) {
        changed_.wait_for(lock, stop, kPause, [] { return false; });
        continue;
      }
      if (b->cancelled || stopping_ || !b->has_line()) continue;
      if (!run_line(b, first ? LineStart::in_turn : LineStart::when_free, lock))
        changed_.wait_for(lock, stop, kPause, [] { return false; });
      else if (first)
        turn_.took(from, Turn::Clock::now());
    } catch (const std::exception& e) {  // the disk, or memory: tried again
      fmt::print(stderr, "batches: {}\n", e.what());
      if (!lock.owns_lock()) lock.lock();
      changed_.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; });
    }
  }
}

}  // namespace quern::serve
