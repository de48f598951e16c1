// report.html of a deduplication: one page that needs nothing else, drawn from manifest.json and the clusters'
// samples. Where documents went (a bar a source), rules, whose copies removed whose, how large clusters are, the
// largest ones with their texts side by side, how alike pairs are that met and that both stay, stages.
#pragma once
#include <span>
#include <string>

#include "quern/base/json.h"
#include "quern/corpus/dedup/funnel.h"

namespace quern::corpus {

std::string corpus_page(const Json& manifest, std::span<const ClusterSample> samples);

}  // namespace quern::corpus
