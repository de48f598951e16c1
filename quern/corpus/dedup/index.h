// A saved index: what a deduplication has to know of the documents that survived an earlier one, so that new ones can
// be told from them. A folder with index.json (this head, and of every file its size and hash) and a segment's files,
// rows numbered from 0. Ids go on where the index ends, in sources and in files: those of new documents are what they
// would be in one run over all.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/corpus/io/inputs.h"

namespace quern::corpus {

struct DedupConfig;

struct IndexHead {
  uint64_t documents = 0, files = 0;  // files: of all inputs so far
  std::vector<std::string> sources;   // in rank order
  uint64_t id_behind(uint64_t id) const {
    return id + document_id(static_cast<uint32_t>(sources.size()), static_cast<uint32_t>(files), 0);
  }
};

// The settings that must be equal for an index and a run against it, by name; refuses a run that no index fits.
Json index_settings(const DedupConfig& c);
// Of c.against; empty when that is. A file of another size than the head says is an error, and with hashes one of
// other bytes.
IndexHead read_index_head(const DedupConfig& c, bool hashes);
// An index is written beside its name, FOLDER.part, and moved there when its run is done. made: the run has made its
// index already, so that what bears the name may be it.
std::filesystem::path index_part(const std::string& folder);
void check_index_name(const std::string& folder, bool made);
void finish_index(const std::string& folder);
void write_index_head(const std::filesystem::path& folder, const IndexHead& head, const DedupConfig& c,
                      const Json& sizes);  // of the files, by name

}  // namespace quern::corpus
