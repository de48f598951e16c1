#include "quern/models/zamba/zamba_stack.h"

#include <cstring>

#include "quern/base/error.h"
#include "quern/nn/ops.h"

namespace quern::models {
namespace {

bool equal(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype()) return equal(a.to(DType::f32), b.to(DType::f32));
  Tensor x = a.contiguous_copy_if_needed(), y = b.contiguous_copy_if_needed();
  return std::memcmp(x.raw(), y.raw(), static_cast<size_t>(x.bytes())) == 0;
}

}  // namespace

std::vector<int64_t> ZambaStackConfig::hybrid_layers() const {
  std::vector<int64_t> ids;
  for (size_t l = 0; l < hybrid.size(); ++l)
    if (hybrid[l]) ids.push_back(static_cast<int64_t>(l));
  return ids;
}

std::vector<bool> zamba_hybrid_layers(const std::vector<std::string>& names) {
  std::vector<bool> hybrid;
  for (const std::string& n : names) {
    const bool plain = n == "mamba" || n == "linear_attention" || n == "m";
    if (!plain && n != "hybrid" && n != "g")
      fail("config.json, layers_block_type: '{}', expected mamba or hybrid", n);
    hybrid.push_back(!plain);
  }
  return hybrid;
}

std::vector<std::string> zamba_layer_names(const std::vector<bool>& hybrid) {
  std::vector<std::string> names;
  for (bool h : hybrid) names.push_back(h ? "hybrid" : "mamba");
  return names;
}

void zamba_check_size(const char* key, int64_t v, int64_t maximum) {
  if (v < 1 || v > maximum) fail("config.json, {}: {} is outside 1 … {}", key, v, maximum);
}

ZambaStack::ZambaStack(ZambaStackConfig config, const MakeMixer& make)
    : stack_(std::move(config)),
      hybrid_layers_(stack_.hybrid_layers()),
      head_(stack_.vocab, stack_.width, OutputMatrix{stack_.tied}),
      norm_({stack_.width}, grad::Init::constant(1)) {
  for (bool hybrid : stack_.hybrid) {
    layers_.push_back({grad::Parameter({stack_.width}, grad::Init::constant(1)), make(), -1});
    if (!hybrid) continue;
    layers_.back().invocation = static_cast<int>(invocations_.size());
    invocations_.push_back(std::make_unique<Invocation>(stack_.block));
  }
  // A block that no invocation reaches does not exist.
  for (int64_t k = 0; k < std::min<int64_t>(stack_.n_block, static_cast<int64_t>(invocations_.size())); ++k)
    blocks_.push_back(std::make_unique<SharedBlock>(stack_.block));
}

std::vector<mixers::StateSite> ZambaStack::sites(DType kv) const {
  std::vector<mixers::StateSite> s;
  for (size_t l = 0; l < layers_.size(); ++l) s.push_back({static_cast<int>(l), 0, layers_[l].mixer->state_spec(kv)});
  for (size_t j = 0; j < invocations_.size(); ++j)
    s.push_back({static_cast<int>(hybrid_layers_[j]), static_cast<int>(j), blocks_[0]->state_spec(kv)});
  return s;
}

std::string ZambaStack::block_prefix(int64_t layer) const {
  return fmt::format("model.layers.{}.{}.", layer, stack_.block_name);
}

void ZambaStack::visit(const std::string& prefix, const nn::ParameterVisitor& v) {
  head_.visit(prefix, v);
  for (size_t l = 0; l < layers_.size(); ++l) {
    Layer& layer = layers_[l];
    const std::string p = fmt::format("{}model.layers.{}.", prefix, l);
    const std::string own = layer.invocation < 0 ? p : p + "mamba_decoder.";
    if (const size_t k = static_cast<size_t>(layer.invocation); layer.invocation >= 0 && k < blocks_.size()) {
      const std::string shared = prefix + block_prefix(static_cast<int64_t>(l));
      blocks_[k]->visit(shared, v);
      for (size_t j = k; j < invocations_.size(); j += blocks_.size()) invocations_[j]->visit_adapters(shared, j, v);
    }
    if (layer.invocation >= 0) invocations_[static_cast<size_t>(layer.invocation)]->visit(p, v);
    v(own + "input_layernorm.weight", layer.norm);
    layer.mixer->visit(own + "mamba.", v);
  }
  v(prefix + "model.final_layernorm.weight", norm_);
}

void ZambaStack::pack(const nn::WeightPrepacking& t) {
  head_.pack(t);
  for (Layer& l : layers_) l.mixer->pack(t);
  for (auto& b : blocks_) b->pack(t);
  for (size_t j = 0; j < invocations_.size(); ++j) {
    std::vector<std::string> prefixes = {block_prefix(hybrid_layers_[j])};
    for (size_t i = j % blocks_.size(); i < invocations_.size(); i += blocks_.size())
      prefixes.push_back(block_prefix(hybrid_layers_[i]));
    invocations_[j]->pack(t);
    invocations_[j]->find_paths(t, j, prefixes);
  }
}

grad::Var ZambaStack::hidden(grad::Tape& tape, std::span<const int32_t> ids, const mixers::Batch& batch) {
  const grad::Var e0_TD = head_.embed(tape, ids);
  grad::Var h_TD = e0_TD;
  auto shared = mixers::batch_for(tape, batch);
  for (size_t l = 0; l < layers_.size(); ++l)
    h_TD = tape.layer(
        {h_TD, e0_TD}, [this, l, shared](grad::Tape& t, const std::vector<grad::Var>& in) -> std::vector<grad::Var> {
          Layer& layer = layers_[l];
          grad::Var in_TD = in[0];
          if (layer.invocation >= 0) {
            const size_t j = static_cast<size_t>(layer.invocation);
            const int site = static_cast<int>(layers_.size() + j);
            in_TD = nn::add(t, in[0],
                            blocks_[j % blocks_.size()]->forward(t, in[0], in[1], *invocations_[j], *shared, site));
          }
          grad::Var x_TD = nn::rms_norm(t, in_TD, layer.norm, stack_.eps);
          return {nn::add(t, in[0], layer.mixer->forward(t, x_TD, *shared, static_cast<int>(l)))};
        })[0];
  batch.advance_states();
  return nn::rms_norm(tape, h_TD, norm_, stack_.eps);
}

std::vector<std::string> ZambaStack::names_at_layers(const std::string& name) const {
  std::vector<std::string> names;
  for (size_t k = 0; k < blocks_.size(); ++k) {
    const std::string own = block_prefix(hybrid_layers_[k]);
    if (!name.starts_with(own)) continue;
    for (size_t j = k; j < hybrid_layers_.size(); j += blocks_.size())
      // An invocation's adapters lie inside the block, in lists by the invocation's number.
      if (name.find("_adapter_list.") == name.npos || name.find(fmt::format("_adapter_list.{}.", j)) != name.npos)
        names.push_back(block_prefix(hybrid_layers_[j]) + name.substr(own.size()));
  }
  return names;
}

Tensor ZambaStack::read(const TensorFolder& folder, const std::string& name, const grad::Parameter& p) const {
  for (size_t k = 0; k < blocks_.size(); ++k) {
    const std::string own = block_prefix(hybrid_layers_[k]);
    if (!name.starts_with(own)) continue;
    Tensor first;
    std::string first_name;
    for (size_t j = k; j < hybrid_layers_.size(); j += blocks_.size()) {
      const std::string at = block_prefix(hybrid_layers_[j]) + name.substr(own.size());
      if (!folder.contains(at)) continue;
      Tensor t = read_checked(folder, at, p.shape);
      if (!first.defined())
        first = t, first_name = at;
      else if (!equal(first, t))
        fail("tensor '{}' differs from '{}': both belong to one shared block and must be equal", at, first_name);
    }
    if (first.defined()) return first;
  }
  if (!folder.contains(name))
    if (const std::string other = other_name(name); !other.empty() && folder.contains(other))
      return read_checked(folder, other, p.shape);
  return read_checked(folder, name, p.shape);
}

bool ZambaStack::ignorable(const std::string& tensor) const {
  return (stack_.tied && tensor == "lm_head.weight") || tensor.ends_with("rotary_emb.inv_freq");
}

}  // namespace quern::models
