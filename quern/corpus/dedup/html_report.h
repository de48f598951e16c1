// report.html of a deduplication: one self-contained page, made from manifest.json and the sampled clusters. It shows
// where documents went (one bar per source), filter rules, duplicates between sources, cluster sizes, the largest
// clusters with their texts side by side, similarities of candidate pairs and of pairs that were both kept, and
// stages.
#pragma once
#include <span>
#include <string>

#include "quern/base/json.h"
#include "quern/corpus/dedup/funnel.h"

namespace quern::corpus {

std::string corpus_html_report(const Json& manifest, std::span<const ClusterSample> samples);

}  // namespace quern::corpus
