// A BM25 index in an immutable file that is memory-mapped and searched in place, together with other indices
// (top_across). It holds word keys, not words, and no text.
//
//   "QRNBM25A" u64 words, section table {u64 offset, bytes, check}, u64 check of all that;  ids, note, keys, terms,
//   lengths, slabs: little-endian, as the machine has them, at multiples of 64
//
// Opening reads every byte once to verify the checks.
#pragma once
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "quern/base/mmap.h"
#include "quern/recall/bm25/bm25.h"

namespace quern::recall {

// `note`: the caller's own bytes, to tell whether the snapshot still belongs to its documents.
void write_bm25_snapshot(const std::filesystem::path& path, const Bm25Index& index, std::span<const std::byte> note);

class Bm25Snapshot {
 public:
  explicit Bm25Snapshot(const std::filesystem::path& path);  // throws Error on a damaged file
  Bm25Part part() const { return part_; }
  std::span<const std::byte> note() const { return note_; }
  size_t bytes() const { return file_.bytes().size(); }

 private:
  MappedFile file_;
  std::vector<const uint32_t*> slabs_;
  Bm25Part part_;
  std::span<const std::byte> note_;
};

}  // namespace quern::recall
