// Writes a step folder; shared by the asynchronous writer and the resharder. Data files first, then the index, then
// COMMIT.json; every file is on disk before the next kind begins.
#pragma once
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "quern/train/checkpoint/format.h"

namespace quern::train {

using DataSizes = std::vector<std::pair<std::string, int64_t>>;

std::string data_name(int rank);
inline int64_t align_up(int64_t n) { return (n + kCheckpointAlign - 1) / kCheckpointAlign * kCheckpointAlign; }
std::string new_save_id();

// DIR/step_N, or the next generation where that is committed; what an earlier save left unfinished goes.
std::filesystem::path make_step_folder(const std::filesystem::path& dir, int64_t step);

// Every failure names the file. What lies between writes is zero.
class DataFile {
 public:
  explicit DataFile(std::filesystem::path path);
  ~DataFile();
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;
  void write(const std::byte* x, int64_t n, int64_t at);
  void close();  // synced

 private:
  [[noreturn]] void failed() const;
  std::filesystem::path path_;
  int fd_ = -1;
};

// index.json, then COMMIT.json. Step, save and files are the caller's; the index's size and checksum are filled in.
void commit_step_folder(const std::filesystem::path& folder, CheckpointCommit commit,
                        const std::vector<StoredTensor>& tensors, const Json& state);

}  // namespace quern::train
