// DeBERTa-v2 and v3 (arXiv 2006.03654, 2111.09543): BERT's post-norm layers with disentangled attention; v2's larger
// models have a convolution beside the first layer.
//   x = norm(word (+ position) (+ type));  x = norm(x + O·attention(x));  x = norm(x + W₂·act(W₁·x))
#include <cmath>
#include <numeric>

#include "quern/base/error.h"
#include "quern/encoders/disentangled.h"
#include "quern/encoders/encoder.h"

namespace quern::encoders {
namespace {

struct DebertaLayer {
  Dense qkv, out, up, down;
  Norm attention_norm, output_norm;
  Tensor position_keys, position_queries;  // [2·span, D]; undefined: not asked for
};

// y = norm(x_after + act(conv(x_before))): a window of tokens of one text, zero beyond its ends.
struct DebertaConvolution {
  Dense taps;  // [D, kernel·D]
  int64_t kernel = 0;
  kernels::Activation act = kernels::Activation::gelu;
  bool tanh = false;
  Norm norm;
  void apply(const Tensor& before, const Tensor& after, const TokenBatch& batch) const;
};

class Deberta : public Encoder {
 public:
  Deberta(const Json& config, const TensorFolder& folder, kernels::QuantFormat format);
  Tensor hidden(const TokenBatch& batch) const override;
  Tensor logits(const Tensor& hidden, const TokenBatch& batch) const override;

 private:
  void read_positions(const Json& config, const EncoderWeights& w, double eps);
  void read_convolution(const Json& config, const EncoderWeights& w, double eps);
  void read_head(const Json& config, const EncoderWeights& w);
  Tensor embed(const TokenBatch& batch) const;
  Tensor attention(const DebertaLayer& l, const Tensor& qkv, const TokenBatch& batch) const;

  double score_scale_ = 1;
  RelativePositions relative_;
  kernels::Activation act_, head_act_ = kernels::Activation::gelu;
  bool rounds_, head_tanh_ = false;
  Tensor words_, positions_, types_;
  Dense projection_;
  Norm norm_;
  std::vector<DebertaLayer> layers_;
  DebertaConvolution convolution_;
  Dense pooler_, classifier_;
};

bool flag(const Json& config, const char* key, bool otherwise) {
  const Json* v = config.find(key);
  return v && !v->is_null() ? v->as_bool(key) : otherwise;
}

// pos_att_type is a list, or one string with bars.
bool asks_for(const Json& config, std::string_view kind) {
  const Json* v = config.find("pos_att_type");
  if (!v || v->is_null()) return false;
  if (v->is_string()) return v->as_string().find(kind) != std::string::npos;
  for (const Json& one : v->as_array("pos_att_type"))
    if (one.as_string("pos_att_type") == kind) return true;
  return false;
}

Deberta::Deberta(const Json& config, const TensorFolder& folder, kernels::QuantFormat format)
    : Encoder(config), act_(kernels::parse_activation(text_or(config, "hidden_act", "gelu"))) {
  const EncoderWeights w(folder, {"", "deberta."}, format);
  rounds_ = w.rounds();
  const int64_t inner = positive(config, "intermediate_size");
  const int64_t narrow = static_cast<int64_t>(number_or(config, "embedding_size", static_cast<double>(width_)));
  const double eps = number_or(config, "layer_norm_eps", 1e-7);
  words_ = w.tensor("embeddings.word_embeddings.weight", {vocab_size_, narrow});
  if (flag(config, "position_biased_input", true))
    positions_ = w.tensor("embeddings.position_embeddings.weight", {max_tokens_, narrow});
  if (const auto types = static_cast<int64_t>(number_or(config, "type_vocab_size", 0)); types > 0)
    types_ = w.tensor("embeddings.token_type_embeddings.weight", {types, narrow});
  if (narrow != width_) projection_ = w.dense("embeddings.embed_proj", width_, narrow, HasBias::no);
  norm_ = w.norm("embeddings.LayerNorm", width_, eps, HasBias::yes);
  for (int64_t i = 0; i < positive(config, "num_hidden_layers"); ++i) {
    const std::string at = fmt::format("encoder.layer.{}.", i), self = at + "attention.self.";
    layers_.push_back({.qkv = w.stacked({self + "query_proj", self + "key_proj", self + "value_proj"}, width_, width_,
                                        HasBias::yes),
                       .out = w.dense(at + "attention.output.dense", width_, width_, HasBias::yes),
                       .up = w.dense(at + "intermediate.dense", inner, width_, HasBias::yes),
                       .down = w.dense(at + "output.dense", width_, inner, HasBias::yes),
                       .attention_norm = w.norm(at + "attention.output.LayerNorm", width_, eps, HasBias::yes),
                       .output_norm = w.norm(at + "output.LayerNorm", width_, eps, HasBias::yes),
                       .position_keys = {},
                       .position_queries = {}});
  }
  score_scale_ = 1 / std::sqrt(static_cast<double>(width_ / heads_));
  if (flag(config, "relative_attention", false)) read_positions(config, w, eps);
  if (number_or(config, "conv_kernel_size", 0) > 0) read_convolution(config, w, eps);
  if (w.contains("classifier.weight")) read_head(config, w);
}

// The projections of the distance embeddings are the same for every text: they are computed once.
void Deberta::read_positions(const Json& config, const EncoderWeights& w, double eps) {
  relative_.buckets = static_cast<int64_t>(number_or(config, "position_buckets", -1));
  relative_.longest = static_cast<int64_t>(number_or(config, "max_relative_positions", -1));
  if (relative_.longest < 1) relative_.longest = max_tokens_;
  const Tensor distances = w.tensor("encoder.rel_embeddings.weight", {2 * relative_.span(), width_});
  if (text_or(config, "norm_rel_ebd", "none").find("layer_norm") != std::string::npos)
    w.norm("encoder.LayerNorm", width_, eps, HasBias::yes).apply(distances, distances);
  const bool by_query = asks_for(config, "c2p"), by_key = asks_for(config, "p2c"),
             shared = flag(config, "share_att_key", false);
  score_scale_ /= std::sqrt(1.0 + by_query + by_key);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const std::string self = fmt::format("encoder.layer.{}.attention.self.", i);
    const auto project = [&](const char* own, const char* of_all) {
      return w.dense_f32(self + (shared ? of_all : own), width_, width_, HasBias::yes).apply(distances);
    };
    if (by_query) layers_[i].position_keys = project("pos_key_proj", "key_proj");
    if (by_key) layers_[i].position_queries = project("pos_query_proj", "query_proj");
  }
}

void Deberta::read_convolution(const Json& config, const EncoderWeights& w, double eps) {
  DebertaConvolution& c = convolution_;
  c.kernel = positive(config, "conv_kernel_size");
  if (c.kernel % 2 == 0 || number_or(config, "conv_groups", 1) != 1)
    fail("config.json: a convolution with conv_kernel_size {} and conv_groups {:g} is not supported", c.kernel,
         number_or(config, "conv_groups", 1));
  const std::string act = text_or(config, "conv_act", "tanh");
  c.tanh = act == "tanh";
  if (!c.tanh) c.act = kernels::parse_activation(act);
  // [out, in, tap] → [out, tap · in]
  const Tensor t = w.tensor("encoder.conv.conv.weight", {width_, width_, c.kernel});
  c.taps.weight =
      kernels::PrepackedWeight::pack(t.swap_dims(1, 2).clone().reshape({width_, c.kernel * width_}), DType::f32);
  c.taps.bias = w.tensor("encoder.conv.conv.bias", {width_});
  c.norm = w.norm("encoder.conv.LayerNorm", width_, eps, HasBias::yes);
}

void Deberta::read_head(const Json& config, const EncoderWeights& w) {
  labels_ = label_count(config);
  const std::string act = text_or(config, "pooler_hidden_act", "gelu");
  head_tanh_ = act == "tanh";
  if (!head_tanh_) head_act_ = kernels::parse_activation(act);
  pooler_ = w.dense_f32("pooler.dense", width_, width_, HasBias::yes);
  classifier_ = w.dense_f32("classifier", labels_, width_, HasBias::yes);
}

void DebertaConvolution::apply(const Tensor& before, const Tensor& after, const TokenBatch& batch) const {
  const int64_t d = before.dim(1);
  const Tensor around = Tensor::zeros({batch.tokens(), kernel * d}, DType::f32);
  for (int64_t i = 0; i < batch.texts(); ++i) {
    const int64_t begin = batch.offsets[static_cast<size_t>(i)], end = batch.offsets[static_cast<size_t>(i) + 1];
    for (int64_t t = begin; t < end; ++t)
      for (int64_t k = 0; k < kernel; ++k)
        if (const int64_t from = t + k - kernel / 2; from >= begin && from < end)
          std::copy_n(before.data<float>() + from * d, d, around.data<float>() + t * around.dim(1) + k * d);
  }
  const Tensor y = taps.apply(around);
  if (tanh) {
    for (float& v : y.span<float>()) v = std::tanh(v);
  } else {
    activate(act, y);
  }
  norm.add_apply(y, after);
}

Tensor Deberta::embed(const TokenBatch& batch) const {
  Tensor x = Tensor::empty({batch.tokens(), words_.dim(1)}, DType::f32);
  look_up(words_, batch.ids, Rows::set, x);
  if (positions_.defined()) {
    std::vector<int32_t> places(batch.ids.size());
    for (size_t i = 0; i + 1 < batch.offsets.size(); ++i)
      std::iota(places.begin() + batch.offsets[i], places.begin() + batch.offsets[i + 1], 0);
    look_up(positions_, places, Rows::add, x);
  }
  if (types_.defined()) {
    const std::vector<int32_t> none(batch.types.empty() ? batch.ids.size() : 0);
    look_up(types_, batch.types.empty() ? std::span<const int32_t>(none) : batch.types, Rows::add, x);
  }
  if (projection_.weight.defined()) x = projection_.apply(x);
  norm_.apply(x, x);
  return x;
}

Tensor Deberta::attention(const DebertaLayer& l, const Tensor& qkv, const TokenBatch& batch) const {
  kernels::AttentionOptions options{.scale = score_scale_, .bf16_math = rounds_};
  if (!l.position_keys.defined() && !l.position_queries.defined()) return attend(qkv, heads_, batch, options);
  const DisentangledBias bias({.qkv = qkv,
                               .position_keys = l.position_keys,
                               .position_queries = l.position_queries,
                               .heads = heads_,
                               .scale = score_scale_,
                               .bf16 = rounds_},
                              relative_, batch.longest());
  options.bias = &bias;
  return attend(qkv, heads_, batch, options);
}

Tensor Deberta::hidden(const TokenBatch& batch) const {
  Tensor x = embed(batch);
  const Tensor embedded = convolution_.kernel > 0 ? x.clone() : Tensor();
  for (size_t i = 0; i < layers_.size(); ++i) {
    const DebertaLayer& l = layers_[i];
    l.attention_norm.add_apply(l.out.apply(attention(l, l.qkv.apply(x), batch)), x);
    const Tensor h = l.up.apply(x);
    activate(act_, h);
    l.output_norm.add_apply(l.down.apply(h), x);
    if (i == 0 && convolution_.kernel > 0) convolution_.apply(embedded, x, batch);
  }
  return x;
}

Tensor Deberta::logits(const Tensor& hidden, const TokenBatch& batch) const {
  QUERN_CHECK(labels_ > 0);
  const Tensor pooled = pooler_.apply(first_rows(hidden, batch.offsets));
  if (head_tanh_) {
    for (float& v : pooled.span<float>()) v = std::tanh(v);
  } else {
    activate(head_act_, pooled);
  }
  return classifier_.apply(pooled);
}

}  // namespace

std::unique_ptr<Encoder> make_deberta(const Json& config, const TensorFolder& folder, kernels::QuantFormat format) {
  return std::make_unique<Deberta>(config, folder, format);
}

}  // namespace quern::encoders
