// One object per name.
#include "quern/serve/api/models_api.h"

#include "quern/serve/wire/rfc3339.h"

namespace quern::serve {

Json model_json(const ModelNames& names, const std::string& name, const std::string& id) {
  const auto m = names.models.loaded(id);
  const int64_t created = m ? m->created : names.started;
  Json j = Json::object();
  j.set("id", name), j.set("object", "model"), j.set("created", created), j.set("owned_by", "quern");
  j.set("type", "model"), j.set("display_name", name), j.set("created_at", rfc3339(created));
  j.set("root", id), j.set("loaded", m != nullptr);
  if (!m) return j;
  j.set("family", m->family()), j.set("context_length", m->max_tokens());
  for (const char* same : {"max_model_len", "max_context_length", "max_input_tokens"}) j.set(same, m->max_tokens());
  return j;
}

Json models_json(const ModelNames& names) {
  Json j = Json::object(), list = Json::array();
  auto add = [&](const std::string& name, const std::string& id) {
    if (!names.shown || names.shown(name, id)) list.push(model_json(names, name, id));
  };
  for (const std::string& id : names.models.ids()) add(id, id);
  for (const auto& [alias, model] : names.aliases)
    if (!is_pattern(alias)) add(alias, model);
  const std::vector<Json>& all = list.as_array();
  const Json first = all.empty() ? Json() : all.front().at("id"), last = all.empty() ? Json() : all.back().at("id");
  j.set("object", "list"), j.set("data", std::move(list));
  j.set("has_more", false), j.set("first_id", first), j.set("last_id", last);
  return j;
}

}  // namespace quern::serve
