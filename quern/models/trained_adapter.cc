#include "quern/models/trained_adapter.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/base/rng.h"

namespace quern::models {
namespace {

constexpr std::string_view kPrefix = "base_model.model.", kWeight = ".weight";

std::string last_part(const std::string& module) { return module.substr(module.rfind('.') + 1); }

// As PEFT compares: the whole name, or its end after a dot.
bool ends_as(const std::string& module, const std::string& target) {
  return module == target || module.ends_with("." + target);
}

// Routers decide which experts learn what; lists of Zamba2's own adapters have places that no layer meets.
bool left_alone(const std::string& module) {
  return module.find(".gate.") != module.npos || module.ends_with(".gate") ||
         module.find(".router.") != module.npos || module.find("_adapter_list.") != module.npos;
}

// What PEFT is told to adapt: the given targets, or the last parts of the names.
Json target_modules(const std::vector<std::string>& targets, const std::set<std::string>& modules) {
  std::set<std::string> names(targets.begin(), targets.end());
  if (names.empty())
    for (const std::string& m : modules) names.insert(last_part(m));
  Json j = Json::array();
  for (const std::string& n : names) j.push(n);
  return j;
}

}  // namespace

void check(const LoraSettings& s, const std::string& where) {
  if (s.scaling != "lora" && s.scaling != "rslora")
    fail("{}.scaling: '{}', expected lora or rslora", where, s.scaling);
  if (const auto& b = s.base; !b.empty() && b != "f32" && b != "bf16" && b != "q8" && b != "q4")
    fail("{}.base: '{}', expected f32, bf16, q8 or q4", where, b);
  if (s.rank < 0 || s.rank > 4096) fail("{}.rank: {} is outside 0 to 4096", where, s.rank);
  if (!(s.dropout >= 0 && s.dropout <= 0.99)) fail("{}.dropout: {} is outside 0 to 0.99", where, s.dropout);
  if (!(s.alpha >= 0)) fail("{}.alpha: {} is below 0", where, s.alpha);
  if (!s.on() && (s.alpha > 0 || s.dropout > 0 || !s.targets.empty() || !s.base.empty()))
    fail("{}.rank: is missing: an adapter needs a rank, for example 16", where);
}

TrainedAdapter::TrainedAdapter(LoraSettings settings, uint64_t seed) : settings_(std::move(settings)), seed_(seed) {}

bool TrainedAdapter::targeted(const std::string& module) const {
  if (settings_.targets.empty()) return !left_alone(module);
  return std::any_of(settings_.targets.begin(), settings_.targets.end(),
                     [&](const std::string& t) { return ends_as(module, t); });
}

nn::LowRank TrainedAdapter::find(const std::string& matrix, int64_t n, int64_t k) {
  if (!matrix.ends_with(kWeight)) return {};  // matrices that a checkpoint has no name for
  const std::string module = matrix.substr(0, matrix.size() - kWeight.size());
  seen_.insert(module);
  if (!targeted(module)) return {};
  std::shared_ptr<nn::LowRankPair>& pair = pairs_[module];
  if (pair) return pair;
  pair = std::make_shared<nn::LowRankPair>(Tensor::empty({settings_.rank, k}, DType::f32),
                                           Tensor::zeros({n, settings_.rank}, DType::f32), settings_.scale());
  pair->a_RK.trainable = pair->b_NR.trainable = true;
  pair->dropout = settings_.dropout, pair->stream = nn::name_stream(module), pair->draw = draw_;
  Rng random(seed_, pair->stream);
  const double bound = 1 / std::sqrt(static_cast<double>(k));
  for (float& a : pair->a_RK.value.span<float>()) a = static_cast<float>(bound * (2 * random.uniform() - 1));
  return pair;
}

void TrainedAdapter::finish() const {
  std::set<std::string> ends;
  for (const std::string& m : seen_) ends.insert(last_part(m));
  for (const std::string& t : settings_.targets)
    if (std::none_of(pairs_.begin(), pairs_.end(), [&](const auto& p) { return ends_as(p.first, t); }))
      fail("adapter.targets: no matrix of this model is called '{}': it has {}", t, fmt::join(ends, ", "));
  if (pairs_.empty()) fail("adapter: this model has no matrix for an adapter");
}

void TrainedAdapter::visit(const std::string& prefix, const nn::ParameterVisitor& v) {
  for (auto& [module, pair] : pairs_) {
    const std::string name = fmt::format("{}{}{}.lora_", prefix, kPrefix, module);
    v(name + "A.weight", pair->a_RK);
    v(name + "B.weight", pair->b_NR);
  }
}

void TrainedAdapter::save(const std::filesystem::path& folder, const std::string& base_model) {
  NamedTensors tensors;
  visit("", [&](const std::string& name, grad::Parameter& p) { tensors.emplace_back(name, p.value); });
  save_peft(folder, settings_, base_model, tensors);
}

void save_peft(const std::filesystem::path& folder, const LoraSettings& s, const std::string& base_model,
               const NamedTensors& tensors) {
  std::set<std::string> modules;
  for (const auto& [name, t] : tensors)
    modules.insert(name.substr(kPrefix.size(), name.find(".lora_") - kPrefix.size()));
  Json j = Json::object();
  j.set("peft_type", "LORA"), j.set("task_type", "CAUSAL_LM"), j.set("base_model_name_or_path", base_model);
  j.set("r", s.rank), j.set("lora_alpha", s.alpha > 0 ? s.alpha : 2 * static_cast<double>(s.rank));
  j.set("lora_dropout", s.dropout), j.set("use_rslora", s.scaling == "rslora");
  j.set("target_modules", target_modules(s.targets, modules));
  j.set("bias", "none"), j.set("fan_in_fan_out", false), j.set("inference_mode", true);
  std::filesystem::create_directories(folder);
  save_safetensors(folder / "adapter_model.safetensors", tensors);
  write_file(folder / "adapter_config.json", j.dump(2) + "\n");
}

}  // namespace quern::models
