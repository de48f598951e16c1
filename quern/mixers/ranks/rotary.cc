#include "quern/mixers/ranks/rotary.h"

#include <algorithm>
#include <cmath>

#include "quern/mixers/ranks/context_parallel.h"

namespace quern::mixers {
namespace {

// Length of the document that a segment is of, or is part of.
int64_t document_length(const Batch& batch, int64_t segment) {
  if (const ContextParallel* context = batch.placement.context_parallel())
    return context->document_length(context->segments()[static_cast<size_t>(segment)]);
  return batch.offsets[static_cast<size_t>(segment) + 1] - batch.offsets[static_cast<size_t>(segment)];
}

}  // namespace

std::vector<double> RopeConfig::stretch(int64_t rotary_dims, const Batch& batch) const {
  if (!dynamic) return {};
  QUERN_CHECK(rotary_dims > 2 && dynamic->length > 0);
  std::vector<double> rows(batch.positions.size());
  const bool one_pass = batch.states.empty() && !batch.placement.prompt_shards();
  for (int64_t s = 0; s < batch.segments(); ++s) {
    const int64_t whole = one_pass ? document_length(batch, s) : 0;
    for (int32_t t = batch.offsets[static_cast<size_t>(s)]; t < batch.offsets[static_cast<size_t>(s) + 1]; ++t) {
      const int64_t n = one_pass ? whole : batch.positions[static_cast<size_t>(t)] + 1;
      const double length = static_cast<double>(dynamic->length);
      const double a = 1 + dynamic->factor * (std::max(static_cast<double>(n), length) / length - 1);
      rows[static_cast<size_t>(t)] = std::pow(a, -2 / static_cast<double>(rotary_dims - 2));
    }
  }
  return rows;
}

}  // namespace quern::mixers
