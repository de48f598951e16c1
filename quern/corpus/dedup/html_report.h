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

// The page with what later stages of a build gave, by source: documents, bytes and times read of a mixture, documents and
// tokens of the shards. Null: there was none. A page that has that already stays as it is.
std::string with_later_stages(std::string page, const Json* mixed, const Json* tokens);

}  // namespace quern::corpus
