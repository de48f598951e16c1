// ModernBERT (arXiv 2412.13663): pre-norm layers with rotary positions and GeGLU; most layers see a window on both
// sides, every third all tokens, with another base of the rotary frequencies. No biases unless config.json asks.
//   x = norm(word);  x += O·attention(norm(x));  x += W₂·(act(a) ⊙ b), [a ‖ b] = W₁·norm(x);  out = norm(x)
#include <cmath>
#include <numeric>

#include "quern/base/error.h"
#include "quern/encoders/encoder.h"
#include "quern/kernels/rope/rope.h"

namespace quern::encoders {
namespace {

struct ModernBertLayer {
  bool local;
  Norm attention_norm;  // not of the first layer
  Dense qkv, out;
  Norm mlp_norm;
  Dense up, down;
};

bool flag(const Json& config, const char* key, bool otherwise) {
  const Json* v = config.find(key);
  return v && !v->is_null() ? v->as_bool(key) : otherwise;
}

HasBias bias_of(const Json& config, const char* key) { return flag(config, key, false) ? HasBias::yes : HasBias::no; }

// The base of the rotary frequencies: by name in older files, by kind of layer in newer ones.
double rope_theta(const Json& config, const char* older, const char* kind, double otherwise) {
  const Json* all = config.find("rope_parameters");
  const Json* one = all ? all->find(kind) : nullptr;
  if (one) {
    if (const std::string type = text_or(*one, "rope_type", "default"); type != "default")
      fail("config.json: rope_type '{}' of {} is not supported, only default", type, kind);
    return number_or(*one, "rope_theta", otherwise);
  }
  return number_or(config, older, otherwise);
}

struct RopeTables {
  Tensor cos, sin;
};

class ModernBert : public Encoder {
 public:
  ModernBert(const Json& config, const TensorFolder& folder, kernels::QuantFormat format);
  Tensor hidden(const TokenBatch& batch) const override;
  Tensor logits(const Tensor& hidden, const TokenBatch& batch) const override;

 private:
  RopeTables tables(const TokenBatch& batch, double theta) const;
  void rotate(const Tensor& qkv, const RopeTables& t) const;
  bool is_local(const Json& config, int64_t layer) const;

  int64_t inner_, window_;
  double global_theta_, local_theta_;
  kernels::Activation act_, head_act_ = kernels::Activation::gelu;
  bool rounds_, mean_head_ = false;
  Tensor words_;
  Norm embedding_norm_, final_norm_, head_norm_;
  std::vector<ModernBertLayer> layers_;
  Dense head_, classifier_;
};

bool ModernBert::is_local(const Json& config, int64_t layer) const {
  if (const Json* types = config.find("layer_types"); types && types->is_array()) {
    if (static_cast<int64_t>(types->as_array().size()) <= layer) fail("config.json: layer_types is too short");
    return types->as_array()[static_cast<size_t>(layer)].as_string("layer_types") == "sliding_attention";
  }
  constexpr const char* kEvery = "global_attn_every_n_layers";
  return layer % (config.find(kEvery) ? positive(config, kEvery) : 3) != 0;
}

ModernBert::ModernBert(const Json& config, const TensorFolder& folder, kernels::QuantFormat format)
    : Encoder(config),
      inner_(positive(config, "intermediate_size")),
      window_(positive(config, "local_attention") / 2),
      global_theta_(rope_theta(config, "global_rope_theta", "full_attention", 160000)),
      local_theta_(rope_theta(config, "local_rope_theta", "sliding_attention", 10000)),
      act_(kernels::parse_activation(text_or(config, "hidden_activation", "gelu"))) {
  if (width_ % (2 * heads_) != 0)
    fail("config.json: hidden_size {} does not divide into {} even heads", width_, heads_);
  if (const Json* scaling = config.find("rope_scaling"); scaling && !scaling->is_null())
    fail("config.json: rope_scaling is not supported for ModernBERT");
  const EncoderWeights w(folder, {"", "model."}, format);
  rounds_ = w.rounds();
  const double eps = number_or(config, "norm_eps", 1e-5);
  const HasBias norm_bias = bias_of(config, "norm_bias"), mlp = bias_of(config, "mlp_bias"),
                attention = bias_of(config, "attention_bias");
  words_ = w.tensor("embeddings.tok_embeddings.weight", {vocab_size_, width_});
  embedding_norm_ = w.norm("embeddings.norm", width_, eps, norm_bias);
  final_norm_ = w.norm("final_norm", width_, eps, norm_bias);
  for (int64_t i = 0; i < positive(config, "num_hidden_layers"); ++i) {
    const std::string at = fmt::format("layers.{}.", i);
    layers_.push_back({.local = is_local(config, i),
                       .attention_norm = i > 0 ? w.norm(at + "attn_norm", width_, eps, norm_bias) : Norm(),
                       .qkv = w.dense(at + "attn.Wqkv", 3 * width_, width_, attention),
                       .out = w.dense(at + "attn.Wo", width_, width_, attention),
                       .mlp_norm = w.norm(at + "mlp_norm", width_, eps, norm_bias),
                       .up = w.dense(at + "mlp.Wi", 2 * inner_, width_, mlp),
                       .down = w.dense(at + "mlp.Wo", width_, inner_, mlp)});
  }
  if (!w.contains("classifier.weight")) return;
  labels_ = label_count(config);
  const std::string pooling = text_or(config, "classifier_pooling", "cls");
  if (pooling != "cls" && pooling != "mean")
    fail("config.json: classifier_pooling '{}' is not one of cls, mean", pooling);
  mean_head_ = pooling == "mean";
  head_act_ = kernels::parse_activation(text_or(config, "classifier_activation", "gelu"));
  head_ = w.dense_f32("head.dense", width_, width_, bias_of(config, "classifier_bias"));
  head_norm_ = w.norm("head.norm", width_, eps, norm_bias);
  classifier_ = w.dense_f32("classifier", labels_, width_, HasBias::yes);
}

RopeTables ModernBert::tables(const TokenBatch& batch, double theta) const {
  std::vector<int32_t> places(batch.ids.size());
  for (size_t i = 0; i + 1 < batch.offsets.size(); ++i)
    std::iota(places.begin() + batch.offsets[i], places.begin() + batch.offsets[i + 1], 0);
  const std::vector<double> frequencies = kernels::rope_inv_freq(width_ / heads_, theta);
  const Shape shape{batch.tokens(), static_cast<int64_t>(frequencies.size())};
  RopeTables t{Tensor::empty(shape, DType::f32), Tensor::empty(shape, DType::f32)};
  kernels::rope_table<float>(places, frequencies, t.cos.view<float, 2>(), t.sin.view<float, 2>());
  return t;
}

void ModernBert::rotate(const Tensor& qkv, const RopeTables& t) const {
  const int64_t d = width_ / heads_;
  // Queries and keys lie side by side: as many heads again.
  const View<float, 3> both(qkv.data<float>(), {qkv.dim(0), 2 * heads_, d}, {3 * width_, d, 1});
  const View<const float, 3> from(both.data, {qkv.dim(0), 2 * heads_, d}, {3 * width_, d, 1});
  kernels::rope<float>(from, t.cos.view<const float, 2>(), t.sin.view<const float, 2>(), kernels::RopePairing::half,
                       kernels::RopeTurn::forward, both);
}

Tensor ModernBert::hidden(const TokenBatch& batch) const {
  Tensor x = Tensor::empty({batch.tokens(), width_}, DType::f32), h = Tensor::empty(x.shape(), DType::f32);
  look_up(words_, batch.ids, Rows::set, x);
  embedding_norm_.apply(x, x);
  const RopeTables global = tables(batch, global_theta_), local = tables(batch, local_theta_);
  kernels::AttentionOptions options{.scale = 1 / std::sqrt(static_cast<double>(width_ / heads_)),
                                    .bf16_math = rounds_};
  Tensor gated = Tensor::empty({batch.tokens(), inner_}, DType::f32);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const ModernBertLayer& l = layers_[i];
    if (i > 0) l.attention_norm.apply(x, h);
    const Tensor qkv = l.qkv.apply(i > 0 ? h : x);
    rotate(qkv, l.local ? local : global);
    options.window = l.local ? window_ : 0;
    add(l.out.apply(attend(qkv, heads_, batch, options)), x);
    l.mlp_norm.apply(x, h);
    const Tensor both = l.up.apply(h);
    kernels::gated<float>(act_, both.view<const float, 2>(), gated.view<float, 2>());
    add(l.down.apply(gated), x);
  }
  final_norm_.apply(x, x);
  return x;
}

Tensor ModernBert::logits(const Tensor& hidden, const TokenBatch& batch) const {
  QUERN_CHECK(labels_ > 0);
  const Tensor pooled =
      head_.apply(mean_head_ ? mean_rows(hidden, batch.offsets) : first_rows(hidden, batch.offsets));
  activate(head_act_, pooled);
  head_norm_.apply(pooled, pooled);
  return classifier_.apply(pooled);
}

}  // namespace

std::unique_ptr<Encoder> make_modernbert(const Json& config, const TensorFolder& folder,
                                         kernels::QuantFormat format) {
  return std::make_unique<ModernBert>(config, folder, format);
}

}  // namespace quern::encoders
