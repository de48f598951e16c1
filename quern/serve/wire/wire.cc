// Writes these as JSON and as events.
#include "quern/serve/wire/wire.h"

#include <atomic>
#include <chrono>
#include <random>

#include "quern/base/rng.h"

namespace quern::serve {

std::string new_id(const char* prefix) {
  static const uint64_t salt = (uint64_t{std::random_device{}()} << 32) ^ std::random_device{}();
  static std::atomic<uint64_t> count = 0;
  const uint64_t n = ++count;
  return fmt::format("{}{:016x}{:08x}", prefix, mix64(mix64(salt) + n),
                     static_cast<uint32_t>(mix64(salt ^ (n << 32))));
}

int64_t unix_time() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Json Usage::json() const {
  Json j = Json::object(), in = Json::object(), out = Json::object();
  in.set("cached_tokens", cached), out.set("reasoning_tokens", reasoning);
  j.set("prompt_tokens", prompt), j.set("completion_tokens", completion), j.set("total_tokens", prompt + completion);
  j.set("prompt_tokens_details", std::move(in)), j.set("completion_tokens_details", std::move(out));
  return j;
}

Json timings_json(const infer::Generated& g) {
  Json j = Json::object();
  auto rate = [](size_t n, double s) { return s > 0 ? static_cast<double>(n) / s : 0.0; };
  auto each = [](double s, size_t n) { return n > 0 ? 1000 * s / static_cast<double>(n) : 0.0; };
  const auto read = static_cast<size_t>(g.recomputed_tokens), further = g.tokens.empty() ? 0 : g.tokens.size() - 1;
  j.set("prompt_n", g.recomputed_tokens), j.set("cache_n", g.cached_tokens),
      j.set("prompt_ms", 1000 * g.prompt_seconds);
  j.set("prompt_per_token_ms", each(g.prompt_seconds, read)),
      j.set("prompt_per_second", rate(read, g.prompt_seconds));
  j.set("predicted_n", static_cast<int64_t>(g.tokens.size())), j.set("predicted_ms", 1000 * g.decode_seconds);
  j.set("predicted_per_token_ms", each(g.decode_seconds, further));
  j.set("predicted_per_second", rate(further, g.decode_seconds));
  if (g.speculated.steps > 0)
    j.set("draft_n", g.speculated.all_drafted()), j.set("draft_n_accepted", g.speculated.all_accepted());
  if (!g.cache_note.empty()) j.set("cache_note", g.cache_note);
  return j;
}

Json progress_json(const RequestProgress& p) {
  Json j = Json::object();
  j.set("total", p.prompt), j.set("cache", p.cached), j.set("processed", p.read);
  j.set("time_ms", 1000 * p.read_seconds);
  return j;
}

const char* finish_reason(const std::string& finish) {
  return finish == "length" || finish == "timeout" ? "length" : "stop";
}

bool too_late(const infer::Generated& g) { return g.finish == "timeout" && g.tokens.empty(); }

std::optional<ApiError> failure_of(const infer::Generated& g) {
  if (g.finish == "error") return ApiError(500, "server_error", "", g.error);
  if (too_late(g) && !g.error.empty()) return ApiError(503, "server_error", "stopping", g.error + "; try again");
  if (too_late(g)) return ApiError(504, "server_error", "timeout", "the request timed out before its first token");
  return std::nullopt;
}

Json chat_logprob(const text::Tokenizer& tokenizer, int32_t token, double logprob,
                  std::span<const infer::TokenLogprob> top) {
  auto one = [&](int32_t id, double lp) {
    Json j = Json::object(), bytes = Json::array();
    const std::string text = tokenizer.decode(std::span(&id, 1));
    for (unsigned char c : text) bytes.push(int64_t{c});
    j.set("token", text), j.set("logprob", lp), j.set("bytes", std::move(bytes));
    return j;
  };
  Json j = one(token, logprob), list = Json::array();
  for (const infer::TokenLogprob& t : top) list.push(one(t.token, t.logprob));
  j.set("top_logprobs", std::move(list));
  return j;
}

EventStream::EventStream(Exchange& e, StreamForm form) : exchange_(e), form_(form) {
  e.header("cache-control", "no-cache");
  e.begin(200, form == StreamForm::events ? "text/event-stream; charset=utf-8" : "application/x-ndjson");
}
bool EventStream::put(std::string_view text) {
  waiting_ += text;
  return together_ ? !exchange_.gone() : flush();
}
bool EventStream::flush() {
  const bool taken = exchange_.write(waiting_);
  waiting_.clear();
  return taken;
}
bool EventStream::send(const Json& data) {
  return put(form_ == StreamForm::events ? "data: " + data.dump() + "\n\n" : data.dump() + "\n");
}
bool EventStream::send(const std::string& event, const Json& data) {
  return put("event: " + event + "\ndata: " + data.dump() + "\n\n");
}
bool EventStream::keep_alive() {
  return form_ == StreamForm::events ? put(": still working\n\n") : !exchange_.gone();
}
void EventStream::done() {
  if (form_ == StreamForm::events) put("data: [DONE]\n\n");
  end();
}
void EventStream::end() {
  flush();
  exchange_.end();
}

}  // namespace quern::serve
