// The documents of files, a block at a time: what quern_rows and the Arrow streams of quern.h read.
#pragma once
#include <functional>
#include <string>

#include "quern/corpus/io/ingest.h"
#include "quern/corpus/stages/corpus_settings.h"

namespace quern::capi {

struct RowSettings {
  corpus::SourceSettings source;
  corpus::ReadSettings read;
  template <class V>
  void visit(V& v) {
    source.visit(v), read.visit(v);
  }
};
void check_rows(const RowSettings& s);  // throws Error for what belongs to a build

class DocumentBlocks {
 public:
  DocumentBlocks(const RowSettings& s, size_t block_bytes);
  DocumentBlocks(const DocumentBlocks&) = delete;  // the readers point into it
  DocumentBlocks& operator=(const DocumentBlocks&) = delete;

  // Gives the documents of the next block that has any; false at the end.
  bool next(const std::function<void(const corpus::DocumentView&)>& take);
  const std::string& source_of(const corpus::DocumentView& d) const { return inputs_.sources[d.source]; }
  int64_t skipped() const { return static_cast<int64_t>(counts_.bad()); }

 private:
  corpus::Inputs inputs_;
  corpus::BlockReader blocks_;
  corpus::DocumentReader documents_;
  corpus::ReadCounts counts_ = {};
  corpus::Block block_ = {};
};

}  // namespace quern::capi
