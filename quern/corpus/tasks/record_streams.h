// Files of records between tasks, read in order a buffer at a time, so that nobody holds what all tasks found.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "quern/corpus/io/spill.h"

namespace quern::corpus {

template <class T>
class RecordReader {
 public:
  explicit RecordReader(const SpillFile& file) : file_(&file) {}
  bool next(T& record) {
    if (at_ == buffer_.size()) {
      const uint64_t left = file_->size() / sizeof(T) - read_;
      buffer_.resize(std::min<uint64_t>(left, kBuffer));
      if (buffer_.empty()) return false;
      file_->read(read_ * sizeof(T), buffer_.data(), buffer_.size() * sizeof(T));
      read_ += buffer_.size(), at_ = 0;
    }
    record = buffer_[at_++];
    return true;
  }

 private:
  static constexpr uint64_t kBuffer = 8192;
  const SpillFile* file_;
  uint64_t read_ = 0;
  size_t at_ = 0;
  std::vector<T> buffer_;
};

// The records of several files that each ascend by `key`, as one.
template <class T, class Key>
class MergedRecords {
 public:
  MergedRecords(const std::vector<SpillFile>& from, Key key)
      : key_(key), files_(from.begin(), from.end()), heads_(Later{key}) {
    for (size_t i = 0; i < files_.size(); ++i) refill(i);
  }
  bool next(T& record) {
    if (heads_.empty()) return false;
    const size_t file = heads_.top().second;
    record = heads_.top().first;
    heads_.pop();
    refill(file);
    return true;
  }

 private:
  using Head = std::pair<T, size_t>;
  struct Later {
    Key key;
    bool operator()(const Head& a, const Head& b) const { return key(b.first) < key(a.first); }
  };
  void refill(size_t file) {
    T record{};
    if (files_[file].next(record)) heads_.push({record, file});
  }
  Key key_;
  std::vector<RecordReader<T>> files_;
  std::priority_queue<Head, std::vector<Head>, Later> heads_;
};

}  // namespace quern::corpus
