#include "quern/corpus/shards.h"

#include <fmt/format.h>

namespace quern::corpus {

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
