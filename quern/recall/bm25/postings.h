// Growing in-memory postings that can be written to a file unchanged: per term a chain of blocks of at most 128
// documents, each with the largest count and the shortest document inside, which bound any score whatever the
// collection's size and mean length become. Blocks lie in slabs of 1 MiB and never straddle.
//
//   block: [next][capacity << 16 | count][largest count][shortest length] documents[capacity] counts[capacity]: u16
//
// A count above 65535 is stored as 65535, where the score has long been flat.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "quern/recall/bm25/counts.h"
#include "quern/recall/words/key_map.h"

namespace quern::recall {

struct TermEntry {
  uint32_t head, tail;  // first and last block
  uint32_t documents;
  uint32_t max_count, min_length;  // over all its documents
};

inline constexpr uint32_t kSlabWords = 1u << 18, kNoBlock = 0xffffffffu;

struct PostingBlock {
  const uint32_t* w;
  uint32_t next() const { return w[0]; }
  uint32_t count() const { return w[1] & 0xffff; }
  uint32_t capacity() const { return w[1] >> 16; }
  uint32_t max_count() const { return w[2]; }
  uint32_t min_length() const { return w[3]; }
  const uint32_t* documents() const { return w + 4; }
  const uint16_t* counts() const { return reinterpret_cast<const uint16_t*>(w + 4 + capacity()); }
  uint32_t last() const { return documents()[count() - 1]; }
};

// What a search needs, wherever it lies: memory or a mapped segment.
struct PostingsView {
  std::span<const uint32_t* const> slabs;
  std::span<const KeyMap::Slot> keys;
  std::span<const TermEntry> terms;
  std::span<const uint32_t> lengths;  // words a document
  std::span<const uint64_t> dead;     // bit a document; may be shorter than the documents
  const TermEntry* find(uint64_t key) const {
    const uint32_t t = KeyMap::find(keys, key);
    return t == KeyMap::kNone ? nullptr : &terms[t];
  }
  PostingBlock block(uint32_t ref) const { return {slabs[ref / kSlabWords] + ref % kSlabWords}; }
  bool is_dead(uint32_t document) const {
    return document / 64 < dead.size() && (dead[document / 64] >> (document % 64) & 1);
  }
};

class Postings {
 public:
  static Postings of(const TermCounts& counts);  // document = row; blocks as full as they get
  uint32_t add(std::span<const uint64_t> keys);  // the next document's words; returns its number
  void erase(std::span<const uint64_t> gone);    // bit a document; the others close ranks in their order
  PostingsView view() const;
  size_t documents() const { return lengths_.size(); }
  uint64_t words() const { return words_; }  // of all documents
  size_t bytes() const;
  uint32_t last_slab_words() const { return slabs_.empty() ? 0 : used_; }

 private:
  uint32_t* block(uint32_t ref) { return slabs_[ref / kSlabWords].get() + ref % kSlabWords; }
  uint32_t new_block(uint32_t capacity);
  void fill(const TermCounts& counts, uint32_t first, uint32_t end);  // the postings of these terms
  void append(TermEntry& t, uint32_t document, uint32_t count, uint32_t length);
  KeyMap keys_;
  std::vector<TermEntry> terms_;
  std::vector<uint32_t> lengths_;
  uint64_t words_ = 0;
  std::vector<std::unique_ptr<uint32_t[]>> slabs_;
  std::vector<const uint32_t*> slab_pointers_;
  uint32_t used_ = kSlabWords;  // of the last slab
  std::vector<uint32_t> ids_;   // scratch
};

}  // namespace quern::recall
