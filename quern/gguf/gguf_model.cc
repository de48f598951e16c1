#include "quern/gguf/gguf_model.h"

#include <algorithm>
#include <string_view>

#include "quern/base/error.h"
#include "quern/gguf/gguf_falcon_h1.h"
#include "quern/gguf/gguf_granite.h"
#include "quern/gguf/gguf_llama.h"
#include "quern/gguf/gguf_nemotron_h.h"

namespace quern::gguf {
namespace {

struct Architecture {
  std::string_view name;
  Json (*config)(GgufMetadata&);
  void (*tensors)(GgufTensors&, const Json& config);
};
constexpr Architecture kArchitectures[] = {
    {"llama", llama_config, llama_tensors},
    {"qwen2", llama_config, llama_tensors},
    {"qwen3", llama_config, llama_tensors},
    {"granite", granite_config, granite_tensors},
    {"granitemoe", granite_config, granite_tensors},
    {"granitehybrid", granite_config, granite_tensors},
    {"falcon-h1", falcon_h1_config, falcon_h1_tensors},
    {"nemotron_h", nemotron_h_config, nemotron_h_tensors},
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

Json read_config(const GgufFile& f) {
  GgufMetadata m(f);
  Json j = architecture(m).config(m);
  m.refuse_others();
  return j;
}

TensorFolder read_weights(const std::shared_ptr<const GgufFile>& file, DType unpacked) {
  const Json config = read_config(*file);
  const std::string& family = config.at("model_type").as_string();
  const bool nemotron = family == "nemotron_h", last_norm = family == "bamba" || family == "falcon_h1";
  GgufTensors t(file, unpacked);
  for (const auto& [theirs, ours] :
       {std::pair{"token_embd.weight", nemotron ? "model.embeddings.weight" : "model.embed_tokens.weight"},
        {"output.weight", "lm_head.weight"},
        {"output_norm.weight", nemotron    ? "model.norm_f.weight"
                               : last_norm ? "model.final_layernorm.weight"
                                           : "model.norm.weight"}})
    if (t.has(theirs)) t.add(ours, theirs);
  architecture(GgufMetadata(*file)).tensors(t, config);
  return std::move(t).folder();
}

}  // namespace quern::gguf
