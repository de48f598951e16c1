// One object per name.
#include "quern/serve/api/models_api.h"

#include "quern/serve/wire/rfc3339.h"

namespace quern::serve {

std::vector<ModelNames::Listed> ModelNames::listed() const {
  std::vector<Listed> all;
  for (const std::string& id : models.ids()) all.push_back({id, id});
  for (const auto& [alias, model] : aliases)
    if (!is_pattern(alias)) all.push_back({alias, model});
  if (shown) std::erase_if(all, [&](const Listed& l) { return !shown(l.name, l.id); });
  return all;
}

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
  for (const auto& [name, id] : names.listed()) list.push(model_json(names, name, id));
  const std::vector<Json>& all = list.as_array();
  const Json first = all.empty() ? Json() : all.front().at("id"), last = all.empty() ? Json() : all.back().at("id");
  j.set("object", "list"), j.set("data", std::move(list));
  j.set("has_more", false), j.set("first_id", first), j.set("last_id", last);
  return j;
}

}  // namespace quern::serve
