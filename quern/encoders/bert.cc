// BERT and MiniLM (arXiv 1810.04805, 2002.10957): post-norm layers, learned absolute positions, token types.
//   x = norm(word + position + type);  x = norm(x + O·attention(x));  x = norm(x + W₂·act(W₁·x))
// The head for classification reads tanh(P·x₀) of the first token.
#include <cmath>
#include <numeric>

#include "quern/base/error.h"
#include "quern/encoders/encoder.h"

namespace quern::encoders {
namespace {

struct BertLayer {
  Dense qkv, out, up, down;
  Norm attention_norm, output_norm;
};

class Bert : public Encoder {
 public:
  Bert(const Json& config, const TensorFolder& folder, kernels::QuantFormat format);
  Tensor hidden(const TokenBatch& batch) const override;
  Tensor logits(const Tensor& hidden, const TokenBatch& batch) const override;

 private:
  Tensor embed(const TokenBatch& batch) const;

  kernels::Activation act_;
  bool rounds_;
  Tensor words_, positions_, types_;
  Norm norm_;
  std::vector<BertLayer> layers_;
  Dense pooler_, classifier_;
};

Bert::Bert(const Json& config, const TensorFolder& folder, kernels::QuantFormat format)
    : Encoder(config), act_(kernels::parse_activation(text_or(config, "hidden_act", "gelu"))) {
  if (const std::string kind = text_or(config, "position_embedding_type", "absolute"); kind != "absolute")
    fail("config.json: position_embedding_type '{}' is not supported, only absolute", kind);
  const EncoderWeights w(folder, {"", "bert."}, format);
  rounds_ = w.rounds();
  const int64_t inner = positive(config, "intermediate_size");
  const double eps = number_or(config, "layer_norm_eps", 1e-12);
  words_ = w.tensor("embeddings.word_embeddings.weight", {vocab_size_, width_});
  positions_ = w.tensor("embeddings.position_embeddings.weight", {max_tokens_, width_});
  types_ = w.tensor("embeddings.token_type_embeddings.weight", {positive(config, "type_vocab_size"), width_});
  norm_ = w.norm("embeddings.LayerNorm", width_, eps, HasBias::yes);
  for (int64_t i = 0; i < positive(config, "num_hidden_layers"); ++i) {
    const std::string at = fmt::format("encoder.layer.{}.", i), self = at + "attention.self.";
    layers_.push_back({.qkv = w.stacked({self + "query", self + "key", self + "value"}, width_, width_, HasBias::yes),
                       .out = w.dense(at + "attention.output.dense", width_, width_, HasBias::yes),
                       .up = w.dense(at + "intermediate.dense", inner, width_, HasBias::yes),
                       .down = w.dense(at + "output.dense", width_, inner, HasBias::yes),
                       .attention_norm = w.norm(at + "attention.output.LayerNorm", width_, eps, HasBias::yes),
                       .output_norm = w.norm(at + "output.LayerNorm", width_, eps, HasBias::yes)});
  }
  if (!w.contains("classifier.weight")) return;
  labels_ = label_count(config);
  pooler_ = w.dense_f32("pooler.dense", width_, width_, HasBias::yes);
  classifier_ = w.dense_f32("classifier", labels_, width_, HasBias::yes);
}

Tensor Bert::embed(const TokenBatch& batch) const {
  Tensor x = Tensor::empty({batch.tokens(), width_}, DType::f32);
  look_up(words_, batch.ids, Rows::set, x);
  std::vector<int32_t> places(batch.ids.size());
  for (size_t i = 0; i + 1 < batch.offsets.size(); ++i)
    std::iota(places.begin() + batch.offsets[i], places.begin() + batch.offsets[i + 1], 0);
  look_up(positions_, places, Rows::add, x);
  const std::vector<int32_t> none(batch.types.empty() ? batch.ids.size() : 0);
  look_up(types_, batch.types.empty() ? std::span<const int32_t>(none) : batch.types, Rows::add, x);
  norm_.apply(x, x);
  return x;
}

Tensor Bert::hidden(const TokenBatch& batch) const {
  Tensor x = embed(batch);
  const kernels::AttentionOptions options{.scale = 1 / std::sqrt(static_cast<double>(width_ / heads_)),
                                          .bf16_math = rounds_};
  for (const BertLayer& l : layers_) {
    l.attention_norm.add_apply(l.out.apply(attend(l.qkv.apply(x), heads_, batch, options)), x);
    const Tensor h = l.up.apply(x);
    activate(act_, h);
    l.output_norm.add_apply(l.down.apply(h), x);
  }
  return x;
}

Tensor Bert::logits(const Tensor& hidden, const TokenBatch& batch) const {
  QUERN_CHECK(labels_ > 0);
  const Tensor pooled = pooler_.apply(first_rows(hidden, batch.offsets));
  for (float& v : pooled.span<float>()) v = std::tanh(v);
  return classifier_.apply(pooled);
}

}  // namespace

std::unique_ptr<Encoder> make_bert(const Json& config, const TensorFolder& folder, kernels::QuantFormat format) {
  return std::make_unique<Bert>(config, folder, format);
}

}  // namespace quern::encoders
