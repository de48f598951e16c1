#include "quern/encoders/encoder.h"

#include "quern/base/error.h"
#include "quern/models/config_file.h"

namespace quern::encoders {
namespace fs = std::filesystem;
namespace {

struct Family {
  const char* model_type;
  std::unique_ptr<Encoder> (*make)(const Json&, const TensorFolder&, kernels::QuantFormat);
};
constexpr Family kFamilies[] = {{"bert", make_bert}, {"deberta-v2", make_deberta}, {"modernbert", make_modernbert}};

const Family* family_of(const Json& config) {
  const std::string type = text_or(config, "model_type", "");
  for (const Family& f : kFamilies)
    if (type == f.model_type) return &f;
  return nullptr;
}

}  // namespace

Encoder::Encoder(const Json& config)
    : width_(positive(config, "hidden_size")),
      heads_(positive(config, "num_attention_heads")),
      vocab_size_(positive(config, "vocab_size")),
      max_tokens_(positive(config, "max_position_embeddings")) {
  if (width_ % heads_ != 0) fail("config.json: hidden_size {} does not divide into {} heads", width_, heads_);
}

bool is_encoder(const fs::path& folder) {
  return fs::is_directory(folder) && fs::exists(folder / "config.json") &&
         family_of(models::read_config_file(folder / "config.json")) != nullptr;
}

std::unique_ptr<Encoder> load_encoder(const fs::path& folder, kernels::QuantFormat format) {
  if (!fs::exists(folder / "config.json")) fail("{}: no config.json in this folder", folder.string());
  const Json config = models::read_config_file(folder / "config.json");
  const Family* family = family_of(config);
  if (!family)
    fail("{}: model_type '{}' is not an encoder; known: bert, deberta-v2, modernbert", folder.string(),
         text_or(config, "model_type", ""));
  const TensorFolder weights(folder);
  kernels::check(format, "the encoder's weights");
  try {
    return family->make(config, weights, format);
  } catch (const Error& e) {
    fail("{}: {}", folder.string(), e.what());
  }
}

int64_t positive(const Json& config, const char* key) {
  const int64_t v = config.at(key, "config.json").as_int(key);
  constexpr int64_t kMax = int64_t{1} << 24;
  if (v < 1 || v > kMax) fail("config.json: {} is {}, expected 1 … {}", key, v, kMax);
  return v;
}

double number_or(const Json& config, const char* key, double otherwise) {
  const Json* v = config.find(key);
  return v && !v->is_null() ? v->as_double(key) : otherwise;
}

std::string text_or(const Json& config, const char* key, const char* otherwise) {
  const Json* v = config.find(key);
  return v && v->is_string() ? v->as_string() : otherwise;
}

int64_t label_count(const Json& config) {
  if (const Json* labels = config.find("id2label"); labels && labels->is_object() && !labels->as_object().empty())
    return static_cast<int64_t>(labels->as_object().size());
  return static_cast<int64_t>(number_or(config, "num_labels", 2));
}

}  // namespace quern::encoders
