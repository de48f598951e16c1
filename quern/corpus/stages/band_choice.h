// LSH bands that are chosen for a threshold, and what a choice costs: the number of bands as a setting (a number or
// `auto`), the advice where a threshold has bands that were made for another one, and the table of `quern corpus bands`.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/corpus/sketch/bands.h"

namespace quern::corpus {

constexpr int kMaxBands = 512;

struct BandCount {
  int64_t count = 0;  // 0: chosen for the threshold
  bool chosen() const { return count == 0; }
  // Friends, so that those of other types are not hidden.
  friend void parse_setting(const std::string& text, BandCount& out);
  friend std::string setting_text(const BandCount& v);
  friend void read_value(const Json& j, BandCount& out, const std::string& what);
  friend Json write_value(const BandCount& v);
};

// What verification leaves of candidate pairs below the threshold: it sorts them out, or they count as duplicates.
enum class LowPairs { sorted_out, kept };

// Which errors of `shape` are more than twice those of the optimum for this threshold within `rows` rows, in a sentence;
// empty when none are. False positives that verification sorts out are no errors.
std::string band_advice(double threshold, BandShape shape, int rows, LowPairs low);

struct BandRow {
  std::string chosen_by;  // optimum, or a preset
  BandShape shape;
  BandAreas areas;
  std::vector<double> candidate;  // probability at kBandSimilarities
  template <class V>
  void visit(V& v) {
    v("chosen_by", chosen_by), v("bands", shape.bands), v("rows_per_band", shape.rows);
    v("false_positives", areas.false_positive), v("false_negatives", areas.false_negative), v("candidate", candidate);
  }
};
constexpr double kBandSimilarities[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95};
// The optimum and the bands of all presets, at one threshold.
std::vector<BandRow> band_table(double threshold, int rows, double false_positive_weight);

}  // namespace quern::corpus
