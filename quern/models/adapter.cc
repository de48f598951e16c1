// Reads adapter_config.json and the pairs, and finds each pair's matrix.
#include "quern/models/adapter.h"

#include <algorithm>
#include <cmath>
#include <regex>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/kernels/gemm/gemm.h"
#include "quern/tensor/weight_files.h"

namespace quern::models {
namespace {

struct AdapterConfig {
  double alpha = 0;
  bool rslora = false, transposed = false;
  std::vector<std::string> saved_modules;
  std::vector<std::pair<std::string, double>> alphas;  // alpha_pattern
  std::string where;

  explicit AdapterConfig(const std::filesystem::path& file) : where(file.string()) {
    const Json j = Json::read(file);
    auto text = [&](const char* key) {
      const Json* v = j.find(key);
      return v && v->is_string() ? v->as_string() : std::string();
    };
    auto on = [&](const char* key) {
      const Json* v = j.find(key);
      return v && *v == Json(true);
    };
    if (const std::string kind = text("peft_type"); kind != "LORA")
      fail("{}, peft_type: expected LORA, found '{}'", where, kind);
    for (const char* key : {"use_dora", "use_qalora", "lora_bias"})
      if (on(key)) fail("{}, {}: is not supported", where, key);
    if (const std::string bias = text("bias"); !bias.empty() && bias != "none")
      fail("{}, bias: '{}' is not supported, expected none", where, bias);
    for (const char* key : {"target_parameters", "layer_replication"})
      if (const Json* v = j.find(key); v && v->is_array() && !v->as_array().empty())
        fail("{}, {}: is not supported", where, key);
    alpha = j.at("lora_alpha", where).as_double(where + ", lora_alpha");
    rslora = on("use_rslora"), transposed = on("fan_in_fan_out");
    if (const Json* p = j.find("alpha_pattern"); p && p->is_object())
      for (const auto& [pattern, value] : p->as_object())
        alphas.emplace_back(pattern, value.as_double(where + ", alpha_pattern"));
    if (const Json* m = j.find("modules_to_save"); m && m->is_array())
      for (const Json& name : m->as_array()) saved_modules.push_back(name.as_string(where + ", modules_to_save"));
  }

  // A pattern is a module's name, the end of one after a dot, or a regular expression for either: the first that fits.
  double alpha_of(const std::string& module) const {
    for (const auto& [pattern, value] : alphas) {
      try {
        if (std::regex_match(module, std::regex("(.*\\.)?(" + pattern + ")"))) return value;
      } catch (const std::regex_error&) {
        fail("{}, alpha_pattern: '{}' is no regular expression", where, pattern);
      }
    }
    return alpha;
  }
  double scale(const std::string& module, int64_t rank) const {
    const double r = static_cast<double>(rank);
    return alpha_of(module) / (rslora ? std::sqrt(r) : r);
  }
  bool saves(const std::string& tensor) const {
    return std::any_of(saved_modules.begin(), saved_modules.end(), [&](const std::string& module) {
      return tensor.starts_with(module + ".") || tensor.find("." + module + ".") != tensor.npos;
    });
  }
};

bool merges(const std::string& matrix) {
  const size_t experts = matrix.find("experts.");
  const bool one_expert = experts != matrix.npos && matrix.find_first_of("0123456789", experts) != matrix.npos;
  return one_expert || matrix == "lm_head.weight";
}

// Lists of Zamba2's own adapters have a place for every invocation, of which a layer meets one.
bool never_met(const std::string& matrix) {
  return matrix.find("_adapter_list.") != matrix.npos || matrix.find("_lora_A_list.") != matrix.npos ||
         matrix.find("_lora_B_list.") != matrix.npos;
}

Tensor merged(const Tensor& w, const Adapter::Pair& p, bool transposed) {
  const Tensor before = w.to(DType::f32);
  const int64_t n = p.b_NR.dim(0), k = p.a_RK.dim(1);
  Tensor product = Tensor::empty({n, k}, DType::f32), out = Tensor::empty(w.shape(), DType::f32);
  kernels::gemm<float>(p.b_NR.view<const float, 2>(), p.a_RK.view<const float, 2>(), product.view<float, 2>());
  const float *x = before.data<float>(), *d = product.data<float>();
  float* y = out.data<float>();
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < k; ++j) {
      const int64_t at = transposed ? j * n + i : i * k + j;
      y[at] = x[at] + static_cast<float>(p.scale * static_cast<double>(d[i * k + j]));
    }
  return out.to(w.dtype());
}

bool same(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::equal(a.data<float>(), a.data<float>() + a.size(), b.data<float>());
}

void check_shapes(const std::string& where, const Adapter::Pair& p, int64_t n, int64_t k) {
  if (p.b_NR.dim(0) != n || p.a_RK.dim(1) != k)
    fail("{}: {} and {} do not fit {}", where, to_string(p.b_NR.shape()), to_string(p.a_RK.shape()),
         to_string(Shape{n, k}));
}

}  // namespace

// "base_model.model.model.layers.0.x.lora_A.weight" → the pair of "model.layers.0.x.weight".
Adapter::Adapter(const std::filesystem::path& folder, double scale) : file_(adapter_weights_of(folder)) {
  const AdapterConfig config(folder / "adapter_config.json");
  transposed_ = config.transposed;
  constexpr std::string_view kPrefix = "base_model.model.";
  for (const auto& [name, entry] : tensors_of(file_)) {
    const size_t a = name.find(".lora_A."), b = name.find(".lora_B."), at = std::min(a, b);
    if (at == name.npos && name.starts_with(kPrefix) && config.saves(name.substr(kPrefix.size()))) {
      saved_[name.substr(kPrefix.size())] = entry.read().clone();
      continue;
    }
    if (!name.starts_with(kPrefix) || at == name.npos || entry.shape.size() != 2 || !name.ends_with("weight"))
      fail("{}: tensor '{}' does not belong to a supported LoRA matrix", file_.string(), name);
    Pair& p = pairs_[name.substr(kPrefix.size(), at - kPrefix.size()) + ".weight"];
    (a != name.npos ? p.a_RK : p.b_NR) = entry.read().to(DType::f32).clone();
  }
  if (pairs_.empty() && saved_.empty()) fail("{}: holds no LoRA matrices", file_.string());
  for (auto& [name, p] : pairs_) {
    const std::string where = fmt::format("{}, matrices of '{}'", file_.string(), name);
    if (!p.a_RK.defined() || !p.b_NR.defined()) fail("{}: one of lora_A and lora_B is missing", where);
    if (p.a_RK.dim(0) != p.b_NR.dim(1))
      fail("{}: {} and {} do not fit each other", where, to_string(p.b_NR.shape()), to_string(p.a_RK.shape()));
    p.scale = scale * config.scale(name.substr(0, name.rfind('.')), p.a_RK.dim(0));
  }
}

std::optional<TensorFolder> Adapter::changed(const TensorFolder& weights) const {
  std::map<std::string, TensorFolder::Entry> entries;
  for (const std::string& name : weights.names()) entries[name] = weights.entry(name);
  bool any = false;
  auto found = [&](const std::string& name, const std::string& where) -> TensorFolder::Entry& {
    const auto entry = entries.find(name);
    if (entry == entries.end()) fail("{}: the model has no such tensor", where);
    any = true;
    return entry->second;
  };
  for (const auto& [name, tensor] : saved_) {
    const std::string where = fmt::format("{}, tensor '{}'", file_.string(), name);
    TensorFolder::Entry& entry = found(name, where);
    if (entry.shape != tensor.shape())
      fail("{}, shape: expected {}, found {}", where, to_string(entry.shape), to_string(tensor.shape()));
    entry.read = [tensor = tensor] { return tensor; };
  }
  for (const auto& [name, pair] : pairs_) {
    if (!merges(name)) continue;
    const std::string where = fmt::format("{}, matrices of '{}'", file_.string(), name);
    TensorFolder::Entry& entry = found(name, where);
    if (entry.shape.size() != 2) fail("{}: the model has no such matrix", where);
    check_shapes(where, pair, entry.shape[transposed_ ? 1 : 0], entry.shape[transposed_ ? 0 : 1]);
    entry.read = [read = entry.read, pair = pair, transposed = transposed_] {
      return merged(read(), pair, transposed);
    };
  }
  if (!any) return std::nullopt;
  return TensorFolder(file_.parent_path(), std::move(entries));
}

const Adapter::Pair* Adapter::pair(const std::string& matrix, int64_t n, int64_t k) {
  auto found = pairs_.find(matrix);
  if (found == pairs_.end() && model_)
    for (const std::string& other : model_->other_names(matrix))
      if (found = pairs_.find(other); found != pairs_.end()) break;
  if (found == pairs_.end() || merges(found->first)) return nullptr;
  const Pair& p = found->second;
  check_shapes(fmt::format("{}, matrices of '{}'", file_.string(), found->first), p, n, k);
  used_.insert(found->first);
  return &p;
}

nn::LowRank Adapter::find(const std::string& matrix, int64_t n, int64_t k) {
  const Pair* p = pair(matrix, n, k);
  if (!p) return {};
  auto path = std::make_shared<nn::LowRankPair>(p->a_RK, p->b_NR, p->scale);
  path->factors = kernels::LowRankFactors::pack(p->a_RK, p->b_NR, p->scale);
  return path;
}

bool Adapter::only_beside() const {
  return saved_.empty() && std::none_of(pairs_.begin(), pairs_.end(), [](const auto& p) { return merges(p.first); });
}

void Adapter::merge_into(Model& model) {
  names_of(model);
  model.visit("", [&](const std::string& name, grad::Parameter& p) {
    if (p.shape.size() != 2 || !p.value.defined() || merges(name)) return;
    std::vector<std::string> names = model.names_at_layers(name);
    if (names.empty()) names.push_back(name);
    std::vector<const Pair*> own;
    for (const std::string& n : names)
      if (const Pair* path = pair(n, p.shape[0], p.shape[1])) own.push_back(path);
    if (own.empty()) return;
    for (const Pair* other : own) {
      const Pair &x = *own[0], &y = *other;
      // The first layer's pair alone is that of modules which are really shared.
      const bool all = own.size() == names.size() || (own.size() == 1 && pairs_.count(names[0]));
      if (!all || x.scale != y.scale || !same(x.a_RK, y.a_RK) || !same(x.b_NR, y.b_NR))
        fail(
            "{}: '{}' is one matrix that {} layers share, and the adapter has a product of its own for each: it "
            "cannot "
            "be merged; run it unmerged",
            file_.string(), name, names.size());
    }
    p.value = merged(p.value, *own[0], false);
  });
}

void Adapter::finish() const {
  for (const auto& [name, pair] : pairs_)
    if (!used_.count(name) && !merges(name) && !never_met(name))
      fail("{}, matrices of '{}': the model has no such matrix", file_.string(), name);
}

}  // namespace quern::models
