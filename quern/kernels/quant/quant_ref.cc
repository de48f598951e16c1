// Reference quantized multiplication: the layout is read element by element, sums in double.
#include "quern/kernels/quant/quant_ref.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "quern/base/bf16.h"
#include "quern/base/threads.h"

namespace quern::kernels {
namespace {

double weight(const QuantLayout& l, const uint8_t* blob, int64_t i, int64_t p) {
  float s;
  std::memcpy(&s, blob + l.scales_at() + 4 * i, 4);
  if (!l.four) return static_cast<double>(s) * static_cast<int8_t>(blob[l.at(i, p)]);
  int u = blob[l.at(i, p)] >> QuantLayout::shift(p) & 15;
  int64_t g = l.group_at(i, p);
  int z = l.asymmetric ? blob[g + QuantLayout::kPanel] : 8;
  return static_cast<double>(s) * static_cast<double>(QuantLayout::scale_of(blob[g], l.asymmetric)) * (u - z);
}

// What a row of x becomes before it meets the weights.
std::vector<double> rounded(const float* x, int64_t k, bool int8_rows) {
  std::vector<double> out(static_cast<size_t>(k));
  float maximum = 0;
  for (int64_t p = 0; p < k; ++p) maximum = std::max(maximum, std::fabs(x[p]));
  const float scale = maximum / 127, inverse = maximum > 0 ? 127 / maximum : 0;
  for (int64_t p = 0; p < k; ++p)
    out[static_cast<size_t>(p)] = int8_rows ? static_cast<double>(scale) * std::nearbyint(x[p] * inverse)
                                            : static_cast<double>(static_cast<float>(bf16(x[p])));
  return out;
}

}  // namespace

float quant_weight(const QuantLayout& l, const uint8_t* blob, int64_t i, int64_t p) {
  return static_cast<float>(weight(l, blob, i, p));
}

void quant_apply_ref(const QuantLayout& l, const uint8_t* blob, bool int8_rows, View<const float, 2> x,
                     View<const float, 1> bias, View<float, 2> y) {
  std::vector<std::vector<double>> rows;
  for (int64_t t = 0; t < x.shape[0]; ++t) rows.push_back(rounded(x.row(t), l.k, int8_rows));
  parallel_for(l.n, 16, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      std::vector<double> w(static_cast<size_t>(l.k));
      for (int64_t p = 0; p < l.k; ++p) w[static_cast<size_t>(p)] = weight(l, blob, j, p);
      for (int64_t t = 0; t < x.shape[0]; ++t) {
        double sum = bias ? static_cast<double>(bias(j)) : 0;
        for (size_t p = 0; p < w.size(); ++p) sum += rows[static_cast<size_t>(t)][p] * w[p];
        y(t, j) = static_cast<float>(sum);
      }
    }
  });
}

}  // namespace quern::kernels
