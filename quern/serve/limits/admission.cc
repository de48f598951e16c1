#include "quern/serve/limits/admission.h"

#include <algorithm>
#include <cmath>

#include "quern/serve/http/api_key.h"
#include "quern/serve/wire/api_error.h"
#include "quern/serve/wire/generation_fields.h"
#include "quern/serve/wire/wire.h"

namespace quern::serve {
namespace {

constexpr size_t kMaxUser = 64;  // bytes of a name that a client gives itself

std::string user_of(std::string_view name) { return std::string(name.substr(0, kMaxUser)); }

[[noreturn]] void refuse(const RateRefusal& why) {
  ApiError x(429, "rate_limit_error", why.code, why.message);
  x.retry_seconds = why.retry_seconds;
  throw x;
}

Json totals_json(const KeyAccount::Totals& t) {
  Json j = Json::object();
  j.set("requests", t.requests), j.set("refused", t.refused);
  j.set("prompt_tokens", t.prompt_tokens), j.set("completion_tokens", t.generated_tokens);
  j.set("total_tokens", t.prompt_tokens + t.generated_tokens);
  return j;
}

}  // namespace

Admission::Admission(AdmissionOptions options) : o_(std::move(options)) { reload(); }

Admission::Keys Admission::all_keys() const {
  Keys keys = plain_keys(o_.plain);
  if (o_.file.empty()) return keys;
  for (ClientKey& k : read_key_file(o_.file)) {
    for (const ClientKey& other : keys)
      if (other.name == k.name)
        fail("{}: the name '{}' stands for a key of the command line", o_.file.string(), k.name);
    keys.push_back(std::move(k));
  }
  return keys;
}

size_t Admission::reload() {
  auto fresh = std::make_shared<const Keys>(all_keys());
  const RateMoment at = now();
  std::lock_guard lock(mutex_);
  for (const ClientKey& k : *fresh) accounts_[k.name].set_limits(k.limits, at);
  keys_ = std::move(fresh);
  return keys_->size();
}

std::shared_ptr<const Admission::Keys> Admission::keys() const {
  std::lock_guard lock(mutex_);
  return keys_;
}

bool Admission::open() const { return keys()->empty(); }

RateMoment Admission::now() {
  return {std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(), unix_time()};
}

void Admission::identify(Exchange& e) {
  const auto known = keys();
  if (known->empty()) return;
  const std::string_view given = given_key(e.request());
  const ClientKey* key = given.empty() ? nullptr : find_key(*known, given);
  if (!key)
    throw ApiError(401, "authentication_error", "invalid_api_key",
                   given.empty() ? "an API key is required: Authorization: Bearer KEY" : "the API key is wrong");
  set_caller(e, *key);
}

void Admission::set_caller(Exchange& e, const ClientKey& key) {
  e.caller.user = key.name, e.caller.lowest_priority = key.limits.priority;
  e.caller.max_context = key.limits.max_context, e.caller.max_tokens = key.limits.max_tokens;
  e.caller.models = key.limits.models, e.caller.admin = key.limits.admin, e.caller.apart = key.of_file;
  // It may outlive the request, but not the engines, which this object's owner keeps no longer than this object.
  e.caller.on_spent = [this, name = key.name](int64_t prompt, int64_t generated) {
    std::lock_guard lock(mutex_);
    accounts_[name].spend(prompt, generated, now());
  };
}

Admission::Pass Admission::admit_as(Exchange& e, const std::string& key) {
  const auto known = keys();
  const auto at = std::ranges::find(*known, key, &ClientKey::name);
  if (at == known->end())
    throw ApiError(401, "authentication_error", "invalid_api_key",
                   fmt::format("the API key '{}', which this is for, is no key of this server any more", key));
  set_caller(e, *at);
  return admit(e);
}

Admission::Pass Admission::admit(Exchange& e) {
  const std::string& user = e.caller.user;
  const RateMoment at = now();
  std::unique_lock lock(mutex_);
  const int64_t mine = running_[user], limit = o_.max_requests - o_.max_requests / 8;
  if (keys_->size() > 1 && mine >= limit) {
    lock.unlock();
    refuse({fmt::format("{} requests of '{}' are in flight, the maximum of one user", mine, user),
            "rate_limit_exceeded", 1});
  }
  if (const auto account = accounts_.find(user); account != accounts_.end() && !keys_->empty()) {
    const auto why = account->second.begin(user, at);
    for (auto& [name, value] : account->second.headers(at)) e.header(name, value);
    if (why) {
      lock.unlock();
      refuse(*why);
    }
  }
  ++running_[user];
  return {this, user};
}

Admission::Pass::~Pass() {
  if (!all_) return;
  std::lock_guard lock(all_->mutex_);
  if (--all_->running_[user_] == 0) all_->running_.erase(user_);
  if (const auto account = all_->accounts_.find(user_);
      account != all_->accounts_.end() && account->second.running() > 0)
    account->second.end();
}

void Admission::name_user(Exchange& e, const Json& body) const {
  if (!e.caller.user.empty() || !open()) return;
  const std::string* header = e.request().header("x-user-id");
  const Json* field = body.find("user");
  if (field && field->is_string())
    e.caller.user = user_of(field->as_string());
  else if (header)
    e.caller.user = user_of(*header);
}

Json Admission::account_json(const std::string& name) {
  KeyAccount& a = accounts_[name];
  const RateMoment at = now();
  Json j = Json::object(), limits = Json::object();
  const KeyLimits& l = a.limits();
  const auto add = [&](const char* what, int64_t limit) {
    if (limit > 0) limits.set(what, limit);
  };
  add("requests_per_minute", l.requests_per_minute), add("tokens_per_minute", l.tokens_per_minute);
  add("tokens_per_day", l.tokens_per_day), add("concurrent", l.concurrent);
  add("max_context", l.max_context), add("max_tokens", l.max_tokens);
  j.set("name", name), j.set("in_flight", a.running());
  j.set("today", totals_json(a.today(at))), j.set("since_start", totals_json(a.all()));
  if (l.tokens_per_day > 0) {
    const KeyAccount::Totals& t = a.today(at);
    j.set("tokens_left_today", std::max<int64_t>(0, l.tokens_per_day - t.prompt_tokens - t.generated_tokens));
  }
  j.set("limits", std::move(limits));
  return j;
}

Json Admission::usage(const Exchange& e) {
  std::lock_guard lock(mutex_);
  Json j = Json::object(), data = Json::array();
  const auto mine = std::ranges::find(*keys_, e.caller.user, &ClientKey::name);
  for (const ClientKey& k : *keys_)
    if (k.name == e.caller.user || (mine != keys_->end() && mine->limits.admin)) data.push(account_json(k.name));
  j.set("object", "list"), j.set("data", std::move(data));
  return j;
}

// Of a key that has gone as well, for administrators.
void Admission::add_metrics(const Caller& who, std::string& out) {
  using Totals = KeyAccount::Totals;
  std::lock_guard lock(mutex_);
  if (keys_->empty()) return;
  const auto family = [&](const char* name, const char* type, const char* help, auto value) {
    out += fmt::format("# HELP quern_key_{0} {1}\n# TYPE quern_key_{0} {2}\n", name, help, type);
    for (const auto& [key, account] : accounts_)
      if (who.admin || key == who.user)
        out += fmt::format("quern_key_{}{{key=\"{}\"}} {}\n", name, key, value(account));
  };
  const auto counter = [&](const char* name, const char* help, int64_t Totals::*count) {
    family(name, "counter", help, [&](const KeyAccount& a) { return a.all().*count; });
  };
  counter("requests_total", "requests by API key", &Totals::requests);
  counter("refused_total", "requests refused by a limit of the API key", &Totals::refused);
  counter("prompt_tokens_total", "prompt tokens by API key", &Totals::prompt_tokens);
  counter("generated_tokens_total", "tokens generated by API key", &Totals::generated_tokens);
  family("requests_running", "gauge", "requests in flight by API key",
         [](const KeyAccount& a) { return a.running(); });
}

}  // namespace quern::serve
