// Encoder: a bidirectional transformer read from a Hugging Face folder, token ids in, hidden rows out, and the head for
// classification where the folder has one. Families by `model_type`: bert, deberta-v2 (v2 and v3), modernbert.
#pragma once
#include <filesystem>
#include <memory>

#include "quern/base/json.h"
#include "quern/encoders/layers.h"

namespace quern::encoders {

class Encoder {
 public:
  virtual ~Encoder() = default;
  int64_t width() const { return width_; }
  int64_t vocab_size() const { return vocab_size_; }                                  // rows of the embedding
  int64_t max_tokens() const { return max_tokens_; }                                  // of one text
  int64_t labels() const { return labels_; }                                          // 0: the folder has no head
  virtual Tensor hidden(const TokenBatch& batch) const = 0;                           // [T, width]
  virtual Tensor logits(const Tensor& hidden_TD, const TokenBatch& batch) const = 0;  // [texts, labels]

 protected:
  explicit Encoder(const Json& config);  // the sizes that every family has in its config.json
  const int64_t width_, heads_, vocab_size_, max_tokens_;
  int64_t labels_ = 0;
};

// Is this a folder whose config.json names a family of encoders?
bool is_encoder(const std::filesystem::path& folder);
std::unique_ptr<Encoder> load_encoder(const std::filesystem::path& folder, kernels::QuantFormat format = DType::f32);

// config.json as the families read it.
int64_t positive(const Json& config, const char* key);
double number_or(const Json& config, const char* key, double otherwise);
std::string text_or(const Json& config, const char* key, const char* otherwise);
int64_t label_count(const Json& config);  // as transformers counts: id2label, else num_labels, else 2

std::unique_ptr<Encoder> make_bert(const Json& config, const TensorFolder& folder, kernels::QuantFormat format);
std::unique_ptr<Encoder> make_deberta(const Json& config, const TensorFolder& folder, kernels::QuantFormat format);
std::unique_ptr<Encoder> make_modernbert(const Json& config, const TensorFolder& folder, kernels::QuantFormat format);

}  // namespace quern::encoders
