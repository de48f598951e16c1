#include "quern/models/gguf/gguf_model.h"

#include <algorithm>
#include <string_view>

#include "quern/base/error.h"
#include "quern/models/gguf/gguf_granite.h"
#include "quern/models/gguf/gguf_llama.h"

namespace quern::models {
namespace {

struct Architecture {
  std::string_view name;
  Json (*config)(GgufMetadata&);
  void (*tensors)(GgufTensors&, const Json& config);
  const char* final_norm;
};
constexpr Architecture kArchitectures[] = {
    {"llama", gguf_llama_config, gguf_llama_tensors, "norm"},
    {"qwen2", gguf_llama_config, gguf_llama_tensors, "norm"},
    {"qwen3", gguf_llama_config, gguf_llama_tensors, "norm"},
    {"granite", gguf_granite_config, gguf_granite_tensors, "norm"},
    {"granitemoe", gguf_granite_config, gguf_granite_tensors, "norm"},
    {"granitehybrid", gguf_granite_config, gguf_granite_tensors, "norm"},
};

const Architecture& architecture(const GgufMetadata& m) {
  const auto* a = std::find_if(std::begin(kArchitectures), std::end(kArchitectures),
                               [&](const Architecture& x) { return x.name == m.arch(); });
  if (a == std::end(kArchitectures)) {
    std::vector<std::string_view> names;
    for (const Architecture& x : kArchitectures) names.push_back(x.name);
    fail("{}: '{}' is not supported, expected {}", m.where("general.architecture"), m.arch(), fmt::join(names, ", "));
  }
  return *a;
}

}  // namespace

Json gguf_config(const GgufFile& f) {
  GgufMetadata m(f);
  Json j = architecture(m).config(m);
  m.refuse_others();
  return j;
}

TensorFolder gguf_weights(const std::shared_ptr<const GgufFile>& file, DType unpacked) {
  const Json config = gguf_config(*file);
  const bool bamba = config.at("model_type") == Json("bamba");
  GgufTensors t(file, unpacked);
  for (const auto& [theirs, ours] :
       {std::pair{"token_embd.weight", "model.embed_tokens.weight"},
        {"output.weight", "lm_head.weight"},
        {"output_norm.weight", bamba ? "model.final_layernorm.weight" : "model.norm.weight"}})
    if (t.has(theirs)) t.add(ours, theirs);
  architecture(GgufMetadata(*file)).tensors(t, config);
  return std::move(t).folder();
}

}  // namespace quern::models
