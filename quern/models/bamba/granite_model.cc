#include "quern/models/bamba/granite_model.h"

#include "quern/ffn/dense/dense_ffn.h"
#include "quern/ffn/moe/moe_ffn.h"
#include "quern/mixers/attention/attention_mixer.h"
#include "quern/models/context_length.h"
#include "quern/nn/registry.h"

namespace quern::models {
namespace {

constexpr ffn::MoeNames kMoe = {"block_sparse_moe.router.layer.", "block_sparse_moe.input_linear.weight",
                                "block_sparse_moe.output_linear.weight"};
constexpr std::pair<std::string_view, std::string_view> kRunning[] = {
    {"block_sparse_moe.router.layer.weight", "block_sparse_moe.router.weight"},
    {kMoe.gate_up, "block_sparse_moe.experts.gate_up_proj"},
    {kMoe.down, "block_sparse_moe.experts.down_proj"}};

// The feed-forward of every token, the experts of each, or both.
class GraniteFfn : public ffn::Ffn {
 public:
  explicit GraniteFfn(const GraniteConfig& c) {
    if (c.ffn() > 0)
      shared_ = std::make_unique<ffn::DenseFfn>(ffn::DenseConfig{.width = c.hidden_size, .hidden = c.ffn()},
                                                ffn::DenseNames{nullptr, "input_linear", "output_linear"});
    if (c.experts() > 0)
      moe_ = std::make_unique<ffn::MoeFfn>(
          std::make_unique<ffn::LinearRouter>(c.hidden_size, c.experts(), c.num_experts_per_tok.value_or(2),
                                              ffn::TopKWeights::renormalized),
          c.hidden_size, c.intermediate_size, c.experts(), kMoe);
  }
  void visit(const std::string& prefix, const nn::ParameterVisitor& v) override {
    if (moe_) moe_->visit(prefix, v);
    if (shared_) shared_->visit(prefix + "shared_mlp.", v);
  }
  void pack(const nn::WeightPrepacking& t) override {
    if (moe_) moe_->pack(t);
    if (shared_) shared_->pack(t);
  }
  grad::Var forward(grad::Tape& tape, const grad::Var& x_TD, ffn::DepthCarry& carry) override {
    if (!moe_) return shared_->forward(tape, x_TD, carry);
    const grad::Var y_TD = moe_->forward(tape, x_TD, carry);
    return shared_ ? nn::add(tape, y_TD, shared_->forward(tape, x_TD, carry)) : y_TD;
  }
  int64_t routed() const override { return moe_ ? moe_->routed() : 0; }
  void share(comm::Communicator* group) override {
    if (moe_) moe_->share(group);
  }

 private:
  std::unique_ptr<ffn::DenseFfn> shared_;
  std::unique_ptr<ffn::MoeFfn> moe_;
};

PreNormShape shape_of(const GraniteConfig& c) {
  PreNormShape s{c.vocab_size, c.hidden_size, c.tie_word_embeddings, c.rms_norm_eps};
  if (c.bamba()) s.ffn_norm = "pre_ff_layernorm", s.final_norm = "final_layernorm";
  s.embedding_scale = c.embedding_multiplier.value_or(1);
  s.residual_scale = c.residual_multiplier.value_or(1);
  s.logit_scale = 1 / c.logits_scaling.value_or(1);
  return s;
}

mixers::AttentionConfig attention_config(const GraniteConfig& c) {
  mixers::AttentionConfig a;
  a.width = c.hidden_size;
  a.n_head = c.num_attention_heads;
  a.n_head_kv = c.kv_heads();
  a.head_dim = c.head_dim();
  a.rotary_dims = c.rotary_dims();
  if (a.rotary_dims > 0) a.rope = c.rope().config;
  if (!c.bamba()) a.scale = c.attention_multiplier.value_or(1);
  a.qkv_bias = a.o_bias = c.attention_bias;
  return a;
}

}  // namespace

GraniteModel::GraniteModel(GraniteConfig config)
    : PreNormModel(shape_of(config)),
      config_(std::move(config)),
      context_(accepted_length(config_.source, config_.rotary_dims() > 0 ? config_.rope().context : kAnyLength)) {
  for (const bool attention : config_.attention()) {
    Part<mixers::Mixer> mixer{"mamba", nullptr};
    if (attention)
      mixer = {"self_attn", std::make_unique<mixers::AttentionMixer>(attention_config(config_))};
    else
      mixer.layer = std::make_unique<mixers::Mamba2Mixer>(config_.mixer());
    Part<ffn::Ffn> ffn{"feed_forward", nullptr};
    if (config_.bamba())
      ffn.layer = std::make_unique<ffn::DenseFfn>(
          ffn::DenseConfig{.width = config_.hidden_size, .hidden = config_.ffn(), .bias = config_.mlp_bias});
    else
      ffn = {"", std::make_unique<GraniteFfn>(config_)};
    add_block(std::move(mixer), std::move(ffn));
  }
}

std::vector<std::string> GraniteModel::other_names(const std::string& name) const {
  for (const auto& [stored, running] : kRunning)
    if (name.ends_with(stored)) return {name.substr(0, name.size() - stored.size()) + std::string(running)};
  return {};
}

bool GraniteModel::ignorable(const std::string& tensor) const {
  return PreNormModel::ignorable(tensor) || tensor.ends_with("rotary_emb.inv_freq");
}

void register_bamba(nn::Registry& r) {
  for (const char* type : {"granitemoehybrid", "bamba"})
    r.models.add(type, [](const Json& config, const TensorFolder*) -> std::unique_ptr<Model> {
      return std::make_unique<GraniteModel>(GraniteConfig::from_hf(config));
    });
}

}  // namespace quern::models
