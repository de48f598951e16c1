// Data mixture: gives each source a share of the output text by repeating or omitting documents. A source of n bytes
// with share s of `total` is read e = s · total / n times: every document ⌊e⌋ times and, where the hash of its id says
// so, once more. Which documents those are, and the order of all of them, depend on ids and seed only. Two passes over
// the inputs; the documents wait in temporary files, one per output file, each sorted by key in memory. A killed run
// resumes in its pass, or with the file it was at.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "quern/corpus/run/stage_run.h"

namespace quern::corpus {

// As they are read; or with the members id, source and text in all sources, beside all others (append_named_document).
enum class MixedLine { whole, named };

struct MixConfig {
  std::vector<std::pair<std::string, double>> shares;  // of sources, in any unit; every source once
  uint64_t total_bytes = 0;  // of text; 0: as much as the source that is scarcest for its share gives in one reading
  double max_epochs = 0;     // a source that would be read more often is an Error; 0: no limit
  uint64_t seed = 1;
  MixedLine line = MixedLine::whole;
  StageOutput to;
};

struct MixedSource {
  std::string name;
  double share = 0, epochs = 0;
  uint64_t documents_in = 0, bytes_in = 0, documents_out = 0, bytes_out = 0;
  template <class V>
  void visit(V& v) {
    v("name", name), v("share", share), v("epochs", epochs), v("documents_in", documents_in), v("bytes_in", bytes_in);
    v("documents_out", documents_out), v("bytes_out", bytes_out);
  }
};
struct MixReport {
  ScanReport scan;
  std::vector<MixedSource> sources;
  uint64_t documents = 0, text_bytes = 0, bytes_out = 0;
  std::vector<std::string> files;
  ResumeInfo went_on;
  Json json() const;
};

// finish(report): the last thing before the run is forgotten.
MixReport mix_corpus(const Inputs& inputs, const ScanOptions& o, const MixConfig& c,
                     const ScanProgress& progress = {}, const std::function<void(const MixReport&)>& finish = {});

}  // namespace quern::corpus
