#include "quern/models/llama/llama_model.h"

#include "quern/nn/ops.h"
#include "quern/nn/registry.h"

namespace quern {
namespace {

AttentionConfig attention_config(const LlamaConfig& c, int64_t k) {
  AttentionConfig a;
  a.width = c.hidden_size;
  a.n_head = c.num_attention_heads;
  a.n_head_kv = c.kv_heads();
  a.head_dim = c.head_size();
  a.rotary_dims = c.head_size();
  a.rope.inv_freq = c.inv_freq();
  a.window = c.window(k);
  a.qkv_bias = c.qkv_bias();
  a.o_bias = c.o_bias();
  a.qk_norm = c.model_type == "qwen3";
  a.qk_norm_eps = c.rms_norm_eps;
  return a;
}

DenseConfig ffn_config(const LlamaConfig& c) {
  DenseConfig f;
  f.width = c.hidden_size;
  f.hidden = c.intermediate_size;
  f.act = kernels::parse_activation(c.hidden_act);
  f.bias = c.mlp_bias;
  return f;
}

}  // namespace

LlamaModel::Block::Block(const LlamaConfig& c, int64_t k)
    : norm1({c.hidden_size}, Init::constant(1)),
      norm2({c.hidden_size}, Init::constant(1)),
      attention(attention_config(c, k)),
      ffn(ffn_config(c)) {}

LlamaModel::LlamaModel(LlamaConfig config)
    : config_(std::move(config)),
      head_(config_.vocab_size, config_.hidden_size, config_.tie_word_embeddings),
      norm_({config_.hidden_size}, Init::constant(1)) {
  for (int64_t k = 0; k < config_.num_hidden_layers; ++k) blocks_.push_back(std::make_unique<Block>(config_, k));
}

std::vector<StateSite> LlamaModel::sites(DType kv) const {
  std::vector<StateSite> s;
  for (size_t k = 0; k < blocks_.size(); ++k)
    s.push_back({static_cast<int>(k), 0, blocks_[k]->attention.state_spec(kv)});
  return s;
}

void LlamaModel::visit(const std::string& prefix, const ParameterVisitor& v) {
  head_.visit(prefix, v);
  for (size_t k = 0; k < blocks_.size(); ++k) {
    Block& b = *blocks_[k];
    std::string p = fmt::format("{}model.layers.{}.", prefix, k);
    v(p + "input_layernorm.weight", b.norm1);
    b.attention.visit(p + "self_attn.", v);
    v(p + "post_attention_layernorm.weight", b.norm2);
    b.ffn.visit(p + "mlp.", v);
  }
  v(prefix + "model.norm.weight", norm_);
}

void LlamaModel::pack(const WeightPrepacking& t) {
  head_.pack(t);
  for (auto& b : blocks_) {
    b->attention.pack(t);
    b->ffn.pack(t);
  }
}

Var LlamaModel::hidden(Tape& tape, std::span<const int32_t> ids, const Batch& batch) {
  Var r_TD = head_.embed(tape, ids);
  auto shared = batch_for(tape, batch);
  for (size_t k = 0; k < blocks_.size(); ++k)
    r_TD = tape.layer({r_TD}, [this, k, shared](Tape& t, const std::vector<Var>& in) -> std::vector<Var> {
      Block& b = *blocks_[k];
      Var h_TD = rms_norm(t, in[0], b.norm1, config_.rms_norm_eps);
      Var r_TD = add(t, in[0], b.attention.forward(t, h_TD, *shared, static_cast<int>(k)));
      h_TD = rms_norm(t, r_TD, b.norm2, config_.rms_norm_eps);
      DepthCarry none;
      return {add(t, r_TD, b.ffn.forward(t, h_TD, none))};
    })[0];
  batch.advance_states();
  return rms_norm(tape, r_TD, norm_, config_.rms_norm_eps);
}

bool LlamaModel::ignorable(const std::string& t) const {
  return (config_.tie_word_embeddings && t == "lm_head.weight") || t.ends_with("rotary_emb.inv_freq");
}

namespace models {
void register_llama(Registry& r) {
  for (const char* type : {"llama", "mistral", "qwen2", "qwen3"})
    r.models.add(type, [](const Json& config, const TensorFolder*) -> std::unique_ptr<Model> {
      return std::make_unique<LlamaModel>(LlamaConfig::from_hf(config));
    });
}
}  // namespace models

}  // namespace quern
