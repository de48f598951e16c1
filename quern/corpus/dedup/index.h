// A saved index: what deduplication needs to know of documents kept by an earlier run, to compare new ones with them.
// A folder with index.json (this head, and size and hash of every file) and a segment's files, records numbered from
// 0. Ids continue where the index ends, in sources and in files: those of new documents are what one run over
// everything would give.
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
enum class IndexCheck { sizes, hashes };
// Of c.against; empty when that is. A file of another size than the head says is an error, and with hashes one of
// other bytes.
IndexHead read_index_head(const DedupConfig& c, IndexCheck check);
// An index is written beside its name, FOLDER.part, and moved there when its run is done.
std::filesystem::path index_part(const std::string& folder);
void check_index_name(const std::string& folder);  // that nothing bears it yet
void finish_index(const std::string& folder);
void write_index_head(const std::filesystem::path& folder, const IndexHead& head, const DedupConfig& c,
                      const Json& sizes);  // of the files, by name

}  // namespace quern::corpus
