// Byte-pair encoding (BPE). A piece of text starts as one symbol per character (per byte, in byte-level vocabularies);
// the adjacent pair of lowest rank is merged, leftmost first, until no pair is in the table. Same result as the
// reference, faster:
//  · a piece is first split where no merge can reach across: between characters x and y that are adjacent in no token
//    any merge makes. Independent parts cannot influence one another, so this is exact, and it makes the
//    one-piece-per-text vocabularies (Gemma, Mistral) as cheap as the others;
//  · parts seen before come from a direct-mapped cache of one cache line per entry;
//  · short parts scan an array of ranks, long ones use a heap over a linked list, O(n log n).
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quern/text/tokenizer/vocab.h"

namespace quern::text {

class BpeCache {  // belongs to one thread at a time
 public:
  static constexpr size_t kKey = 22, kIds = 10;
  struct alignas(64) Entry {
    uint8_t key_len = 0, n = 0;
    char key[kKey];
    int32_t ids[kIds];
  };
  BpeCache() : entries_(new Entry[kEntries]) {}
  Entry& slot(uint64_t hash) { return entries_[(hash >> 20) & (kEntries - 1)]; }

 private:
  static constexpr size_t kEntries = 1 << 15;
  std::unique_ptr<Entry[]> entries_;
};

struct BpeScratch {
  struct Symbol {
    int32_t id, prev, next;
  };
  struct Candidate {
    uint32_t rank;
    int32_t pos, id, left, right;
  };
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
  std::vector<int32_t> ids, made;
  std::vector<uint32_t> ranks;
  std::string spelled;
  BpeCache cache;
};

struct BpeOptions {
  std::string unk_token, continuing_subword_prefix, end_of_word_suffix;
  bool fuse_unk = false, byte_fallback = false, ignore_merges = false;
};

// How the pieces to encode arrive: raw bytes stand for the byte-level characters.
enum class PieceText { utf8, raw_bytes };

class Bpe {
 public:
  struct Merge {
    int32_t left, right, made;
  };
  BpeOptions options;
  Vocab vocab;

  void add_merge(int32_t left, int32_t right, int32_t made);  // in order of rank; a later duplicate wins
  void reserve_merges(size_t n);
  void prefetch_merge(int32_t left, int32_t right) const {
    __builtin_prefetch(&slots_[mix(pack(left, right)) & mask_], 1);
  }
  void finish(PieceText pieces);      // after the last change
  std::vector<Merge> merges() const;  // by rank
  size_t merge_count() const { return used_; }

  // Appends the ids of one piece.
  void encode(std::string_view piece, BpeScratch& s, std::vector<int32_t>& out) const;

 private:
  struct Slot {
    uint64_t pair = kEmpty;
    uint32_t rank = 0;
    int32_t made = -1;
  };
  static constexpr uint64_t kEmpty = ~uint64_t{0};
  static uint64_t pack(int32_t a, int32_t b) {
    return static_cast<uint64_t>(static_cast<uint32_t>(a)) << 32 | static_cast<uint32_t>(b);
  }
  static uint64_t mix(uint64_t pair) { return hash_fold(pair, 0x9E3779B97F4A7C15u); }
  const Slot* find(int32_t a, int32_t b) const {
    if (slots_.empty()) return nullptr;
    uint64_t p = pack(a, b);
    for (size_t i = mix(p) & mask_;; i = (i + 1) & mask_) {
      if (slots_[i].pair == p) return &slots_[i];
      if (slots_[i].pair == kEmpty) return nullptr;
    }
  }
  void find_joins();
  bool joined(char32_t x, char32_t y) const;
  void encode_part(std::string_view part, BpeScratch& s, std::vector<int32_t>& out) const;
  void spell(std::string_view part, BpeScratch& s) const;
  void merge_short(std::vector<int32_t>& ids, BpeScratch& s) const;
  void merge_long(std::vector<int32_t>& ids, BpeScratch& s) const;

  std::vector<Slot> slots_;
  size_t mask_ = 0, used_ = 0;
  uint32_t next_rank_ = 0;
  bool byte_level_ = false, cuts_ = false;
  int32_t byte_id_[256] = {};  // of the byte-level character, or of <0xXX>
  int32_t unk_ = -1;
  bool bytes_complete_ = false;
  std::vector<uint64_t> ascii_joins_;  // bit x*128+y
  std::vector<uint64_t> joins_;        // open addressing, other pairs
  size_t joins_mask_ = 0;
};

}  // namespace quern::text
