#include "quern/reason/eval_statistics.h"

#include <algorithm>
#include <cmath>

#include "quern/base/error.h"

namespace quern::reason {

double pass_at_k(int64_t n, int64_t c, int64_t k) {
  if (c < 0 || c > n || k < 1 || k > n) fail("pass@{} of {} right among {}: that cannot be", k, c, n);
  if (n - c < k) return 1;
  double none = 1;
  for (int64_t i = n - c + 1; i <= n; ++i) none *= 1 - static_cast<double>(k) / static_cast<double>(i);
  return 1 - none;
}

std::vector<int64_t> reported_k(int64_t samples) {
  std::vector<int64_t> out;
  for (int64_t k = 1; k < samples; k *= 2) out.push_back(k);
  out.push_back(samples);
  return out;
}

double PairedCounts::mcnemar() const {
  const auto n = static_cast<double>(only_first + only_second);
  double tail = 0;
  for (int64_t i = 0; i <= std::min(only_first, only_second); ++i) {
    const auto x = static_cast<double>(i);
    tail += std::exp(std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1) - n * std::log(2.0));
  }
  return std::min(1.0, 2 * tail);
}

Json PairedCounts::json() const {
  Json j = Json::object();
  j.set("both", both), j.set("only_first", only_first), j.set("only_second", only_second), j.set("neither", neither);
  j.set("mcnemar_p", mcnemar());
  return j;
}

std::string PairedCounts::text() const {
  return fmt::format(
      "{} solved by both, {} only by the earlier, {} only by this one, {} by neither; McNemar's exact test: p = "
      "{:.3g}",
      both, only_first, only_second, neither, mcnemar());
}

}  // namespace quern::reason
