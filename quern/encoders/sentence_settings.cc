#include "quern/encoders/sentence_settings.h"

#include <algorithm>
#include <cmath>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/base/threads.h"

namespace quern::encoders {
namespace fs = std::filesystem;
namespace {

struct ModeName {
  const char *name, *flag;
  PoolingMode mode;
};
constexpr ModeName kModes[] = {
    {"cls", "pooling_mode_cls_token", PoolingMode::cls},
    {"mean", "pooling_mode_mean_tokens", PoolingMode::mean},
    {"max", "pooling_mode_max_tokens", PoolingMode::max},
    {"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", PoolingMode::mean_sqrt_length}};

PoolingMode mode_of(const std::string& name, const fs::path& file) {
  for (const ModeName& m : kModes)
    if (name == m.name) return m.mode;
  fail("{}: pooling mode '{}' is not supported; known: cls, mean, max, mean_sqrt_len_tokens", file.string(), name);
}

std::vector<PoolingMode> read_pooling(const fs::path& file) {
  const Json j = Json::read(file);
  std::vector<PoolingMode> out;
  if (const Json* mode = j.find("pooling_mode")) {
    if (mode->is_string()) return {mode_of(mode->as_string(), file)};
    for (const Json& one : mode->as_array("pooling_mode")) out.push_back(mode_of(one.as_string(), file));
    return out;
  }
  for (const ModeName& m : kModes)
    if (const Json* on = j.find(m.flag); on && on->as_bool(m.flag)) out.push_back(m.mode);
  for (const auto& [key, value] : j.as_object())
    if (key.starts_with("pooling_mode_") && value.is_bool() && value.as_bool() &&
        std::none_of(std::begin(kModes), std::end(kModes), [&](const ModeName& m) { return key == m.flag; }))
      fail("{}: {} is not supported", file.string(), key);
  if (out.empty()) fail("{}: names no pooling mode", file.string());
  return out;
}

void read_modules(const fs::path& folder, SentenceSettings& s) {
  const Json modules = Json::read(folder / "modules.json");
  for (const Json& m : modules.as_array("modules.json")) {
    const std::string& type = m.at("type", "modules.json").as_string("type");
    const std::string kind = type.substr(type.rfind('.') + 1);
    const std::string place = m.at("path", "modules.json").as_string("path");
    if (kind == "Transformer" && !place.empty())
      fail("{}/modules.json: the transformer is in '{}': name that folder", folder.string(), place);
    if (kind == "Pooling") s.pooling = read_pooling(folder / place / "config.json");
    if (kind != "Transformer" && kind != "Pooling" && kind != "Normalize")
      fail("{}/modules.json: module {} is not supported; known: Transformer, Pooling, Normalize", folder.string(),
           type);
  }
}

// A limit that no text reaches means that there is none: tokenizers write 10^30 then.
int64_t limit_of(const Json& j, const char* key) {
  const Json* v = j.find(key);
  if (!v || !v->is_number()) return 0;
  const double n = v->as_double(key);
  return n >= 1 && n < 1e9 ? static_cast<int64_t>(n) : 0;
}

Json read_if_there(const fs::path& file) { return fs::exists(file) ? Json::read(file) : Json::object(); }

void pool_one(const float* x, int64_t n, int64_t d, PoolingMode mode, float* out) {
  std::copy_n(x, d, out);
  if (mode == PoolingMode::cls) return;
  for (int64_t t = 1; t < n; ++t)
    for (int64_t i = 0; i < d; ++i)
      out[i] = mode == PoolingMode::max ? std::max(out[i], x[t * d + i]) : out[i] + x[t * d + i];
  if (mode == PoolingMode::max) return;
  const double by = mode == PoolingMode::mean ? static_cast<double>(n) : std::sqrt(static_cast<double>(n));
  for (int64_t i = 0; i < d; ++i) out[i] /= static_cast<float>(by);
}

}  // namespace

SentenceSettings read_sentence_settings(const fs::path& folder) {
  SentenceSettings s;
  if (fs::exists(folder / "modules.json")) read_modules(folder, s);
  const Json sentence = read_if_there(folder / "sentence_bert_config.json");
  s.max_tokens = limit_of(sentence, "max_seq_length");
  if (s.max_tokens == 0) s.max_tokens = limit_of(read_if_there(folder / "tokenizer_config.json"), "model_max_length");
  const Json* lower = sentence.find("do_lower_case");
  s.lowercase = lower && lower->is_bool() && lower->as_bool();
  const Json more = read_if_there(folder / "config_sentence_transformers.json");
  if (const Json* prompts = more.find("prompts"); prompts && prompts->is_object())
    for (const auto& [name, text] : prompts->as_object()) s.prompts[name] = text.as_string("prompts");
  if (const Json* name = more.find("default_prompt_name"); name && name->is_string()) {
    s.default_prompt = name->as_string();
    if (!s.prompts.contains(s.default_prompt))
      fail("{}: default_prompt_name '{}' is not among its prompts", folder.string(), s.default_prompt);
  }
  return s;
}

Tensor pool(const Tensor& hidden, const TokenBatch& batch, const std::vector<PoolingMode>& modes) {
  const int64_t d = hidden.dim(1), width = d * static_cast<int64_t>(modes.size());
  Tensor out = Tensor::empty({batch.texts(), width}, DType::f32);
  parallel_for(batch.texts(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t from = batch.offsets[static_cast<size_t>(i)],
                    n = batch.offsets[static_cast<size_t>(i) + 1] - from;
      float* row = out.data<float>() + i * width;
      for (size_t m = 0; m < modes.size(); ++m)
        pool_one(hidden.data<float>() + from * d, n, d, modes[m], row + static_cast<int64_t>(m) * d);
      double square = 0;
      for (int64_t k = 0; k < width; ++k) square += static_cast<double>(row[k]) * static_cast<double>(row[k]);
      const auto scale = static_cast<float>(square > 0 ? 1 / std::sqrt(square) : 0);
      for (int64_t k = 0; k < width; ++k) row[k] *= scale;
    }
  });
  return out;
}

}  // namespace quern::encoders
