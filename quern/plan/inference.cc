#include "quern/plan/inference.h"

#include <algorithm>
#include <set>

#include "quern/mixers/state_totals.h"
#include "quern/models/active_share.h"
#include "quern/models/context_length.h"

namespace quern::plan {
namespace {

// Shares of the measured limits that whole models reach: quern bench model, three families in three formats
// (docs/log/2026-11-25-doctor.md).
constexpr double kDecodeShare = 0.85, kPrefillShare = 0.65;
constexpr double kLayerSeconds = 80e-6;  // of a layer's decode beside its reads: small operations, threads that meet
constexpr double kProcess = 256.0 * (1 << 20);  // code, tokenizer, scratch of a step
constexpr double kScratch = 1.05;               // of the weights: padding of rows and blocks

bool is_head(const std::string& name) {
  return name.find("embed_tokens") != name.npos || name.find("embeddings.weight") != name.npos ||
         name.find("lm_head") != name.npos;
}

// Weights of a shared block are met once for each of its invocations.
double times_met(const std::string& name, double invocations) {
  const bool shared = name.find(".shared_transf") != name.npos && name.find("adapter") == name.npos;
  return shared ? invocations : 1;
}

// Invocations of each shared block: attention sites over blocks.
double shared_invocations(models::Model& model, const std::vector<mixers::StateSite>& sites) {
  std::set<std::string> blocks;
  model.visit("", [&](const std::string& name, grad::Parameter&) {
    if (const size_t at = name.find(".shared_transf"); at != name.npos) blocks.insert(name.substr(0, at));
  });
  if (blocks.empty()) return 1;
  const auto attention = std::ranges::count_if(sites, [](const mixers::StateSite& s) {
    return std::ranges::any_of(s.spec.parts, [](const mixers::StatePart& p) { return p.per_token; });
  });
  return static_cast<double>(attention) / static_cast<double>(blocks.size());
}

}  // namespace

InferenceSize inference_size(models::Model& model, DType kv) {
  const std::vector<mixers::StateSite> sites = model.sites(kv);
  const mixers::StateTotals totals = mixers::state_totals(sites);
  const double invocations = shared_invocations(model, sites);
  InferenceSize s{.row_bytes = totals.row_bytes,
                  .fixed_bytes = totals.fixed_bytes,
                  .max_positions = models::context_length(model),
                  .layers = static_cast<int64_t>(sites.size())};
  const models::ActiveShare active(model);
  model.visit("", [&](const std::string& name, grad::Parameter& p) {
    const int64_t n = element_count(p.shape);
    if (is_head(name)) {
      s.head += n, s.active_head = std::max(s.active_head, n);
      return;
    }
    if (p.shape.size() < 2 || name.find("conv") != name.npos) {
      s.rest += n;
      return;
    }
    s.body += n;
    s.active_body += static_cast<double>(n) * active.of(p) * times_met(name, invocations);
  });
  return s;
}

const std::vector<FormatCost>& format_costs() {
  // q8: one scale per row of the matrix; q4: an f32 scale for 32 weights, and the head in q8.
  static const std::vector<FormatCost> costs = {{"bf16", 2, 2}, {"q8", 1, 1}, {"q4", 0.625, 1}};
  return costs;
}

InferenceForecast forecast(const InferenceSize& size, const FormatCost& format, const MachineRates& rates,
                           int64_t depth, double free_bytes) {
  const auto rest = 4.0 * static_cast<double>(size.rest), head = static_cast<double>(size.head),
             active_head = static_cast<double>(size.active_head);
  InferenceForecast f{
      .format = format.name,
      .weight_bytes = format.body_bytes * static_cast<double>(size.body) + format.head_bytes * head + rest};
  const double read = format.body_bytes * size.active_body + format.head_bytes * active_head + rest +
                      static_cast<double>(size.row_bytes * depth + size.fixed_bytes);
  if (rates.read_gbs > 0)
    f.decode_tokens_per_s =
        1 / (read / (kDecodeShare * rates.read_gbs * 1e9) + kLayerSeconds * static_cast<double>(size.layers));
  if (rates.bf16_gflops > 0)
    f.prefill_tokens_per_s = kPrefillShare * rates.bf16_gflops * 1e9 / (2 * size.active_body);
  const double room = free_bytes - kScratch * f.weight_bytes - kProcess - static_cast<double>(size.fixed_bytes);
  if (room > 0)
    f.context = size.row_bytes > 0
                    ? std::min(size.max_positions, static_cast<int64_t>(room / static_cast<double>(size.row_bytes)))
                    : size.max_positions;
  return f;
}

}  // namespace quern::plan
