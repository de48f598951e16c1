// quern corpus bands: which LSH bands serve a similarity threshold, beside those of the presets.
#include <cstdio>

#include "apps/quern/cli/args.h"
#include "apps/quern/corpus/cmd_corpus.h"
#include "quern/base/config.h"
#include "quern/corpus/stages/corpus_settings.h"

namespace quern::cli {
namespace {

using namespace corpus;

struct BandSettings {
  int64_t signature_rows = DedupConfig().sketch.rows;
  template <class V>
  void visit(V& v) {
    v("signature_rows", signature_rows, "rows of a signature: the most that bands times rows may be",
      {.range = Bounds::between(1, kMaxBands)});
  }
};

void print_table(const std::vector<BandRow>& table) {
  fmt::print("{:<8} {:>9} {:>10} {:>10}  a pair becomes a candidate with probability, at similarity\n", "bands of",
             "bands", "false", "false");
  fmt::print("{:<8} {:>9} {:>10} {:>10} ", "", "x rows", "positives", "negatives");
  for (const double s : kBandSimilarities) fmt::print(" {:>5}", fmt::format("{:g}", s));
  fmt::print("\n");
  for (const BandRow& r : table) {
    fmt::print("{:<8} {:>9} {:>10.4f} {:>10.4f} ", r.chosen_by, fmt::format("{} x {}", r.shape.bands, r.shape.rows),
               r.areas.false_positive, r.areas.false_negative);
    for (const double p : r.candidate) fmt::print(" {:>5.3f}", p);
    fmt::print("\n");
  }
}

}  // namespace

int corpus_bands(Words args) {
  BandSettings settings;
  DedupSettings dedup;
  bool json = false;
  Args a("corpus bands", "which LSH bands serve a similarity threshold");
  a.settings(dedup, {{"threshold", "0.4"}, {"false_positive_weight"}}).settings(settings);
  a.json(json).note(
      "False positives are the area of the probability below the threshold, false negatives the area that it lacks\n"
      "above. The optimum has the least weighted sum of both, among all bands and rows whose product is at most\n"
      "--signature-rows. quern corpus dedup --bands auto uses it.");
  if (!a.parse(args)) return 0;
  const double threshold = dedup.threshold.value_or(DedupConfig().threshold);
  const auto rows = static_cast<int>(settings.signature_rows);
  const std::vector<BandRow> table = band_table(threshold, rows, dedup.false_positive_weight);
  if (!json) {
    print_table(table);
    return 0;
  }
  Json j = Json::object();
  j.set("threshold", threshold), j.set("signature_rows", rows);
  j.set("false_positive_weight", dedup.false_positive_weight);
  j.set("similarities", write_value(kBandSimilarities)), j.set("bands", write_value(table));
  fmt::print("{}\n", j.dump());
  return 0;
}

}  // namespace quern::cli
