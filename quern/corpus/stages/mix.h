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

#include "quern/corpus/io/spill.h"
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
  std::string source_field =
      {};  // added to whole lines that have no such member: the name of their source; empty: not
  StageOutput to;
};

struct MixedSource {
  std::string name;
  double share = 0, epochs = 0;
  uint64_t documents_in = 0, bytes_in = 0, documents_out = 0, bytes_out = 0;
  uint64_t own_members =
      0;  // documents picked that have another value in a member named as the source's, which stays
  template <class V>
  void visit(V& v) {
    v("name", name), v("share", share), v("epochs", epochs), v("documents_in", documents_in), v("bytes_in", bytes_in);
    v("documents_out", documents_out), v("bytes_out", bytes_out), v("own_members", own_members);
  }
};
struct MixReport {
  ScanReport scan;
  std::vector<MixedSource> sources;
  uint64_t documents = 0, text_bytes = 0, bytes_out = 0;
  std::vector<std::string> files;
  ResumeInfo went_on;
  void add_up();                 // documents and text_bytes, from the sources
  uint64_t own_members() const;  // likewise
  Json json() const;
};

// finish(report): the last thing before the run is forgotten.
MixReport mix_corpus(const Inputs& inputs, const ScanOptions& o, const MixConfig& c,
                     const ScanProgress& progress = {}, const std::function<void(const MixReport&)>& finish = {});

// The field that names sources in a mixture that stands alone: none where the inputs have no names, or rows name their
// sources themselves.
std::string added_source_field(const Inputs& inputs, const ScanOptions& o);
// The manifest of a mixture that stands alone, but for the names of files.
Json mix_stage_json(int64_t seed, const Inputs& inputs, const MixReport& report);

// The steps of it, for whoever divides the inputs (corpus/tasks).
std::string mix_text(const Inputs& inputs, const ScanOptions& o, const MixConfig& c);  // all that decides the output
std::vector<MixedSource> sources_by_share(const Inputs& inputs, const MixConfig& c);   // throws Error for shares
// The first reading: how much each source has, added to `sources`.
ScanReport count_sources(const Inputs& inputs, const ScanOptions& o, std::vector<MixedSource>& sources,
                         const ScanCallbacks& callbacks);
// How often each source is read; returns the number of output files that makes.
size_t plan_mixture(const MixConfig& c, std::vector<MixedSource>& sources);

struct MixedCopy {  // one line on its way out; in a temporary file its bytes follow it
  uint64_t key = 0, id = 0, epoch = 0, bytes = 0;
  bool operator<(const MixedCopy& o) const {
    return key != o.key ? key < o.key : id != o.id ? id < o.id : epoch < o.epoch;
  }
};
// The second reading: every copy that is to come out goes to the end of its file in `lines`, and is counted.
struct MixPicking {
  const MixConfig& config;
  std::vector<MixedSource>& sources;
  std::vector<SpillFile>& lines;
};
void pick_documents(const Inputs& inputs, const ScanOptions& o, const MixPicking& to, const ScanCallbacks& callbacks);
// The lines of one output file, in their order, from wherever they were picked.
std::string shuffled_lines(const std::vector<SpillFile>& from);

}  // namespace quern::corpus
