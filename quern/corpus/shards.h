// JSONL.zst files NAME-00000.jsonl.zst, NAME-00001 … of bounded size, written frame by frame. There is always one, if
// only an empty one.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "quern/corpus/byte_stream.h"

namespace quern::corpus {

// Makes the folder. One that holds a finished run (manifest.json) is refused; what a run that died left of the files
// named here is removed, so that its parts never mix with those of the next.
void prepare_output(const std::filesystem::path& folder);

class ShardWriter {
 public:
  ShardWriter(std::filesystem::path folder, std::string name, int level, uint64_t bytes);
  void write_frame(std::string_view frame, uint64_t unpacked);  // an empty one is nothing
  void close();
  const std::vector<std::string>& names() const { return names_; }
  uint64_t bytes_out() const { return bytes_out_; }

 private:
  void begin();
  void finish();
  std::filesystem::path folder_;
  std::string name_;
  int level_;
  uint64_t bytes_, bytes_out_ = 0;
  std::optional<ZstdWriter> shard_;
  std::vector<std::string> names_;
};

}  // namespace quern::corpus
