#include "quern/corpus/stages/corpus_settings.h"

#include "quern/base/error.h"
#include "quern/corpus/filters/filters.h"

namespace quern::corpus {
namespace {

uint64_t bytes_of(int64_t mib) { return static_cast<uint64_t>(mib) << 20; }

void choose_bands(const DedupSettings& s, DedupConfig& c) {
  const double weight = s.false_positive_weight;
  if (!s.bands || !s.bands->chosen()) {
    if (weight != DedupSettings().false_positive_weight)
      fail("false_positive_weight {} has no effect: it is of bands = auto", weight);
    return;
  }
  if (!c.near) fail("bands = auto: preset {} has no LSH bands", c.preset);
  if (s.rows_per_band)
    fail("rows_per_band {}: bands = auto chooses the rows too; leave one of them out", *s.rows_per_band);
  c.bands = best_bands(c.threshold, c.sketch.rows, weight);
  c.band_choice = BandChoice{.threshold = c.threshold, .false_positive_weight = weight};
}

}  // namespace

const char* filter_help() {
  static const std::string help =
      fmt::format("remove documents by quality rules, several joined by +: {}", fmt::join(filter_names(), ", "));
  return help.c_str();
}

FieldMap SourceSettings::fields() const {
  return {.text = text_field,
          .score = score_field,
          .scores_all = false,
          .source = {},
          .url = url_field,
          .license = license_field,
          .label = label_field,
          .label_equals = label_equals,
          .label_at_least = label_at_least};
}

std::string SourceSettings::filters() const {
  if (language.empty()) return filter;
  const std::string own = "language:" + language;
  return filter == "none" ? own : own + "+" + filter;
}

ReadPolicy ReadSettings::policy() const {
  return {on_bad == OnBad::stop, on_bad == OnBad::replace, bytes_of(max_record_mb)};
}

DedupConfig DedupSettings::config() const {
  DedupConfig c = dedup_preset(preset, mode);
  c.verify = verify.value_or(c.verify), c.threshold = threshold.value_or(c.threshold);
  c.clustering = clustering.value_or(c.clustering), c.scope = scope.value_or(c.scope);
  if (bands && !bands->chosen()) c.bands.bands = static_cast<int>(bands->count);
  c.bands.rows = static_cast<int>(rows_per_band.value_or(c.bands.rows));
  c.sketch.seed = static_cast<uint32_t>(seed.value_or(c.sketch.seed));
  c.sketch.shingle = static_cast<int>(shingle.value_or(c.sketch.shingle));
  c.collide_empty = collide_empty, c.label_late = label_late, c.memory = bytes_of(memory_mb);
  c.source_field = source_field, c.cluster_field = cluster_field;
  choose_bands(*this, c);
  return c;
}

std::string DedupSettings::advice() const {
  if (!threshold || bands || rows_per_band) return "";
  const DedupConfig c = config();
  if (!c.near) return "";
  return band_advice(c.threshold, c.bands, c.sketch.rows,
                     c.verify == Verification::none ? LowPairs::kept : LowPairs::sorted_out);
}

StageOutput WriteSettings::output(const std::filesystem::path& folder) const {
  return {.folder = folder, .level = static_cast<int>(level), .shard_bytes = bytes_of(shard_mb)};
}

MixConfig MixSettings::config() const {
  MixConfig c;
  c.total_bytes = static_cast<uint64_t>(megabytes * 1e6), c.max_epochs = max_epochs;
  c.seed = static_cast<uint64_t>(seed);
  return c;
}

}  // namespace quern::corpus
