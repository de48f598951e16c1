// Shard files NAME-00000.jsonl.zst, NAME-00001 … of bounded size, written frame by frame. There is always at least
// one, possibly empty. The last is FILE.part until it is complete; a writer can continue where another process
// stopped. Each is listed as the run's before it is made (run_manifest.h).
#pragma once
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace quern::corpus {

// For a stage that starts from the beginning, behind its StageRun, which has removed what a run that died listed and
// refused a folder with anything else: one that holds a finished run is refused.
void prepare_output(const std::filesystem::path& folder);

struct ShardPosition {
  uint64_t begun = 0;                 // files
  bool open = false;                  // the last of them is not full
  uint64_t unpacked = 0, packed = 0;  // bytes in the last
  uint64_t bytes_out = 0;             // of those before
  template <class V>
  void visit(V& v) {
    v("begun", begun), v("open", open), v("unpacked", unpacked), v("packed", packed), v("bytes_out", bytes_out);
  }
};

class ShardWriter {
 public:
  ShardWriter(std::filesystem::path folder, std::string name, int level, uint64_t bytes,
              const ShardPosition& from = {});
  ~ShardWriter();  // what is not full stays as FILE.part
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;
  void write_frame(std::string_view frame, uint64_t unpacked);  // an empty one is nothing
  ShardPosition position();                                     // flushed up to there
  void close();
  const std::vector<std::string>& names() const { return names_; }
  uint64_t bytes_out() const { return p_.bytes_out; }

 private:
  void begin();
  void open(const char* how);
  void finish();
  std::filesystem::path folder_;
  std::string name_;
  int level_;
  uint64_t bytes_;
  ShardPosition p_;
  std::FILE* out_ = nullptr;
  std::filesystem::path file_;
  std::vector<std::string> names_;
};

}  // namespace quern::corpus
