#include "quern/corpus/dedup/funnel.h"

#include <algorithm>

namespace quern::corpus {

void SourceFunnel::add(const SourceFunnel& o) {
  documents += o.documents, text_bytes += o.text_bytes, filtered += o.filtered, unlabeled += o.unlabeled;
  exact_removed += o.exact_removed, near_removed += o.near_removed, kept += o.kept;
  rule_first.resize(std::max(rule_first.size(), o.rule_first.size()));
  rule_any.resize(rule_first.size());
  for (size_t i = 0; i < o.rule_first.size(); ++i) rule_first[i] += o.rule_first[i], rule_any[i] += o.rule_any[i];
}

void PairSample::add(const Pair& pair, double threshold, BandShape bands) {
  const double s = pair.similarity;
  const size_t bin = std::min(kBins - 1, static_cast<size_t>(s * kBins));
  ++looked_at, ++all[bin];
  survivors[bin] += pair.both_survive;
  if (s < threshold)
    ++below;
  else
    missed += 1 / collision_probability(s, bands) - 1;
}

Json PairSample::json() const {
  Json j = Json::object(), bins = Json::array(), left = Json::array();
  const double scale = looked_at == 0 ? 0 : static_cast<double>(met) / static_cast<double>(looked_at);
  j.set("pairs_met", static_cast<int64_t>(met)), j.set("pairs_looked_at", static_cast<int64_t>(looked_at));
  j.set("below_threshold_estimate", scale * static_cast<double>(below)), j.set("missed_estimate", scale * missed);
  for (uint64_t n : all) bins.push(Json(static_cast<int64_t>(n)));
  for (uint64_t n : survivors) left.push(Json(static_cast<int64_t>(n)));
  j.set("similarity_bins", std::move(bins)), j.set("survivor_similarity_bins", std::move(left));
  return j;
}

Json funnel_json(const std::vector<SourceFunnel>& sources, const std::vector<std::string>& rules) {
  Json list = Json::array();
  const auto whole = [](uint64_t n) { return Json(static_cast<int64_t>(n)); };
  for (const SourceFunnel& s : sources) {
    Json j = Json::object(), first = Json::object();
    j.set("source", s.name), j.set("documents", whole(s.documents)), j.set("text_bytes", whole(s.text_bytes));
    j.set("filtered", whole(s.filtered)), j.set("unlabelled", whole(s.unlabeled));
    j.set("exact_removed", whole(s.exact_removed)), j.set("near_removed", whole(s.near_removed));
    j.set("kept", whole(s.kept));
    for (size_t i = 0; i < rules.size() && i < s.rule_first.size(); ++i)
      if (s.rule_any[i] > 0) first.set(rules[i], whole(s.rule_first[i]));
    j.set("rules_first", std::move(first));
    list.push(std::move(j));
  }
  return list;
}

}  // namespace quern::corpus
