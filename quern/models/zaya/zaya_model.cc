#include "quern/models/zaya/zaya_model.h"

#include "quern/base/error.h"
#include "quern/mixers/attention/attention_mixer.h"
#include "quern/mixers/cca/cca_mixer.h"
#include "quern/models/zaya/zaya_names.h"
#include "quern/nn/registry.h"

namespace quern::models {
namespace {

template <class Config>  // CCA's and plain attention's name these alike
Config heads(const ZayaConfig& c, int64_t k) {
  const std::string& type = c.layer_types[static_cast<size_t>(k)];
  const ZayaConfig::Rope& rope = c.rope.at(type);
  Config a;
  a.width = c.hidden_size;
  a.n_head = c.num_attention_heads;
  a.n_head_kv = c.num_key_value_heads;
  a.head_dim = c.head_dim;
  a.rotary_dims = static_cast<int64_t>(rope.partial * static_cast<double>(c.head_dim));
  a.rope.theta = rope.theta;
  a.window = type == "hybrid_sliding" ? *c.sliding_window : 0;
  a.qkv_bias = a.o_bias = c.attention_bias;
  return a;
}

std::unique_ptr<mixers::Mixer> attention(const ZayaConfig& c, int64_t k) {
  if (c.attention == "gqa") return std::make_unique<mixers::AttentionMixer>(heads<mixers::AttentionConfig>(c, k));
  mixers::CcaConfig a = heads<mixers::CcaConfig>(c, k);
  a.time0 = c.cca_time0;
  a.time1 = c.cca_time1;
  return std::make_unique<mixers::CcaMixer>(a);
}

ffn::ZayaRouterConfig router_config(const ZayaConfig& c, int64_t k) {
  ffn::ZayaRouterConfig r;
  r.width = c.hidden_size;
  r.router_width = c.router_hidden_size;
  r.n_experts = c.num_experts;
  r.linear = c.router == "linear";
  r.depth_average = k > 0 && c.router == "mlp-eda";
  r.eps = c.rms_norm_eps;
  r.skip = c.skip_class == "identity" ? ffn::ZayaRouterConfig::Skip::identity : ffn::ZayaRouterConfig::Skip::zero;
  return r;
}

}  // namespace

ZayaModel::Block::Block(const ZayaConfig& c, int64_t k)
    : norm1({c.hidden_size}, grad::Init::constant(1)),
      norm2({c.hidden_size}, grad::Init::constant(1)),
      attention(models::attention(c, k)),
      moe(router_config(c, k), c.moe_intermediate_size),
      after_attention(c.hidden_size),
      after_moe(c.hidden_size) {}

ZayaModel::ZayaModel(ZayaConfig config)
    : config_(std::move(config)),
      head_(config_.vocab_size, config_.hidden_size, OutputMatrix{config_.tie_word_embeddings}),
      in_scale_({config_.hidden_size}, grad::Init::constant(1)),
      in_bias_({config_.hidden_size}, grad::Init::constant(0)),
      norm_({config_.hidden_size}, grad::Init::constant(1)) {
  for (int64_t k = 0; k < config_.num_hidden_layers; ++k) blocks_.push_back(std::make_unique<Block>(config_, k));
}

std::vector<mixers::StateSite> ZayaModel::sites(DType kv) const {
  std::vector<mixers::StateSite> s;
  for (size_t k = 0; k < blocks_.size(); ++k)
    s.push_back({static_cast<int>(k), 0, blocks_[k]->attention->state_spec(kv)});
  return s;
}

void ZayaModel::visit(const std::string& prefix, const nn::ParameterVisitor& v) {
  head_.visit(prefix, v);
  v(prefix + "model.input_hidden_states_scale", in_scale_);
  v(prefix + "model.input_hidden_states_bias", in_bias_);
  for (size_t k = 0; k < blocks_.size(); ++k) {
    Block& b = *blocks_[k];
    std::string p = fmt::format("{}model.layers.{}.", prefix, k);
    v(p + "input_layernorm.weight", b.norm1);
    b.attention->visit(p + "self_attn.", v);
    b.after_attention.visit(p + "post_attention_residual_scale.", v);
    v(p + "post_attention_layernorm.weight", b.norm2);
    b.moe.visit(p + "mlp.", v);
    b.after_moe.visit(p + "post_mlp_residual_scale.", v);
  }
  v(prefix + "model.norm.weight", norm_);
}

void ZayaModel::pack(const nn::WeightPrepacking& t) {
  head_.pack(t);
  for (auto& b : blocks_) {
    b->attention->pack(t);
    b->moe.pack(t);
  }
}

bool ZayaModel::share_experts(comm::Communicator* group) {
  for (auto& b : blocks_) b->moe.share(group);
  return true;
}

// The router counts them in the gradient of its balancing biases; the last class is no expert.
std::vector<std::span<const float>> ZayaModel::expert_loads() {
  std::vector<std::span<const float>> loads;
  for (auto& b : blocks_)
    b->moe.router().visit("", [&](const std::string&, grad::Parameter& p) {
      if (p.kind != grad::ParameterKind::balance || !p.grad.defined()) return;
      loads.push_back(p.grad.span<float>().first(static_cast<size_t>(p.grad.size()) - 1));
    });
  return loads;
}

grad::Var ZayaModel::hidden(grad::Tape& tape, std::span<const int32_t> ids, const mixers::Batch& batch) {
  grad::Var r_TD = nn::affine_in(tape, head_.embed(tape, ids), in_scale_, in_bias_);
  auto shared = mixers::batch_for(tape, batch);
  grad::Var router_state;
  if (batch.record_routes) batch.record_routes->start(batch.tokens(), static_cast<int64_t>(blocks_.size()));
  for (size_t k = 0; k < blocks_.size(); ++k) {
    auto block = [this, k, shared](grad::Tape& t, const std::vector<grad::Var>& in) -> std::vector<grad::Var> {
      Block& b = *blocks_[k];
      ffn::DepthCarry carry{.router_state = in[1],
                             .routes = {shared->record_routes, shared->replay_routes, static_cast<int64_t>(k)}};
      grad::Var h_TD = nn::rms_norm(t, in[0], b.norm1, config_.rms_norm_eps);
      grad::Var r_TD = nn::residual_merge(t, b.attention->forward(t, h_TD, *shared, static_cast<int>(k)), in[0],
                                          b.after_attention);
      h_TD = nn::rms_norm(t, r_TD, b.norm2, config_.rms_norm_eps);
      r_TD = nn::residual_merge(t, b.moe.forward(t, h_TD, carry), r_TD, b.after_moe);
      if (!carry.router_state.value.defined()) return {r_TD};
      return {r_TD, carry.router_state};
    };
    std::vector<grad::Var> out = tape.layer({r_TD, router_state}, block);
    r_TD = out[0];
    if (out.size() > 1) router_state = out[1];
  }
  batch.advance_states();
  return nn::rms_norm(tape, r_TD, norm_, config_.rms_norm_eps);
}

bool ZayaModel::ignorable(const std::string& tensor) const {
  return config_.tie_word_embeddings && tensor == "lm_head.weight";
}

void register_zaya(nn::Registry& r) {
  r.models.add("zaya", [](const Json& config, const TensorFolder* weights) -> std::unique_ptr<Model> {
    return std::make_unique<ZayaModel>(ZayaConfig::from_hf(config, weights));
  });
  r.layouts.add("zaya", zaya_legacy_layout);
}

}  // namespace quern::models
