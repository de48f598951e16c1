#include "quern/models/hybrid/hybrid_model.h"

#include "quern/nn/ops.h"

namespace quern {
namespace {

DenseConfig ffn_config(const HybridConfig& c) {
  DenseConfig f;
  f.width = c.hidden_size;
  f.hidden = c.intermediate_size;
  f.act = kernels::parse_activation(c.hidden_act);
  f.gated = c.gated;
  return f;
}

}  // namespace

HybridModel::Block::Block(const HybridConfig& c, const std::string& name, const Registry& registry)
    : norm1({c.hidden_size}, Init::constant(1)), norm2({c.hidden_size}, Init::constant(1)), ffn(ffn_config(c)) {
  const HybridConfig::Named m = c.mixer(name);
  mixer = registry.mixers.make(m.type, m.fields);
}

HybridModel::HybridModel(HybridConfig config, const Registry& registry)
    : config_(std::move(config)),
      head_(config_.vocab_size, config_.hidden_size, config_.tie_word_embeddings),
      norm_({config_.hidden_size}, Init::constant(1)) {
  for (const std::string& name : config_.layers) blocks_.push_back(std::make_unique<Block>(config_, name, registry));
}

std::vector<StateSite> HybridModel::sites(DType kv) const {
  std::vector<StateSite> s;
  for (size_t k = 0; k < blocks_.size(); ++k)
    s.push_back({static_cast<int>(k), 0, blocks_[k]->mixer->state_spec(kv)});
  return s;
}

void HybridModel::visit(const std::string& prefix, const ParameterVisitor& v) {
  head_.visit(prefix, v);
  for (size_t k = 0; k < blocks_.size(); ++k) {
    Block& b = *blocks_[k];
    const std::string p = fmt::format("{}model.layers.{}.", prefix, k);
    v(p + "input_layernorm.weight", b.norm1);
    b.mixer->visit(p + "mixer.", v);
    v(p + "post_mixer_layernorm.weight", b.norm2);
    b.ffn.visit(p + "mlp.", v);
  }
  v(prefix + "model.norm.weight", norm_);
}

void HybridModel::pack(const WeightPrepacking& t) {
  head_.pack(t);
  for (auto& b : blocks_) {
    b->mixer->pack(t);
    b->ffn.pack(t);
  }
}

Var HybridModel::hidden(Tape& tape, std::span<const int32_t> ids, const Batch& batch) {
  Var r_TD = head_.embed(tape, ids);
  auto shared = batch_for(tape, batch);
  for (size_t k = 0; k < blocks_.size(); ++k)
    r_TD = tape.layer({r_TD}, [this, k, shared](Tape& t, const std::vector<Var>& in) -> std::vector<Var> {
      Block& b = *blocks_[k];
      Var h_TD = rms_norm(t, in[0], b.norm1, config_.rms_norm_eps);
      Var r_TD = add(t, in[0], b.mixer->forward(t, h_TD, *shared, static_cast<int>(k)));
      h_TD = rms_norm(t, r_TD, b.norm2, config_.rms_norm_eps);
      DepthCarry none;
      return {add(t, r_TD, b.ffn.forward(t, h_TD, none))};
    })[0];
  batch.advance_states();
  return rms_norm(tape, r_TD, norm_, config_.rms_norm_eps);
}

bool HybridModel::ignorable(const std::string& t) const {
  return config_.tie_word_embeddings && t == "lm_head.weight";
}

namespace models {
void register_hybrid(Registry& r) {
  r.models.add("hybrid", [&r](const Json& config, const TensorFolder*) -> std::unique_ptr<Model> {
    return std::make_unique<HybridModel>(HybridConfig::from_hf(config), r);
  });
}
}  // namespace models

}  // namespace quern
