// Presets and names of dedup.h, and its reports as JSON.
#include "quern/base/error.h"
#include "quern/base/nearest.h"
#include "quern/base/setting_text.h"
#include "quern/corpus/dedup/dedup.h"
#include "quern/corpus/filters/filters.h"

namespace quern::corpus {
namespace {

Json whole(uint64_t n) { return Json(static_cast<int64_t>(n)); }

}  // namespace

std::vector<std::string> dedup_presets() { return {"zyda", "zyda2", "fineweb", "exact"}; }

DedupConfig dedup_preset(const std::string& name, const std::string& mode) {
  if (mode != "fast" && mode != "compat") fail("mode '{}': expected fast or compat", mode);
  DedupConfig c;
  c.preset = name;
  if (name == "zyda") {
    c.sketch.family = mode == "compat" ? RowFamily::datasketch : RowFamily::one_permutation;
  } else if (name == "zyda2") {
    c.sketch = {.text_normalizer = TextNormalizer::raw,
                .shingle = 25,
                .family = mode == "compat" ? RowFamily::murmur : RowFamily::one_permutation,
                .rows = 128,
                .seed = 10,
                .short_as_one = true};
    c.bands = {8, 16};
    c.threshold = 0.85;
    c.scope = Scope::across;
  } else if (name == "fineweb") {
    if (mode == "compat")
      fail("mode compat: preset fineweb has mode fast alone; its text, shingles and bands are datatrove's");
    c.sketch.text_normalizer = TextNormalizer::datatrove, c.sketch.shingle = 5;
    c.bands = {14, 8};
    c.threshold = 0.75;
  } else if (name == "exact") {
    c.near = false;
  } else {
    fail("preset '{}': expected {}{}", name, words_between(dedup_presets(), " or "),
         did_you_mean(name, dedup_presets()));
  }
  return c;
}

std::string DedupConfig::models_text() const {
  std::string all;
  for (const std::string& f : filters)
    if (f != "none") all += filter_models_text(f, lists);
  return all;
}

Json DedupConfig::json() const {
  Json j = Json::object();
  j.set("preset", preset), j.set("near", near);
  if (near) {
    j.set("sketch", sketch.json());
    j.set("bands", bands.bands), j.set("rows_a_band", bands.rows);
    if (band_choice) j.set("bands_chosen_for", band_choice->json(bands));
    j.set("verify", write_value(verify)), j.set("threshold", threshold);
    j.set("clustering", write_value(clustering));
    j.set("collide_empty", collide_empty);
  }
  j.set("scope", write_value(scope));
  j.set("filters", write_value(filters)), j.set("lists", lists);
  Json maps = Json::array();
  for (const FieldMap& f : fields) {
    Json m = Json::object();
    m.set("text", f.text), m.set("score", f.score), m.set("url", f.url), m.set("label", f.label),
        m.set("label_equals", f.label_equals);
    m.set("label_at_least", f.label_at_least);
    maps.push(std::move(m));
  }
  j.set("fields", std::move(maps)), j.set("label_late", label_late);
  j.set("stop_on_bad", read.stop_on_bad), j.set("replace_utf8", read.replace_utf8);
  j.set("source_field", source_field), j.set("cluster_field", cluster_field);
  j.set("max_row_bytes", whole(read.max_row));
  j.set("zstd_level", level), j.set("shard_bytes", whole(shard_bytes));
  if (!against.empty()) j.set("against", against);
  if (!save_index.empty()) j.set("save_index", save_index);
  return j;
}

Json StageReport::json() const {
  Json j = Json::object();
  j.set("name", name), j.set("documents_in", whole(documents_in)), j.set("documents_out", whole(documents_out));
  j.set("bytes_in", whole(bytes_in)), j.set("seconds", seconds), j.set("peak_rss", whole(peak_rss));
  return j;
}

Json DedupReport::json() const {
  Json j = Json::object();
  Json list = Json::array();
  for (const StageReport& s : stages) list.push(s.json());
  j.set("stages", std::move(list));
  j.set("read", read.json());
  Json bad = Json::array();
  for (const std::string& d : damaged) bad.push(Json(d));
  j.set("damaged_files", std::move(bad));
  if (!rules.empty()) j.set("rules", rules_json(rules, rule_first, rule_any));
  if (!idle_rules.empty()) j.set("idle_rules", write_value(idle_rules));
  Json c = Json::object();
  c.set("count", whole(clusters)), c.set("largest", whole(largest)),
      c.set("removed", whole(exact_removed + near_removed));
  j.set("clusters", std::move(c));
  j.set("filtered", whole(filtered)), j.set("unlabelled", whole(unlabeled)),
      j.set("exact_removed", whole(exact_removed));
  j.set("near_removed", whole(near_removed)), j.set("kept", whole(kept));
  j.set("meetings", whole(meetings)), j.set("candidate_pairs", whole(candidate_pairs)),
      j.set("compared", whole(compared));
  j.set("passed", whole(passed)), j.set("spilled_bytes", whole(spilled)), j.set("bytes_out", whole(bytes_out));
  if (wrongful >= 0) j.set("removed_unlike_survivor", wrongful);
  j.set("sources", funnel_json(sources, rules));
  Json matrix = Json::array(), sizes = Json::array();
  for (const auto& row : overlap) {
    Json r = Json::array();
    for (uint64_t n : row) r.push(whole(n));
    matrix.push(std::move(r));
  }
  for (const auto& [size, count] : cluster_sizes) {
    Json one = Json::object();
    one.set("size", whole(size)), one.set("clusters", whole(count));
    sizes.push(std::move(one));
  }
  j.set("overlap", std::move(matrix)), j.set("cluster_sizes", std::move(sizes));
  if (pairs.looked_at > 0) j.set("pairs", pairs.json());
  if (own_members > 0) j.set("own_members", whole(own_members));
  if (indexed > 0) j.set("indexed", whole(indexed));
  j.set("resumed", whole(resumed));
  Json o = Json::array();
  for (const auto& [name, hash] : outputs) {
    Json one = Json::object();
    one.set("file", name), one.set("xxh3", fmt::format("{:016x}", hash));
    o.push(std::move(one));
  }
  j.set("outputs", std::move(o));
  return j;
}

}  // namespace quern::corpus
