#include "quern/gguf/gguf_metadata.h"

#include <algorithm>
#include <string_view>

#include "quern/base/error.h"

namespace quern::gguf {
namespace {

// Keys of an architecture that need no reading, or that the vocabulary and the tensors tell as well.
constexpr std::string_view kHarmless[] = {"vocab_size", "tensor_data_layout", "expert_used_count",
                                          "rope.scaling.original_context_length", "rope.scaling.finetuned"};

}  // namespace

GgufMetadata::GgufMetadata(const GgufFile& f) : file_(f), arch_(text("general.architecture")) {
  if (arch_.empty()) fail("{} is missing", where("general.architecture"));
}

std::string GgufMetadata::where(const std::string& key) const {
  return fmt::format("{}, metadata '{}'", file_.path().string(), key);
}

const Json* GgufMetadata::find(const std::string& key) {
  known_.insert(key);
  auto it = file_.metadata().find(key);
  return it == file_.metadata().end() ? nullptr : &it->second;
}

int64_t GgufMetadata::whole(const std::string& key) {
  const Json* j = own(key);
  if (!j) fail("{} is missing", where_own(key));
  return j->as_int(where_own(key));
}

double GgufMetadata::real(const std::string& key, double otherwise) {
  const Json* j = own(key);
  return j ? j->as_double(where_own(key)) : otherwise;
}

bool GgufMetadata::flag(const std::string& key, Json otherwise) {
  const Json* j = own(key);
  return (j ? *j : otherwise).as_bool(where_own(key));
}

std::string GgufMetadata::text(const std::string& key) {
  const Json* j = find(key);
  return j ? j->as_string(where(key)) : "";
}

void GgufMetadata::refuse_others() const {
  for (const auto& [key, value] : file_.metadata())
    if (key.starts_with(arch_ + ".") && !known_.count(key) &&
        std::find(std::begin(kHarmless), std::end(kHarmless), key.substr(arch_.size() + 1)) == std::end(kHarmless))
      fail("{}: {} is not supported and may change what the model computes", where(key),
           value.is_array() ? "a list" : value.dump());
}

Json common_config(GgufMetadata& m) {
  if (const std::string type = m.text("general.type"); !type.empty() && type != "model")
    fail("{}: '{}', expected model", m.where("general.type"), type);
  if (const Json* parts = m.find("split.count"); parts && parts->as_int(m.where("split.count")) > 1)
    fail("{}: a file in {} parts is not supported, join them first", m.where("split.count"), parts->as_int());
  if (!m.flag("attention.causal", true))
    fail("{}: false is not supported, expected true", m.where_own("attention.causal"));
  Json j = Json::object();
  j.set("vocab_size", matrix_shape(m.file(), "token_embd.weight")[0]);
  j.set("hidden_size", m.whole("embedding_length"));
  const int64_t layers = m.whole("block_count");
  if (layers < 1 || layers > 4096) fail("{}: {} blocks", m.where_own("block_count"), layers);
  j.set("num_hidden_layers", layers);
  j.set("max_position_embeddings", m.whole("context_length"));
  j.set("rms_norm_eps", m.real("attention.layer_norm_rms_epsilon", 1e-5));
  j.set("hidden_act", "silu");
  j.set("tie_word_embeddings", m.file().entries().count("output.weight") == 0);
  for (const auto& [key, name] : {std::pair{"tokenizer.ggml.bos_token_id", "bos_token_id"},
                                  {"tokenizer.ggml.eos_token_id", "eos_token_id"},
                                  {"tokenizer.ggml.padding_token_id", "pad_token_id"}})
    if (const Json* id = m.find(key)) j.set(name, id->as_int(m.where(key)));
  return j;
}

const Shape& matrix_shape(const GgufFile& f, const std::string& name) {
  auto it = f.entries().find(name);
  if (it == f.entries().end()) fail("{}: tensor '{}' is missing", f.path().string(), name);
  if (it->second.shape.size() != 2)
    fail("{}, tensor '{}', shape: {}, expected a matrix", f.path().string(), name, to_string(it->second.shape));
  return it->second.shape;
}

}  // namespace quern::gguf
