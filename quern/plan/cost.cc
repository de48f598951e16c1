#include "quern/plan/cost.h"

#include <algorithm>
#include <cmath>

namespace quern::plan {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;
constexpr double kRoom = 0.92;  // of the memory: the rest is for buffers, the data and the system
constexpr int kNewtonSchulzSteps = 5;
constexpr double kHidden = 2.0 / 3;  // the backward pass's share of a step's products

double state_bytes(const ModelShape& s, const Machine& m) {  // Muon keeps one number a weight, AdamW two
  const auto all = static_cast<double>(parameters(s)), matrices = static_cast<double>(matrix_parameters(s));
  return m.master_bytes * all + 4 * matrices + 8 * (all - matrices);
}

double newton_schulz_flops(const ModelShape& s) {
  double flops = 0;
  for (const Product& p : products(s)) {
    if (p.embedding) continue;
    const auto a = static_cast<double>(std::min(p.n, p.k)), b = static_cast<double>(std::max(p.n, p.k));
    flops += static_cast<double>(p.stored) * kNewtonSchulzSteps * (3 * a * a * b + a * a * a);  // symmetric products
  }
  return flops;
}

// Reduce-scatter of the gradients and all-gather of the weights: inside the nodes first, between them for a share.
double communication(const ModelShape& s, const Machine& m) {
  if (m.ranks() == 1) return 0;
  const double bytes = static_cast<double>(parameters(s)) * (m.gradient_bytes + m.weight_bytes),
               inside = static_cast<double>(m.devices), nodes = static_cast<double>(m.nodes);
  double t = 0;
  if (m.devices > 1) t += bytes * (inside - 1) / inside / (m.link_gbs * 1e9) + 2e-6 * m.link_us;
  if (m.nodes > 1) t += bytes / inside * (nodes - 1) / nodes / (m.network_gbs * 1e9) + 2e-6 * m.network_us;
  return t;
}

}  // namespace

Memory memory(const ModelShape& s, const Machine& m, const Batch& b) {
  const auto all = static_cast<double>(parameters(s)), ranks = static_cast<double>(m.ranks());
  return {.weights = m.weight_bytes * all,
          .gradients = m.gradient_bytes * all,
          .optimizer = state_bytes(s, m) / ranks,
          .activations = activation_bytes(s) * m.activation_scale * static_cast<double>(b.micro * b.context)};
}

int64_t largest_micro(const ModelShape& s, const Machine& m, const Batch& b) {
  Batch one = b;
  one.micro = 1;
  const Memory least = memory(s, m, one);
  const double room = kRoom * m.memory_gib * kGib - (least.total() - least.activations);
  return std::max<int64_t>(0, static_cast<int64_t>(room / std::max(least.activations, 1.0)));
}

StepTime step_time(const ModelShape& s, const Machine& m, const Batch& b) {
  const double tokens = static_cast<double>(b.tokens()) / static_cast<double>(m.ranks()),
               rate = m.product_tflops * 1e12;
  StepTime t{.achieved = m.achieved};
  t.products = 3 * matmul_flops(s) * tokens / rate;
  t.attention = 3.5 * attention_flops(s, b.context) * tokens / rate;  // its backward pass makes the scores again
  t.other = elements(s) * tokens * m.element_bytes / (m.memory_gbs * 1e9);
  const double ranks = static_cast<double>(m.ranks()), all = static_cast<double>(parameters(s));
  t.optimizer = newton_schulz_flops(s) / ranks / rate +
                (2 * state_bytes(s, m) + (m.gradient_bytes + m.weight_bytes) * all) / ranks / (m.memory_gbs * 1e9);
  t.communication = communication(s, m);
  t.exposed = std::max(0.0, t.communication - kHidden * (t.products + t.attention + t.other));
  const Loading l = loading(m, b, 1);
  t.loading = std::max(0.0, l.min_step_s - t.total());  // read ahead: what a step does not hide
  return t;
}

double bucket_bytes(const Machine& m) {
  const double gbs = m.nodes > 1     ? m.network_gbs
                     : m.devices > 1 ? m.link_gbs
                                     : 0,
               us = m.nodes > 1 ? m.network_us : m.link_us;
  return gbs * 1e9 * us * 1e-6 * 0.95 / 0.05;  // size / (latency + size / bandwidth) = 0.95 of the bandwidth
}

Loading loading(const Machine& m, const Batch& b, double step_s, double bytes_per_token) {
  constexpr double kPage = 4096;
  Loading l{.bytes = static_cast<double>(b.tokens()) * bytes_per_token};
  l.pages = l.bytes / kPage;
  l.iops = l.pages / step_s;
  if (m.storage_iops > 0) l.min_step_s = l.pages / m.storage_iops;
  if (m.storage_gbs > 0) l.min_step_s = std::max(l.min_step_s, l.bytes / (m.storage_gbs * 1e9));
  return l;
}

Checkpoint checkpoint(const ModelShape& s, const Machine& m) {
  Checkpoint c;
  c.bytes = m.weight_bytes * static_cast<double>(parameters(s)) + state_bytes(s, m);
  if (m.storage_gbs <= 0) return c;
  c.save_s = c.bytes / (m.storage_gbs * 1e9);
  if (m.mtbf_hours <= 0) return c;
  c.mtbf_s = m.mtbf_hours * 3600 / static_cast<double>(m.ranks());
  c.every_s = std::sqrt(2 * c.save_s * c.mtbf_s);
  c.lost_share = c.save_s / c.every_s + c.every_s / 2 / c.mtbf_s;
  return c;
}

}  // namespace quern::plan
