#include "quern/train/checkpoint/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include "quern/train/checkpoint/crc.h"

namespace quern::train {

namespace fs = std::filesystem;

std::string data_name(int rank) { return fmt::format("rank_{}.bin", rank); }

std::string new_save_id() {
  std::random_device random;
  const uint32_t high = random();
  return fmt::format("{:08x}{:08x}", high, random());
}

fs::path make_step_folder(const fs::path& dir, int64_t step) {
  int64_t generation = 1;
  for (const StepFolder& f : step_folders(dir)) {
    if (f.step != step) continue;
    if (f.committed)
      generation = std::max(generation, f.generation + 1);
    else
      remove_step_folder(f.path);
  }
  fs::path folder =
      dir / (generation == 1 ? fmt::format("step_{}", step) : fmt::format("step_{}.{}", step, generation));
  fs::create_directories(folder);
  return folder;
}

DataFile::DataFile(fs::path path) : path_(std::move(path)) {
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd_ < 0) failed();
}

DataFile::~DataFile() {
  if (fd_ >= 0) ::close(fd_);
}

void DataFile::write(const std::byte* x, int64_t n, int64_t at) {
  while (n > 0) {
    const ssize_t w = ::pwrite(fd_, x, static_cast<size_t>(n), at);
    if (w < 0 && errno == EINTR) continue;
    if (w <= 0) failed();
    x += w, n -= w, at += w;
  }
}

void DataFile::close() {
  if (::fsync(fd_) != 0) failed();
  const int fd = std::exchange(fd_, -1);
  if (::close(fd) != 0) failed();
}

void DataFile::failed() const { fail("cannot write {}: {}", path_.string(), std::strerror(errno)); }

void commit_step_folder(const fs::path& folder, CheckpointCommit commit, const std::vector<StoredTensor>& tensors,
                        const Json& state) {
  Json j = Json::object(), list = Json::array();
  for (const StoredTensor& t : tensors) list.push(to_json(t));
  j.set("tensors", std::move(list));
  j.set("state", state);
  const std::string index = j.dump(1) + "\n";
  commit.index_bytes = static_cast<int64_t>(index.size());
  commit.index_crc = crc32c(std::as_bytes(std::span(index)));
  write_durably(folder / "index.json", index);
  sync_folder(folder.parent_path());
  write_durably(folder / "COMMIT.json", to_json(commit).dump(1) + "\n");
}

}  // namespace quern::train
