#include "quern/text/tokenizer/bpe.h"

#include <algorithm>
#include <bit>

#include "quern/base/error.h"
#include "quern/text/tokenizer/byte_level.h"
#include "quern/text/unicode/utf8.h"

namespace quern::text {
namespace {

constexpr uint32_t kNoRank = ~uint32_t{0};
constexpr size_t kShort = 48;  // symbols up to which scanning beats the heap

}  // namespace

void Bpe::reserve_merges(size_t n) {
  size_t want = std::bit_ceil(std::max<size_t>(n * 2, 16));
  if (want <= slots_.size()) return;
  std::vector<Slot> old(want);
  old.swap(slots_);
  mask_ = want - 1;
  for (const Slot& s : old) {
    if (s.pair == kEmpty) continue;
    size_t i = mix(s.pair) & mask_;
    while (slots_[i].pair != kEmpty) i = (i + 1) & mask_;
    slots_[i] = s;
  }
}

void Bpe::add_merge(int32_t left, int32_t right, int32_t made) {
  if ((used_ + 1) * 2 > slots_.size()) reserve_merges(std::max<size_t>(slots_.size(), 16));
  uint64_t p = pack(left, right);
  size_t i = mix(p) & mask_;
  while (slots_[i].pair != kEmpty && slots_[i].pair != p) i = (i + 1) & mask_;
  used_ += slots_[i].pair == kEmpty;
  slots_[i] = {p, next_rank_++, made};
}

std::vector<Bpe::Merge> Bpe::merges() const {
  std::vector<const Slot*> order;
  order.reserve(used_);
  for (const Slot& s : slots_)
    if (s.pair != kEmpty) order.push_back(&s);
  std::sort(order.begin(), order.end(), [](const Slot* a, const Slot* b) { return a->rank < b->rank; });
  std::vector<Merge> out;
  out.reserve(used_);
  for (const Slot* s : order)
    out.push_back({static_cast<int32_t>(s->pair >> 32), static_cast<int32_t>(s->pair), s->made});
  return out;
}

void Bpe::finish(PieceText pieces) {
  byte_level_ = pieces == PieceText::raw_bytes;
  if (!options.unk_token.empty()) {
    unk_ = vocab.find(options.unk_token);
    if (unk_ < 0) fail("tokenizer.json: model.unk_token '{}' is not in the vocabulary", options.unk_token);
  }
  bytes_complete_ = true;
  for (int b = 0; b < 256; ++b) {
    std::string name;
    if (byte_level_) {
      utf8_append(name, byte_level_chars()[static_cast<size_t>(b)]);
    } else {
      name = fmt::format("<0x{:02X}>", b);
    }
    byte_id_[b] = vocab.find(name);
    bytes_complete_ = bytes_complete_ && byte_id_[b] >= 0;
  }
  find_joins();
}

// Cutting needs every symbol's string to be the text under it, and unknown characters not to be pooled across a cut.
void Bpe::find_joins() {
  cuts_ = !byte_level_ && options.continuing_subword_prefix.empty() && options.end_of_word_suffix.empty() &&
          !options.ignore_merges &&
          (unk_ < 0 || (options.byte_fallback && bytes_complete_) || (!options.byte_fallback && !options.fuse_unk));
  if (!cuts_) return;
  std::vector<bool> odd(static_cast<size_t>(vocab.end()));
  if (unk_ >= 0) odd[static_cast<size_t>(unk_)] = true;
  if (options.byte_fallback)
    for (int32_t id : byte_id_)
      if (id >= 0) odd[static_cast<size_t>(id)] = true;
  ascii_joins_.assign(128 * 128 / 64, 0);
  joins_.assign(1024, kEmpty);
  joins_mask_ = joins_.size() - 1;
  size_t n = 0;
  auto insert = [&](uint64_t key) {
    size_t i = mix(key) & joins_mask_;
    while (joins_[i] != kEmpty && joins_[i] != key) i = (i + 1) & joins_mask_;
    bool fresh = joins_[i] == kEmpty;
    joins_[i] = key;
    return fresh;
  };
  for (const Slot& s : slots_) {
    if (s.pair == kEmpty) continue;
    auto left = static_cast<int32_t>(s.pair >> 32), right = static_cast<int32_t>(s.pair);
    if (odd[static_cast<size_t>(left)] || odd[static_cast<size_t>(right)]) {
      cuts_ = false;
      return;
    }
    // The pairs inside the halves are other merges' seams: only this merge's own seam is new.
    std::string_view a = vocab.token(left), b = vocab.token(right);
    if (a.empty() || b.empty()) continue;
    char32_t x = utf8_before(a, a.size()).cp, y = utf8_at(b, 0).cp;
    if (x < 128 && y < 128) {
      ascii_joins_[(x * 128 + y) / 64] |= uint64_t{1} << (y % 64);
      continue;
    }
    if (insert(static_cast<uint64_t>(x) << 32 | y) && ++n * 2 > joins_.size()) {
      std::vector<uint64_t> old(joins_.size() * 2, kEmpty);
      old.swap(joins_);
      joins_mask_ = joins_.size() - 1;
      for (uint64_t k : old)
        if (k != kEmpty) insert(k);
    }
  }
}

bool Bpe::joined(char32_t x, char32_t y) const {
  if (x < 128 && y < 128) return ascii_joins_[(x * 128 + y) / 64] >> (y % 64) & 1;
  uint64_t key = static_cast<uint64_t>(x) << 32 | y;
  for (size_t i = mix(key) & joins_mask_;; i = (i + 1) & joins_mask_) {
    if (joins_[i] == key) return true;
    if (joins_[i] == kEmpty) return false;
  }
}

void Bpe::encode(std::string_view piece, BpeScratch& s, std::vector<int32_t>& out) const {
  if (piece.empty()) return;
  if (!cuts_) return encode_part(piece, s, out);
  size_t begin = 0;
  Utf8Char last = utf8_at(piece, 0);
  for (size_t i = last.len; i < piece.size();) {
    Utf8Char c = utf8_at(piece, i);
    if (!joined(last.cp, c.cp)) {
      encode_part(piece.substr(begin, i - begin), s, out);
      begin = i;
    }
    last = c;
    i += c.len;
  }
  encode_part(piece.substr(begin), s, out);
}

void Bpe::encode_part(std::string_view part, BpeScratch& s, std::vector<int32_t>& out) const {
  BpeCache::Entry* entry = nullptr;
  if (part.size() <= BpeCache::kKey) {
    entry = &s.cache.slot(hash_bytes(part.data(), part.size()));
    if (entry->key_len == part.size() && std::memcmp(entry->key, part.data(), part.size()) == 0) {
      out.insert(out.end(), entry->ids, entry->ids + entry->n);
      return;
    }
  }
  s.ids.clear();
  if (options.ignore_merges) {
    std::string_view name = part;
    if (byte_level_) {
      s.spelled.clear();
      to_byte_level(part, s.spelled);
      name = s.spelled;
    }
    if (int32_t id = vocab.find(name); id >= 0) s.ids.push_back(id);
  }
  if (s.ids.empty()) {
    spell(part, s);
    if (s.ids.size() <= kShort) {
      merge_short(s.ids, s);
    } else {
      merge_long(s.ids, s);
    }
  }
  out.insert(out.end(), s.ids.begin(), s.ids.end());
  if (entry && s.ids.size() <= BpeCache::kIds) {
    entry->key_len = static_cast<uint8_t>(part.size());
    entry->n = static_cast<uint8_t>(s.ids.size());
    std::copy(part.begin(), part.end(), entry->key);
    std::copy(s.ids.begin(), s.ids.end(), entry->ids);
  }
}

// First symbols. An unknown character waits in `unk` until the next known one, as in the reference: bytes of a
// fallback in between come out before it.
void Bpe::spell(std::string_view part, BpeScratch& s) const {
  bool plain = options.continuing_subword_prefix.empty() && options.end_of_word_suffix.empty();
  if (byte_level_ && plain && bytes_complete_) {
    for (char b : part) s.ids.push_back(byte_id_[static_cast<unsigned char>(b)]);
    return;
  }
  std::string spelled;
  if (byte_level_) {
    to_byte_level(part, spelled);
    part = spelled;
  }
  int32_t unk = -1;
  std::string buffer;
  for (size_t i = 0; i < part.size();) {
    size_t len = utf8_at(part, i).len;
    std::string_view c = part.substr(i, len);
    if (!plain) {
      buffer.clear();
      if (i > 0) buffer += options.continuing_subword_prefix;
      buffer += c;
      if (i + len == part.size()) buffer += options.end_of_word_suffix;
      c = buffer;
    }
    i += len;
    if (int32_t id = vocab.find(c); id >= 0) {
      if (unk >= 0) s.ids.push_back(unk);
      unk = -1;
      s.ids.push_back(id);
      continue;
    }
    if (options.byte_fallback && !byte_level_ &&
        std::all_of(c.begin(), c.end(), [&](char b) { return byte_id_[static_cast<unsigned char>(b)] >= 0; })) {
      for (char b : c) s.ids.push_back(byte_id_[static_cast<unsigned char>(b)]);
      continue;
    }
    if (unk_ < 0) continue;  // the reference leaves such characters out
    if (unk >= 0 && !options.fuse_unk) s.ids.push_back(unk);
    unk = unk_;
  }
  if (unk >= 0) s.ids.push_back(unk);
}

void Bpe::merge_short(std::vector<int32_t>& ids, BpeScratch& s) const {
  size_t n = ids.size();
  s.ranks.assign(n, kNoRank);
  s.made.resize(n);
  auto look = [&](size_t i) {
    const Slot* m = i + 1 < n ? find(ids[i], ids[i + 1]) : nullptr;
    s.ranks[i] = m ? m->rank : kNoRank;
    if (m) s.made[i] = m->made;
  };
  for (size_t i = 0; i + 1 < n; ++i) look(i);
  while (n > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < n; ++i)
      if (s.ranks[i] < s.ranks[best]) best = i;
    if (s.ranks[best] == kNoRank) break;
    ids[best] = s.made[best];
    for (size_t i = best + 1; i + 1 < n; ++i) {
      ids[i] = ids[i + 1];
      s.ranks[i] = s.ranks[i + 1];
      s.made[i] = s.made[i + 1];
    }
    --n;
    if (best > 0) look(best - 1);
    look(best);
  }
  ids.resize(n);
}

void Bpe::merge_long(std::vector<int32_t>& ids, BpeScratch& s) const {
  auto& sym = s.symbols;
  auto& heap = s.heap;
  auto n = static_cast<int32_t>(ids.size());
  sym.resize(ids.size());
  heap.clear();
  for (int32_t i = 0; i < n; ++i)
    sym[static_cast<size_t>(i)] = {ids[static_cast<size_t>(i)], i - 1, i + 1 < n ? i + 1 : -1};
  auto later = [](const BpeScratch::Candidate& a, const BpeScratch::Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.pos > b.pos;
  };
  auto at = [&](int32_t i) -> BpeScratch::Symbol& { return sym[static_cast<size_t>(i)]; };
  auto offer = [&](int32_t pos, bool push) {
    if (pos < 0 || at(pos).next < 0) return;
    int32_t a = at(pos).id, b = at(at(pos).next).id;
    if (const Slot* m = find(a, b)) {
      heap.push_back({m->rank, pos, m->made, a, b});
      if (push) std::push_heap(heap.begin(), heap.end(), later);
    }
  };
  for (int32_t i = 0; i < n; ++i) offer(i, false);
  std::make_heap(heap.begin(), heap.end(), later);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    BpeScratch::Candidate c = heap.back();
    heap.pop_back();
    auto& left = at(c.pos);
    // Stale when either side has changed since; merged-away symbols carry id -1.
    if (left.id != c.left || left.next < 0 || at(left.next).id != c.right) continue;
    auto& right = at(left.next);
    left.id = c.id;
    right.id = -1;
    left.next = right.next;
    if (left.next >= 0) at(left.next).prev = c.pos;
    offer(left.prev, true);
    offer(c.pos, true);
  }
  ids.clear();
  for (int32_t i = 0; i >= 0; i = at(i).next) ids.push_back(at(i).id);
}

}  // namespace quern::text
