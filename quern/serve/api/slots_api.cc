// One object per request: models in the order they are served, the oldest request of a model first.
#include "quern/serve/api/slots_api.h"

#include <algorithm>

#include "quern/serve/wire/api_error.h"

namespace quern::serve {
namespace {

Json slot_json(const ServedModel& m, const InFlightStatus& f, StatusDetail detail) {
  const RequestProgress& p = f.progress;
  Json j = Json::object();
  j.set("id", p.id), j.set("model", m.id), j.set("n_ctx", m.max_tokens());
  if (f.plan.empty()) {
    j.set("state", p.state()), j.set("is_processing", p.started);
    j.set("prompt_tokens", p.prompt), j.set("read_tokens", p.read), j.set("cached_tokens", p.cached);
    j.set("generated_tokens", p.given), j.set("max_tokens", p.max_new);
  } else {
    j.set("state", "thinking"), j.set("is_processing", true), j.set("plan", f.plan);
    j.set("candidates", f.candidates), j.set("all_candidates", f.all_candidates), j.set("generated_tokens", p.given);
  }
  j.set("age_seconds", p.age);
  if (detail == StatusDetail::tokens && f.plan.empty())
    j.set("prompt", m.tokenizer.decode(f.prompt)), j.set("generated", m.tokenizer.decode(f.answer));
  return j;
}

// What llama-server's clients ask when they spread requests over servers.
void refuse_when_busy(const std::vector<std::shared_ptr<ServedModel>>& models, const HttpRequest& r) {
  const bool asked = std::ranges::any_of(r.query, [](const auto& q) { return q.first == "fail_on_no_slot"; });
  const auto busy = [](const std::shared_ptr<ServedModel>& m) {
    return m->host->counts().running >= m->host->max_sequences();
  };
  if (asked && !models.empty() && std::ranges::all_of(models, busy))
    throw ApiError(503, "server_error", "no_slot", "as many requests are running as this server runs at once");
}

}  // namespace

bool wants_text(const HttpRequest& r, SlotText allowed) {
  bool text = false;
  for (const auto& [key, value] : r.query) {
    if (key != "text") continue;
    if (value != "true" && value != "false") bad_field("text", "'{}': expected true or false", value);
    text = value == "true";
  }
  if (text && allowed == SlotText::hidden)
    throw ApiError(403, "permission_error", "",
                   "text: this server does not show the text of requests: it was started without that permission");
  return text;
}

Json slots_json(const std::vector<std::shared_ptr<ServedModel>>& models, const HttpRequest& r, SlotText text) {
  refuse_when_busy(models, r);
  const StatusDetail detail = wants_text(r, text) ? StatusDetail::tokens : StatusDetail::counts;
  Json list = Json::array();
  for (const auto& m : models)
    for (const InFlightStatus& f : m->host->live(detail)) list.push(slot_json(*m, f, detail));
  return list;
}

}  // namespace quern::serve
