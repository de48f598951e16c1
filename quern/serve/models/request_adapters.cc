#include "quern/serve/models/request_adapters.h"

#include <algorithm>
#include <string>
#include <vector>

#include "quern/base/nearest.h"
#include "quern/serve/wire/api_error.h"
#include "quern/serve/wire/generation_fields.h"

namespace quern::serve {
namespace {

constexpr size_t kMaxAdapters = 8;  // of one request
constexpr double kLargestScale = 1000;

std::string name_of(const Json& id, const std::vector<std::string>& names) {
  if (id.is_int()) {
    if (id.as_int() < 0 || id.as_int() >= std::ssize(names))
      bad_field("lora", "id {}: there are {} adapters, numbered from 0", id.as_int(), names.size());
    return names[static_cast<size_t>(id.as_int())];
  }
  if (!id.is_string()) bad_field("lora", "id: expected the name of an adapter, or its number");
  if (std::ranges::find(names, id.as_string()) == names.end())
    bad_field("lora", "'{}' is not one of the adapters: {}{}", id.as_string(),
              names.empty() ? "there are none" : fmt::format("{}", fmt::join(names, ", ")),
              did_you_mean(id.as_string(), names));
  return id.as_string();
}

}  // namespace

std::shared_ptr<ServedModel> choose_adapters(ModelManager& manager, std::shared_ptr<ServedModel> m,
                                             const Json& body) {
  const Json* list = Fields(body).find("lora");
  if (!list) return m;
  if (!list->is_array() || list->as_array().size() > kMaxAdapters)
    bad_field("lora", "expected a list of at most {} adapters, each {{\"id\": NAME, \"scale\": 1}}", kMaxAdapters);
  std::vector<std::string> names, seen;
  for (const ModelEntry& e : manager.entries())
    if (!e.adapter.empty()) names.push_back(e.id);
  const std::shared_ptr<ServedModel> base = m->base ? m->base : m;
  nn::ChosenAdapters chosen;
  for (const Json& one : list->as_array()) {
    if (!one.is_object() || !one.find("id")) bad_field("lora", "expected {{\"id\": NAME, \"scale\": 1}} in the list");
    const std::string name = name_of(one.at("id"), names);
    if (std::ranges::find(seen, name) != seen.end()) bad_field("lora", "'{}' is there twice", name);
    seen.push_back(name);
    const double scale = Fields(one).number("scale", -kLargestScale, kLargestScale).value_or(1);
    const std::shared_ptr<ServedModel> adapter = manager.get(name);
    if (!adapter->base)
      bad_field("lora", "'{}' changes whole tensors and is served as a model of its own only", name);
    if (adapter->base != base)
      bad_field("lora", "'{}' is an adapter of '{}', not of '{}'", name, adapter->base->id, base->id);
    for (nn::ChosenAdapter c : adapter->adapters) {
      c.scale *= static_cast<float>(scale);
      if (c.scale != 0) chosen.push_back(std::move(c));
    }
  }
  return with_adapters(m, std::move(chosen));
}

}  // namespace quern::serve
