#include "quern/models/pre_norm_model.h"

#include <fmt/format.h>

#include <utility>

#include "quern/nn/ops.h"

namespace quern::models {

PreNormModel::PreNormModel(const PreNormShape& shape)
    : shape_(shape),
      head_(shape.vocab_size, shape.width, OutputMatrix{shape.tied}),
      norm_({shape.width}, grad::Init::constant(1)) {}

void PreNormModel::add_block(std::unique_ptr<mixers::Mixer> mixer, const ffn::DenseConfig& ffn) {
  blocks_.push_back(std::make_unique<Block>(shape_.width, std::move(mixer), ffn));
}

std::vector<mixers::StateSite> PreNormModel::sites(DType kv) const {
  std::vector<mixers::StateSite> s;
  for (size_t k = 0; k < blocks_.size(); ++k)
    s.push_back({static_cast<int>(k), 0, blocks_[k]->mixer->state_spec(kv)});
  return s;
}

void PreNormModel::visit(const std::string& prefix, const nn::ParameterVisitor& v) {
  head_.visit(prefix, v);
  for (size_t k = 0; k < blocks_.size(); ++k) {
    Block& b = *blocks_[k];
    const std::string p = fmt::format("{}model.layers.{}.", prefix, k);
    v(p + "input_layernorm.weight", b.norm1);
    b.mixer->visit(fmt::format("{}{}.", p, shape_.mixer), v);
    v(fmt::format("{}{}.weight", p, shape_.mixer_norm), b.norm2);
    b.ffn.visit(p + "mlp.", v);
  }
  v(prefix + "model.norm.weight", norm_);
}

void PreNormModel::pack(const nn::WeightPrepacking& t) {
  head_.pack(t);
  for (auto& b : blocks_) {
    b->mixer->pack(t);
    b->ffn.pack(t);
  }
}

grad::Var PreNormModel::hidden(grad::Tape& tape, std::span<const int32_t> ids, const mixers::Batch& batch) {
  grad::Var r_TD = head_.embed(tape, ids);
  auto shared = mixers::batch_for(tape, batch);
  for (size_t k = 0; k < blocks_.size(); ++k)
    r_TD = tape.layer({r_TD},
                      [this, k, shared](grad::Tape& t, const std::vector<grad::Var>& in) -> std::vector<grad::Var> {
                        Block& b = *blocks_[k];
                        grad::Var h_TD = nn::rms_norm(t, in[0], b.norm1, shape_.eps);
                        grad::Var r_TD = nn::add(t, in[0], b.mixer->forward(t, h_TD, *shared, static_cast<int>(k)));
                        h_TD = nn::rms_norm(t, r_TD, b.norm2, shape_.eps);
                        ffn::DepthCarry none;
                        return {nn::add(t, r_TD, b.ffn.forward(t, h_TD, none))};
                      })[0];
  batch.advance_states();
  return nn::rms_norm(tape, r_TD, norm_, shape_.eps);
}

}  // namespace quern::models
