#include "quern/corpus/stages/band_choice.h"

#include <fmt/format.h>

#include "quern/base/error.h"
#include "quern/base/setting_text.h"
#include "quern/corpus/dedup/dedup.h"

namespace quern::corpus {
namespace {

int64_t checked_count(int64_t n) {
  if (const std::string fault = bounds_fault(Bounds::between(1, kMaxBands), static_cast<double>(n)); !fault.empty())
    fail("{}", fault);
  return n;
}

}  // namespace

void parse_setting(const std::string& text, BandCount& out) {
  if (text == "auto") {
    out.count = 0;
    return;
  }
  int64_t n = 0;
  try {
    quern::parse_setting(text, n);
  } catch (const Error&) {
    fail("'{}' is not a whole number or auto", text);
  }
  out.count = checked_count(n);
}

std::string setting_text(const BandCount& v) { return v.chosen() ? "auto" : fmt::format("{}", v.count); }

void read_value(const Json& j, BandCount& out, const std::string& what) {
  try {
    if (j.is_string())
      parse_setting(j.as_string(), out);
    else
      out.count = checked_count(j.as_int(what));
  } catch (const Error& e) {
    const std::string words = e.what();
    fail("{}{}", words.starts_with(what) ? "" : what + ": ", words);
  }
}

Json write_value(const BandCount& v) { return v.chosen() ? Json("auto") : Json(v.count); }

std::string band_advice(double threshold, BandShape shape, int rows, LowPairs low) {
  if (!(threshold > 0 && threshold < 1)) return "";
  const BandShape best = best_bands(threshold, rows);
  const BandAreas own = band_areas(threshold, shape), least = band_areas(threshold, best);
  const bool misses = own.false_negative > 2 * least.false_negative;
  const bool links = low == LowPairs::kept && own.false_positive > 2 * least.false_positive;
  if (!misses && !links) return "";
  const double at = misses ? threshold : threshold / 2;
  return fmt::format(
      "{} LSH bands of {} rows are made for another threshold than {}: they make a pair of similarity {:.2f} a "
      "candidate with probability {:.2f}, the optimum of {} bands of {} rows with {:.2f}",
      shape.bands, shape.rows, threshold, at, collision_probability(at, shape), best.bands, best.rows,
      collision_probability(at, best));
}

std::vector<BandRow> band_table(double threshold, int rows, double false_positive_weight) {
  std::vector<BandRow> table = {{"optimum", best_bands(threshold, rows, false_positive_weight), {}, {}}};
  for (const std::string& name : dedup_presets())
    if (const DedupConfig c = dedup_preset(name, "fast"); c.near) table.push_back({name, c.bands, {}, {}});
  for (BandRow& r : table) {
    r.areas = band_areas(threshold, r.shape);
    for (const double s : kBandSimilarities) r.candidate.push_back(collision_probability(s, r.shape));
  }
  return table;
}

}  // namespace quern::corpus
