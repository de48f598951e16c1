#include "quern/models/pre_norm_model.h"

#include <fmt/format.h>

#include <utility>

#include "quern/nn/ops.h"

namespace quern::models {

PreNormModel::PreNormModel(const PreNormShape& shape)
    : shape_(shape),
      head_(shape.vocab_size, shape.width, OutputMatrix{shape.tied},
            fmt::format("{}.{}.weight", shape.root, shape.embedding)),
      norm_({shape.width}, grad::Init::constant(1)) {}

void PreNormModel::add_block(Part<mixers::Mixer> mixer, Part<ffn::Ffn> ffn) {
  auto b = std::make_unique<Block>();
  if (mixer.layer) b->norm1 = grad::Parameter({shape_.width}, grad::Init::constant(1)), b->site = n_sites_++;
  if (ffn.layer) {
    b->norm2 = grad::Parameter({shape_.width}, grad::Init::constant(1));
    b->slots = n_slots_;
    n_slots_ += ffn.layer->routed();
  }
  b->mixer = std::move(mixer), b->ffn = std::move(ffn);
  blocks_.push_back(std::move(b));
}

std::vector<mixers::StateSite> PreNormModel::sites(DType kv) const {
  std::vector<mixers::StateSite> s;
  for (size_t k = 0; k < blocks_.size(); ++k)
    if (const Block& b = *blocks_[k]; b.mixer.layer)
      s.push_back({static_cast<int>(k), 0, b.mixer.layer->state_spec(kv)});
  return s;
}

void PreNormModel::visit(const std::string& prefix, const nn::ParameterVisitor& v) {
  head_.visit(prefix, v);
  for (size_t k = 0; k < blocks_.size(); ++k) {
    Block& b = *blocks_[k];
    const std::string p = fmt::format("{}{}.layers.{}.", prefix, shape_.root, k);
    if (b.mixer.layer) {
      v(fmt::format("{}{}.weight", p, shape_.mixer_norm), b.norm1);
      b.mixer.layer->visit(b.mixer.name.empty() ? p : fmt::format("{}{}.", p, b.mixer.name), v);
    }
    if (b.ffn.layer) {
      v(fmt::format("{}{}.weight", p, shape_.ffn_norm), b.norm2);
      b.ffn.layer->visit(b.ffn.name.empty() ? p : fmt::format("{}{}.", p, b.ffn.name), v);
    }
  }
  v(fmt::format("{}{}.{}.weight", prefix, shape_.root, shape_.final_norm), norm_);
}

void PreNormModel::pack(const nn::WeightPrepacking& t) {
  head_.pack(t);
  for (auto& b : blocks_) {
    if (b->mixer.layer) b->mixer.layer->pack(t);
    if (b->ffn.layer) b->ffn.layer->pack(t);
  }
}

bool PreNormModel::share_experts(comm::Communicator* group) {
  for (auto& b : blocks_)
    if (b->ffn.layer) b->ffn.layer->share(group);
  return n_slots_ > 0;
}

grad::Var PreNormModel::scaled(grad::Tape& tape, const grad::Var& x, double factor) {
  return factor == 1 ? x : nn::scale(tape, x, factor);
}

grad::Var PreNormModel::forward(grad::Tape& t, Block& b, const grad::Var& in_TD, const mixers::Batch& batch) {
  grad::Var r_TD = in_TD;
  auto add = [&](const grad::Var& y_TD) { r_TD = nn::add(t, r_TD, scaled(t, y_TD, shape_.residual_scale)); };
  if (b.mixer.layer) add(b.mixer.layer->forward(t, nn::rms_norm(t, r_TD, b.norm1, shape_.eps), batch, b.site));
  if (b.ffn.layer) {
    ffn::DepthCarry carry{.router_state = {}, .routes = {batch.record_routes, batch.replay_routes, b.slots}};
    add(b.ffn.layer->forward(t, nn::rms_norm(t, r_TD, b.norm2, shape_.eps), carry));
  }
  return r_TD;
}

grad::Var PreNormModel::hidden(grad::Tape& tape, std::span<const int32_t> ids, const mixers::Batch& batch) {
  grad::Var r_TD = scaled(tape, head_.embed(tape, ids), shape_.embedding_scale);
  auto shared = mixers::batch_for(tape, batch);
  if (batch.record_routes && n_slots_ > 0) batch.record_routes->start(batch.tokens(), n_slots_);
  for (auto& block : blocks_)
    r_TD = tape.layer(
        {r_TD},
        [this, b = block.get(), shared](grad::Tape& t, const std::vector<grad::Var>& in) -> std::vector<grad::Var> {
          return {forward(t, *b, in[0], *shared)};
        })[0];
  batch.advance_states();
  return nn::rms_norm(tape, r_TD, norm_, shape_.eps);
}

}  // namespace quern::models
