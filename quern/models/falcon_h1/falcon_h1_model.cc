#include "quern/models/falcon_h1/falcon_h1_model.h"

#include "quern/ffn/dense/dense_ffn.h"
#include "quern/mixers/attention/attention_mixer.h"
#include "quern/models/context_length.h"
#include "quern/nn/registry.h"

namespace quern::models {
namespace {

// Two mixers on the same rows, each with a factor before and behind it; one site holds the states of both.
class ParallelMixer : public mixers::Mixer {
 public:
  struct Branch {
    const char* name;
    std::unique_ptr<mixers::Mixer> mixer;
    double in, out;
  };
  explicit ParallelMixer(std::vector<Branch> branches) : branches_(std::move(branches)) {}
  mixers::StateSpec state_spec(DType kv) const override {
    mixers::StateSpec all;
    for (const Branch& b : branches_)
      for (mixers::StatePart& part : b.mixer->state_spec(kv).parts) all.parts.push_back(std::move(part));
    return all;
  }
  void visit(const std::string& prefix, const nn::ParameterVisitor& v) override {
    for (Branch& b : branches_) b.mixer->visit(fmt::format("{}{}.", prefix, b.name), v);
  }
  void pack(const nn::WeightPrepacking& t) override {
    for (Branch& b : branches_) b.mixer->pack(t);
  }
  grad::Var forward(grad::Tape& tape, const grad::Var& x_TD, const mixers::Batch& batch, int site) override {
    auto scaled = [&](const grad::Var& x, double factor) { return factor == 1 ? x : nn::scale(tape, x, factor); };
    grad::Var sum_TD;
    for (Branch& b : branches_) {
      const grad::Var y_TD = scaled(b.mixer->forward(tape, scaled(x_TD, b.in), batch, site), b.out);
      sum_TD = sum_TD.value.defined() ? nn::add(tape, sum_TD, y_TD) : y_TD;
    }
    return sum_TD;
  }

 private:
  std::vector<Branch> branches_;
};

PreNormShape shape_of(const FalconH1Config& c) {
  PreNormShape s{c.vocab_size, c.hidden_size, c.tie_word_embeddings, c.rms_norm_eps};
  s.ffn_norm = "pre_ff_layernorm", s.final_norm = "final_layernorm";
  s.embedding_scale = c.embedding_multiplier;
  s.logit_scale = c.lm_head_multiplier;
  return s;
}

mixers::AttentionConfig attention_config(const FalconH1Config& c) {
  mixers::AttentionConfig a;
  a.width = c.hidden_size;
  a.n_head = c.num_attention_heads;
  a.n_head_kv = c.kv_heads();
  a.head_dim = a.rotary_dims = c.head_size();
  a.rope = c.rope().config;
  a.qkv_bias = a.o_bias = c.attention_bias;
  a.key_scale = c.key_multiplier;
  return a;
}

ffn::DenseConfig ffn_config(const FalconH1Config& c) {
  ffn::DenseConfig f;
  f.width = c.hidden_size;
  f.hidden = c.intermediate_size;
  f.bias = c.mlp_bias;
  f.gate_scale = c.mlp_multipliers[0];
  f.out_scale = c.mlp_multipliers[1];
  return f;
}

}  // namespace

FalconH1Model::FalconH1Model(FalconH1Config config)
    : PreNormModel(shape_of(config)),
      config_(std::move(config)),
      context_(accepted_length(config_.source, config_.rope().context)) {
  for (int64_t l = 0; l < config_.num_hidden_layers; ++l) {
    std::vector<ParallelMixer::Branch> branches;
    branches.push_back({"mamba", std::make_unique<mixers::Mamba2Mixer>(config_.mixer()), config_.ssm_in_multiplier,
                        config_.ssm_out_multiplier});
    branches.push_back({"self_attn", std::make_unique<mixers::AttentionMixer>(attention_config(config_)),
                        config_.attention_in_multiplier, config_.attention_out_multiplier});
    add_block({"", std::make_unique<ParallelMixer>(std::move(branches))},
              {"feed_forward", std::make_unique<ffn::DenseFfn>(ffn_config(config_))});
  }
}

bool FalconH1Model::ignorable(const std::string& tensor) const {
  return PreNormModel::ignorable(tensor) || tensor.ends_with("rotary_emb.inv_freq");
}

void register_falcon_h1(nn::Registry& r) {
  r.models.add("falcon_h1", [](const Json& config, const TensorFolder*) -> std::unique_ptr<Model> {
    return std::make_unique<FalconH1Model>(FalconH1Config::from_hf(config));
  });
}

}  // namespace quern::models
