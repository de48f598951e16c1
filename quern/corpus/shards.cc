#include "quern/corpus/shards.h"

#include <algorithm>

#include "quern/base/error.h"

namespace quern::corpus {
namespace {

// NAME-00000.jsonl.zst for part and reject, clusters.jsonl.zst, each also with .part and the number of a process;
// spill files between their making and losing their name.
bool is_output(std::string name) {
  if (const size_t at = name.rfind(".part");
      at != name.npos && at + 5 < name.size() && name.find_first_not_of("0123456789", at + 5) == name.npos)
    name.resize(at);
  if (name == "clusters.jsonl.zst" || (name.starts_with("spill-") && name.size() == 12)) return true;
  for (const std::string prefix : {"part-", "reject-"})
    if (name.starts_with(prefix) && name.ends_with(".jsonl.zst")) {
      const std::string number = name.substr(prefix.size(), name.size() - prefix.size() - 10);
      return number.size() >= 5 && number.find_first_not_of("0123456789") == number.npos;
    }
  return false;
}

}  // namespace

void prepare_output(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  if (std::filesystem::exists(folder / "manifest.json"))
    fail("{} holds a manifest.json already: name another folder", folder.string());
  std::vector<std::filesystem::path> left;
  for (const auto& e : std::filesystem::directory_iterator(folder))
    if (e.is_regular_file() && is_output(e.path().filename().string())) left.push_back(e.path());
  for (const auto& file : left) std::filesystem::remove(file);
}

ShardWriter::ShardWriter(std::filesystem::path folder, std::string name, int level, uint64_t bytes)
    : folder_(std::move(folder)), name_(std::move(name)), level_(level), bytes_(bytes) {}

void ShardWriter::begin() {
  names_.push_back(fmt::format("{}-{:05}.jsonl.zst", name_, names_.size()));
  shard_.emplace(folder_ / names_.back(), level_);
}

void ShardWriter::finish() {
  if (!shard_) return;
  shard_->close();
  bytes_out_ += shard_->bytes_out();
  shard_.reset();
}

void ShardWriter::write_frame(std::string_view frame, uint64_t unpacked) {
  if (frame.empty()) return;
  if (shard_ && shard_->bytes_in() + unpacked > bytes_) finish();
  if (!shard_) begin();
  shard_->write_frame(frame, unpacked);
}

void ShardWriter::close() {
  if (names_.empty()) begin();
  finish();
}

}  // namespace quern::corpus
