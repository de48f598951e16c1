// Finds each pair's matrix and adds its product.
#include "quern/models/adapter.h"

#include <algorithm>
#include <cmath>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/kernels/gemm/gemm.h"

namespace quern::models {
namespace {

struct Pair {
  Tensor a_RK, b_NR;
};

struct AdapterConfig {
  double alpha = 0;
  bool rslora = false, transposed = false;

  explicit AdapterConfig(const std::filesystem::path& file) {
    const Json j = Json::read(file);
    const std::string where = file.string();
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
    if (on("use_dora")) fail("{}, use_dora: is not supported", where);
    if (const std::string bias = text("bias"); !bias.empty() && bias != "none")
      fail("{}, bias: '{}' is not supported, expected none", where, bias);
    alpha = j.at("lora_alpha", where).as_double(where + ", lora_alpha");
    rslora = on("use_rslora"), transposed = on("fan_in_fan_out");
    for (const char* key : {"alpha_pattern", "rank_pattern"})
      if (const Json* p = j.find(key); p && p->is_object() && !p->as_object().empty())
        fail("{}, {}: is not supported", where, key);
  }
  double scale(int64_t rank) const {
    return alpha / (rslora ? std::sqrt(static_cast<double>(rank)) : static_cast<double>(rank));
  }
};

// "base_model.model.model.layers.0.x.lora_A.weight" → the pair of "model.layers.0.x.weight".
std::map<std::string, Pair> read_pairs(const SafetensorsFile& file) {
  constexpr std::string_view kPrefix = "base_model.model.";
  std::map<std::string, Pair> pairs;
  for (const auto& [name, entry] : file.entries()) {
    const size_t a = name.find(".lora_A."), b = name.find(".lora_B.");
    const size_t at = std::min(a, b);
    if (!name.starts_with(kPrefix) || at == name.npos || entry.shape.size() != 2 || !name.ends_with("weight"))
      fail("{}: tensor '{}' does not belong to a supported LoRA matrix", file.path().string(), name);
    Pair& p = pairs[name.substr(kPrefix.size(), at - kPrefix.size()) + ".weight"];
    (a != name.npos ? p.a_RK : p.b_NR) = file.tensor(name).to(DType::f32);
  }
  return pairs;
}

Tensor merged(const Tensor& w, const Pair& p, double scale, bool transposed) {
  const Tensor before = w.to(DType::f32);
  const int64_t n = p.b_NR.dim(0), k = p.a_RK.dim(1);
  Tensor product = Tensor::empty({n, k}, DType::f32), out = Tensor::empty(w.shape(), DType::f32);
  kernels::gemm<float>(p.b_NR.view<const float, 2>(), p.a_RK.view<const float, 2>(), product.view<float, 2>());
  const float *x = before.data<float>(), *d = product.data<float>();
  float* y = out.data<float>();
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < k; ++j) {
      const int64_t at = transposed ? j * n + i : i * k + j;
      y[at] = x[at] + static_cast<float>(scale * static_cast<double>(d[i * k + j]));
    }
  return out.to(w.dtype());
}

}  // namespace

TensorFolder with_adapter(const TensorFolder& weights, const std::filesystem::path& adapter) {
  const AdapterConfig config(adapter / "adapter_config.json");
  const SafetensorsFile file(adapter / "adapter_model.safetensors");
  std::map<std::string, TensorFolder::Entry> entries;
  for (const std::string& name : weights.names()) entries[name] = weights.entry(name);
  const std::map<std::string, Pair> pairs = read_pairs(file);
  if (pairs.empty()) fail("{}: holds no LoRA matrices", file.path().string());
  for (const auto& [name, pair] : pairs) {
    const std::string where = fmt::format("{}, matrices of '{}'", file.path().string(), name);
    if (!pair.a_RK.defined() || !pair.b_NR.defined()) fail("{}: one of lora_A and lora_B is missing", where);
    const auto found = entries.find(name);
    if (found == entries.end()) fail("{}: the model has no such tensor", where);
    const Shape shape = found->second.shape;
    const int64_t n = pair.b_NR.dim(0), k = pair.a_RK.dim(1), rank = pair.a_RK.dim(0);
    const bool fits = shape.size() == 2 && rank == pair.b_NR.dim(1) &&
                      (config.transposed ? shape[0] == k && shape[1] == n : shape[0] == n && shape[1] == k);
    if (!fits)
      fail("{}: {} and {} do not fit {}", where, to_string(pair.b_NR.shape()), to_string(pair.a_RK.shape()),
           to_string(shape));
    found->second.read = [read = found->second.read, pair = pair, scale = config.scale(rank),
                          transposed = config.transposed] { return merged(read(), pair, scale, transposed); };
  }
  return TensorFolder(adapter, std::move(entries));
}

}  // namespace quern::models
