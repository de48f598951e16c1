#include "quern/recall/bm25/postings.h"

#include <algorithm>

#include "quern/base/threads.h"

namespace quern::recall {
namespace {

constexpr uint32_t kFirstCapacity = 2, kLargestCapacity = 128, kLargestCount = 0xffff;

}  // namespace

uint32_t Postings::new_block(uint32_t capacity) {
  const uint32_t words = 4 + capacity + capacity / 2;
  if (used_ + words > kSlabWords) {
    if (slabs_.size() >= kNoBlock / kSlabWords) fail("the index is full: it has 16 GiB of postings");
    slabs_.push_back(std::make_unique<uint32_t[]>(kSlabWords));
    slab_pointers_.push_back(slabs_.back().get());
    used_ = 0;
  }
  const uint32_t ref = static_cast<uint32_t>(slabs_.size() - 1) * kSlabWords + used_;
  used_ += words;
  uint32_t* w = block(ref);
  w[0] = kNoBlock, w[1] = capacity << 16, w[2] = 0, w[3] = 0xffffffffu;
  return ref;
}

void Postings::append(TermEntry& t, uint32_t document, uint32_t count, uint32_t length) {
  uint32_t* w = nullptr;
  if (t.head == kNoBlock) {
    t.head = t.tail = new_block(kFirstCapacity);
    w = block(t.tail);
  } else {
    w = block(t.tail);
    const uint32_t n = w[1] & 0xffff, capacity = w[1] >> 16;
    if (n > 0 && w[4 + n - 1] == document) {  // again in the same document
      auto* c = reinterpret_cast<uint16_t*>(w + 4 + capacity) + (n - 1);
      *c = static_cast<uint16_t>(std::min(*c + count, kLargestCount));
      w[2] = std::max<uint32_t>(w[2], *c);
      t.max_count = std::max<uint32_t>(t.max_count, *c);
      return;
    }
    if (n == capacity) {
      const uint32_t fresh = new_block(std::min(2 * capacity, kLargestCapacity));
      block(t.tail)[0] = fresh;
      t.tail = fresh;
      w = block(fresh);
    }
  }
  const uint32_t n = w[1] & 0xffff, capacity = w[1] >> 16;
  w[4 + n] = document;
  reinterpret_cast<uint16_t*>(w + 4 + capacity)[n] = static_cast<uint16_t>(std::min(count, kLargestCount));
  ++w[1];
  w[2] = std::max(w[2], std::min(count, kLargestCount)), w[3] = std::min(w[3], length);
  ++t.documents;
  t.max_count = std::max(t.max_count, std::min(count, kLargestCount));
  t.min_length = std::min(t.min_length, length);
}

// Terms lie one after another, each with all its blocks, whose sizes are known; threads fill ranges of terms.
Postings Postings::of(const TermCounts& counts) {
  Postings p;
  p.lengths_ = counts.length;
  for (const uint32_t l : p.lengths_) p.words_ += l;
  const size_t terms = counts.terms();
  p.terms_.assign(terms, {kNoBlock, kNoBlock, 0, 0, 0xffffffffu});
  std::vector<uint64_t> before(terms + 1);  // postings of the terms before
  for (uint32_t v = 0; v < terms; ++v) {
    TermEntry& t = p.terms_[v];
    t.documents = counts.documents[v];
    before[v + 1] = before[v] + t.documents;
    for (uint32_t left = t.documents; left > 0;) {
      const uint32_t size = std::min(left, kLargestCapacity), fresh = p.new_block(size + size % 2);
      t.head == kNoBlock ? t.head = fresh : p.block(t.tail)[0] = fresh;
      t.tail = fresh, left -= size;
    }
  }
  const auto ranges = static_cast<uint64_t>(thread_count());
  const auto cut = [&](uint64_t i) {
    return static_cast<uint32_t>(
        i == ranges ? terms
                    : std::lower_bound(before.begin(), before.end(), before[terms] * i / ranges) - before.begin());
  };
  parallel_dynamic(static_cast<int64_t>(ranges) + 1, [&](int64_t part) {
    if (part == 0) {
      p.keys_ = KeyMap(terms);
      for (uint32_t v = 0; v < terms; ++v) {
        if (v + 12 < terms) p.keys_.prefetch(counts.keys[v + 12]);
        p.keys_.insert(counts.keys[v], v);
      }
    } else {
      p.fill(counts, cut(static_cast<uint64_t>(part) - 1), cut(static_cast<uint64_t>(part)));
    }
  });
  return p;
}

void Postings::fill(const TermCounts& counts, uint32_t first, uint32_t end) {
  if (first >= end) return;
  std::vector<uint32_t> at(end - first);  // the block that is being filled
  for (uint32_t v = first; v < end; ++v) at[v - first] = terms_[v].head;
  constexpr size_t kAhead = 16;
  for (uint32_t r = 0; r < counts.rows(); ++r)
    for (uint64_t i = counts.begin[r]; i < counts.begin[r + 1]; ++i) {
      if (i + 2 * kAhead < counts.term.size()) {
        if (const uint32_t v = counts.term[i + 2 * kAhead] - first; v < end - first) __builtin_prefetch(&at[v]);
        if (const uint32_t v = counts.term[i + kAhead] - first; v < end - first && at[v] != kNoBlock)
          __builtin_prefetch(block(at[v]), 1);
      }
      const uint32_t v = counts.term[i] - first;
      if (v >= end - first) continue;
      uint32_t* const w = block(at[v]);
      const uint32_t n = w[1] & 0xffff, capacity = w[1] >> 16, count = std::min(counts.count[i], kLargestCount);
      w[4 + n] = r;
      reinterpret_cast<uint16_t*>(w + 4 + capacity)[n] = static_cast<uint16_t>(count);
      ++w[1];
      w[2] = std::max(w[2], count), w[3] = std::min(w[3], counts.length[r]);
      if (n + 1 == capacity) at[v] = w[0];
    }
  for (uint32_t v = first; v < end; ++v) {
    TermEntry& t = terms_[v];
    for (uint32_t ref = t.head; ref != kNoBlock; ref = block(ref)[0]) {
      t.max_count = std::max(t.max_count, block(ref)[2]), t.min_length = std::min(t.min_length, block(ref)[3]);
    }
  }
}

uint32_t Postings::add(std::span<const uint64_t> keys) {
  if (lengths_.size() >= kNoBlock) fail("the index is full: it has {} documents", lengths_.size());
  const auto document = static_cast<uint32_t>(lengths_.size());
  ids_.resize(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i + 8 < keys.size()) keys_.prefetch(keys[i + 8]);
    ids_[i] = keys_.insert(keys[i], static_cast<uint32_t>(terms_.size()));
    if (ids_[i] == terms_.size()) terms_.push_back({kNoBlock, kNoBlock, 0, 0, 0xffffffffu});
    __builtin_prefetch(&terms_[ids_[i]], 1);
  }
  for (size_t i = 0; i < ids_.size(); ++i) {
    if (i + 4 < ids_.size())
      if (const uint32_t tail = terms_[ids_[i + 4]].tail; tail != kNoBlock) __builtin_prefetch(block(tail), 1);
    append(terms_[ids_[i]], document, 1, static_cast<uint32_t>(keys.size()));
  }
  lengths_.push_back(static_cast<uint32_t>(keys.size()));
  words_ += keys.size();
  return document;
}

void Postings::erase(std::span<const uint64_t> gone) {
  const auto is_gone = [&](uint32_t d) { return d / 64 < gone.size() && (gone[d / 64] >> (d % 64) & 1); };
  std::vector<uint32_t> moved(lengths_.size());
  uint32_t kept = 0;
  Postings fresh;
  for (uint32_t d = 0; d < lengths_.size(); ++d) {
    moved[d] = kept;
    if (is_gone(d)) continue;
    fresh.lengths_.push_back(lengths_[d]);
    fresh.words_ += lengths_[d];
    ++kept;
  }
  const PostingsView all = view();
  for (const KeyMap::Slot& s : keys_.slots()) {
    if (s.value == KeyMap::kNone) continue;
    TermEntry t{kNoBlock, kNoBlock, 0, 0, 0xffffffffu};
    for (uint32_t ref = terms_[s.value].head; ref != kNoBlock; ref = all.block(ref).next()) {
      const PostingBlock b = all.block(ref);
      for (uint32_t i = 0; i < b.count(); ++i)
        if (!is_gone(b.documents()[i]))
          fresh.append(t, moved[b.documents()[i]], b.counts()[i], lengths_[b.documents()[i]]);
    }
    if (t.documents == 0) continue;
    fresh.keys_.insert(s.key, static_cast<uint32_t>(fresh.terms_.size()));
    fresh.terms_.push_back(t);
  }
  *this = std::move(fresh);
}

PostingsView Postings::view() const {
  return {.slabs = slab_pointers_, .keys = keys_.slots(), .terms = terms_, .lengths = lengths_, .dead = {}};
}

size_t Postings::bytes() const {
  return slabs_.size() * kSlabWords * 4 + keys_.slots().size_bytes() + terms_.size() * sizeof(TermEntry) +
         lengths_.size() * 4;
}

}  // namespace quern::recall
