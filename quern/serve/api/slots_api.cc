// One object per request: models in the order they are served, the oldest request of a model first.
#include "quern/serve/api/slots_api.h"

#include "quern/serve/wire/api_error.h"

namespace quern::serve {
namespace {

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

Json slot_json(const ServedModel& m, const InFlightStatus& f, StatusDetail detail) {
  const RequestProgress& p = f.progress;
  Json j = Json::object();
  j.set("id", p.id), j.set("model", m.id);
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

}  // namespace

Json slots_json(const std::vector<std::shared_ptr<ServedModel>>& models, const HttpRequest& r, SlotText text) {
  const StatusDetail detail = wants_text(r, text) ? StatusDetail::tokens : StatusDetail::counts;
  Json list = Json::array();
  for (const auto& m : models)
    for (const InFlightStatus& f : m->host->live(detail)) list.push(slot_json(*m, f, detail));
  return list;
}

}  // namespace quern::serve
