#include "quern/models/zamba/shared_block.h"

#include <cmath>

#include "quern/base/threads.h"
#include "quern/nn/ops.h"

namespace quern::models {
namespace {

std::vector<nn::Linear> qkv_parts(const SharedBlockConfig& c) {
  const int64_t A = 2 * c.width, kv = c.n_head_kv * c.head_dim();
  return {{A, A, nn::Bias::no}, {kv, A, nn::Bias::no}, {kv, A, nn::Bias::no}};
}

std::vector<nn::Linear> gate_up_parts(const SharedBlockConfig& c) {
  const nn::Bias bias{c.ffn_bias};
  if (c.fused_gate_up) return {{2 * c.ffn, c.width, bias}};
  return {{c.ffn, c.width, bias}, {c.ffn, c.width, bias}};
}

// a + b. Serving, a is a fresh buffer that nobody else reads: b is added in place, window or not.
grad::Var plus(grad::Tape& tape, const grad::Var& a, const grad::Var& b) {
  if (tape.recording() || a.dtype() != DType::f32) return nn::add(tape, a, b);
  View<float, 2> to = a.value.view<float, 2>();
  View<const float, 2> from = b.value.view<const float, 2>();
  constexpr int64_t kGrain = 16384;  // elements worth a thread
  parallel_for(to.shape[0], kGrain / to.shape[1] + 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      float* y = to.row(t);
      const float* x = from.row(t);
#pragma omp simd
      for (int64_t c = 0; c < to.shape[1]; ++c) y[c] += x[c];
    }
  });
  return a;
}

constexpr const char* kQkv[] = {"q", "k", "v"};

}  // namespace

Invocation::Invocation(const SharedBlockConfig& c) : linear(c.width, c.width, nn::Bias::no), c_(c) {
  const int64_t A = 2 * c.width, kv = c.n_head_kv * c.head_dim(), R = c.adapter_rank;
  if (c.attention_adapter) {
    qkv_down.emplace(std::vector<nn::Linear>(3, nn::Linear(R, A, nn::Bias::no)));
    for (int64_t n : {A, kv, kv}) qkv_up.emplace_back(n, R, nn::Bias::no);
  }
  if (R > 0) gate_up = Adapter{{R, c.width, nn::Bias::no}, {2 * c.ffn, R, nn::Bias::no}};
}

void Invocation::visit_adapters(const std::string& block_prefix, size_t number, const nn::ParameterVisitor& v) {
  for (size_t i = 0; i < qkv_up.size(); ++i) {
    std::string p = fmt::format("{}self_attn.linear_{}_adapter_list.{}.", block_prefix, kQkv[i], number);
    qkv_down->part(i).visit(p + "0", v);
    qkv_up[i].visit(p + "1", v);
  }
  if (!gate_up) return;
  std::string p = fmt::format("{}feed_forward.gate_up_proj_adapter_list.{}.", block_prefix, number);
  gate_up->down.visit(p + "0", v);
  gate_up->up.visit(p + "1", v);
}

void Invocation::pack(const nn::WeightPrepacking& all) {
  linear.pack(all);
  const nn::WeightPrepacking t = all.beside(nullptr);
  if (qkv_down) qkv_down->pack(t);
  for (nn::Linear& l : qkv_up) l.pack(t);
  if (gate_up) gate_up->down.pack(t), gate_up->up.pack(t);
}

void Invocation::find_paths(const nn::WeightPrepacking& t, size_t number,
                            const std::vector<std::string>& block_prefixes) {
  auto find = [&](const std::string& matrix, int64_t n, int64_t k) {
    std::vector<std::string> names;
    for (const std::string& prefix : block_prefixes) names.push_back(fmt::format("{}{}.weight", prefix, matrix));
    return t.shared_low_rank(names, n, k);
  };
  const int64_t A = 2 * c_.width, kv = c_.n_head_kv * c_.head_dim(), R = c_.adapter_rank;
  for (size_t i = 0; i < 3; ++i) {
    const int64_t n = i == 0 ? A : kv;
    qkv_path[i] = find(fmt::format("self_attn.{}_proj", kQkv[i]), n, A);
    if (!qkv_down) continue;
    const std::string list = fmt::format("self_attn.linear_{}_adapter_list.{}.", kQkv[i], number);
    qkv_down->part(i).low_rank = find(list + "0", R, A);
    qkv_up[i].low_rank = find(list + "1", n, R);
  }
  o_path = find("self_attn.o_proj", c_.width, A);
  down_path = find("feed_forward.down_proj", c_.width, c_.ffn);
  gate_up_path.clear();
  if (c_.fused_gate_up)
    gate_up_path = {find("feed_forward.gate_up_proj", 2 * c_.ffn, c_.width)};
  else
    for (const char* part : {"feed_forward.gate_proj", "feed_forward.up_proj"})
      gate_up_path.push_back(find(part, c_.ffn, c_.width));
  if (!gate_up) return;
  const std::string list = fmt::format("feed_forward.gate_up_proj_adapter_list.{}.", number);
  gate_up->down.low_rank = find(list + "0", R, c_.width);
  gate_up->up.low_rank = find(list + "1", 2 * c_.ffn, R);
}

SharedBlock::SharedBlock(SharedBlockConfig c)
    : c_(std::move(c)),
      norm_in_({2 * c_.width}, grad::Init::constant(1)),
      norm_ff_({c_.width}, grad::Init::constant(1)),
      qkv_(qkv_parts(c_)),
      o_(c_.width, 2 * c_.width, nn::Bias::no),
      gate_up_(gate_up_parts(c_)),
      down_(c_.width, c_.ffn, nn::Bias{c_.ffn_bias}) {
  mixers::check_heads("shared attention", c_.width, c_.n_head, c_.n_head_kv, c_.head_dim(), c_.rotary_dims);
}

void SharedBlock::visit(const std::string& prefix, const nn::ParameterVisitor& v) {
  v(prefix + "input_layernorm.weight", norm_in_);
  for (size_t i = 0; i < 3; ++i) qkv_.part(i).visit(fmt::format("{}self_attn.{}_proj", prefix, kQkv[i]), v);
  o_.visit(prefix + "self_attn.o_proj", v);
  v(prefix + "pre_ff_layernorm.weight", norm_ff_);
  const std::string ff = prefix + "feed_forward.";
  if (c_.fused_gate_up)
    gate_up_.part(0).visit(ff + "gate_up_proj", v);
  else
    gate_up_.part(0).visit(ff + "gate_proj", v), gate_up_.part(1).visit(ff + "up_proj", v);
  down_.visit(ff + "down_proj", v);
}

void SharedBlock::pack(const nn::WeightPrepacking& all) {
  const nn::WeightPrepacking t = all.beside(nullptr);  // paths belong to the invocations
  qkv_.pack(t);
  o_.pack(t);
  gate_up_.pack(t);
  down_.pack(t);
  bf16_ = t.rows() == DType::bf16;
}

grad::Var SharedBlock::attention(grad::Tape& tape, const grad::Var& u, Invocation& own, const mixers::Batch& batch,
                                 int site) {
  const int64_t T = u.dim(0), d = c_.head_dim();
  std::vector<grad::Var> qkv = qkv_.forward(tape, u, {1, 1, 1});
  for (size_t i = 0; i < 3; ++i) qkv[i] = own.qkv_path[i].beside(tape, qkv[i], u);
  if (own.qkv_down) {
    std::vector<grad::Var> low = own.qkv_down->forward(tape, u, {1, 1, 1});
    for (size_t i = 0; i < 3; ++i) qkv[i] = plus(tape, qkv[i], nn::linear(tape, low[i], own.qkv_up[i]));
  }
  const std::vector<double> stretch = c_.rope.stretch(c_.rotary_dims, batch);
  const kernels::RopeAngles angles{
      .positions = batch.positions, .inv_freq = c_.rope.inv_freq, .magnitude = c_.rope.magnitude, .stretch = stretch};
  grad::Var q_THd = nn::rope(tape, nn::reshape(tape, qkv[0], {T, c_.n_head, d}), angles);
  grad::Var k_THd = nn::rope(tape, nn::reshape(tape, qkv[1], {T, c_.n_head_kv, d}), angles);
  grad::Var v_THd = nn::reshape(tape, qkv[2], {T, c_.n_head_kv, d});
  mixers::AttendOptions o{.scale = 1 / std::sqrt(static_cast<double>(d) / 2), .bf16_math = bf16_};
  grad::Var out =
      nn::reshape(tape, mixers::attend(tape, {.q_THd = q_THd, .k_THd = k_THd, .v_THd = v_THd}, batch, site, o),
                  {T, c_.n_head * d});
  return own.o_path.beside(tape, nn::linear(tape, out, o_), out);
}

grad::Var SharedBlock::forward(grad::Tape& tape, const grad::Var& h_TH, const grad::Var& e0_TH, Invocation& own,
                               const mixers::Batch& batch, int site) {
  grad::Var u = nn::rms_norm(tape, nn::concat_columns(tape, {h_TH, e0_TH}), norm_in_, c_.eps);
  grad::Var m = nn::rms_norm(tape, attention(tape, u, own, batch, site), norm_ff_, c_.eps);
  grad::Var gate_up = gate_up_.forward(tape, m, {c_.fused_gate_up ? 1 : 2})[0];
  for (int64_t at = 0; const nn::LowRank& path : own.gate_up_path) {
    gate_up = path.beside(tape, gate_up, m, at);
    at += gate_up.dim(1) / static_cast<int64_t>(own.gate_up_path.size());
  }
  if (own.gate_up)
    gate_up = plus(tape, gate_up, nn::linear(tape, nn::linear(tape, m, own.gate_up->down), own.gate_up->up));
  grad::Var f = nn::gated(tape, c_.act, gate_up);
  return nn::linear(tape, own.down_path.beside(tape, nn::linear(tape, f, down_), f), own.linear);
}

}  // namespace quern::models
