#include "quern/gguf/gguf_mamba2.h"

#include <cmath>

#include "quern/base/error.h"

namespace quern::gguf {
namespace {

int64_t size_of(const Shape& s) {
  int64_t n = 1;
  for (int64_t d : s) n *= d;
  return n;
}

}  // namespace

GgufSsm ssm_sizes(GgufMetadata& m) {
  auto at_least_1 = [&](const char* key) {
    const int64_t v = m.whole(key);
    if (v < 1) fail("{}: {}, expected at least 1", m.where_own(key), v);
    return v;
  };
  GgufSsm s{at_least_1("ssm.conv_kernel"), at_least_1("ssm.inner_size"), at_least_1("ssm.state_size"),
            at_least_1("ssm.time_step_rank"), at_least_1("ssm.group_count")};
  if (s.inner % s.heads)
    fail("{}: {} does not divide ssm.inner_size {}", m.where_own("ssm.time_step_rank"), s.heads, s.inner);
  return s;
}

void mamba2_tensors(GgufTensors& t, int64_t layer, const std::string& hf) {
  const std::string p = fmt::format("blk.{}.", layer);
  auto flat = [](const Tensor& x) { return x.reshape({x.size()}); };
  auto add_flat = [&](const char* ours, const char* theirs, const GgufTensors::Change& change) {
    t.add(hf + ours, p + theirs, {size_of(t.shape(p + theirs))}, change);
  };
  for (const auto& [theirs, ours] : {std::pair{"ssm_in.", "in_proj."}, {"ssm_out.", "out_proj."}})
    for (const char* kind : {"weight", "bias"})
      if (t.has(p + theirs + kind)) t.add(hf + ours + kind, p + theirs + kind);
  const Shape& conv = matrix_shape(t.file(), p + "ssm_conv1d.weight");
  const Shape taps = {conv[0], 1, conv[1]};
  t.add(hf + "conv1d.weight", p + "ssm_conv1d.weight", taps, [taps](const Tensor& x) { return x.reshape(taps); });
  if (t.has(p + "ssm_conv1d.bias")) t.add(hf + "conv1d.bias", p + "ssm_conv1d.bias");
  t.add(hf + "dt_bias", p + "ssm_dt.bias");
  add_flat("D", "ssm_d", flat);
  add_flat("A_log", "ssm_a", [path = t.file().path().string(), name = p + "ssm_a"](const Tensor& a) {
    Tensor log = a.to(DType::f32).reshape({a.size()}).clone();
    for (float& x : log.span<float>()) {
      if (!(x < 0)) fail("{}, tensor '{}': {} is not negative", path, name, static_cast<double>(x));
      x = std::log(-x);
    }
    return log;
  });
  if (t.has(p + "ssm_norm.weight")) add_flat("norm.weight", "ssm_norm.weight", flat);
}

}  // namespace quern::gguf
