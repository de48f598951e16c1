#include "quern/recall/bm25/counts.h"

#include <algorithm>
#include <array>
#include <bit>

#include "quern/base/threads.h"

namespace quern::recall {
namespace {

// Keys go to shares by their high bits: a share's table fits the second cache, and shares follow one another in the
// order of keys.
constexpr int kShareBits = 6;
constexpr size_t kShares = size_t{1} << kShareBits;
constexpr uint32_t kLocalBits = 32 - kShareBits;
size_t share_of(uint64_t key) { return key >> (64 - kShareBits); }
uint64_t inside_share(uint64_t key) { return std::rotl(key, kShareBits); }

struct TermPosition {
  uint64_t key;
  uint32_t row, word;
};
struct Copy {
  uint64_t signature;  // of a chunk's words, in whatever order
  uint32_t chunk;
};
template <class T>
using Shares = std::array<std::vector<T>, kShares>;

// One part of the chunks.
struct TextSlice {
  size_t first_chunk = 0, end_chunk = 0;
  std::vector<uint64_t> keys;
  std::vector<uint32_t> words;  // a chunk
  Shares<Copy> copies;
  Shares<TermPosition> places;  // of words in chunks that open a row
};

void read_part(std::string_view text, std::span<const Chunk> chunks, const TokenOptions& options,
               std::span<const std::string_view> context, TextSlice& p) {
  WordKeys keys(options);
  p.keys.reserve((chunks[p.end_chunk - 1].end - chunks[p.first_chunk].begin) / 5);
  for (size_t c = p.first_chunk; c < p.end_chunk; ++c) {
    const size_t before = p.keys.size();
    keys.append(text.substr(chunks[c].begin, chunks[c].end - chunks[c].begin), p.keys);
    if (!context.empty()) keys.append(context[c], p.keys);
    uint64_t sum = 0;
    for (size_t i = before; i < p.keys.size(); ++i) sum += mix64(p.keys[i]);
    p.words.push_back(static_cast<uint32_t>(p.keys.size() - before));
    const uint64_t signature = mix64(sum + 0x9e3779b97f4a7c15ull * p.words.back());
    p.copies[share_of(signature)].push_back({signature, static_cast<uint32_t>(c)});
  }
}

std::vector<TextSlice> read_parts(std::string_view text, std::span<const Chunk> chunks, const TokenOptions& options,
                                  std::span<const std::string_view> context) {
  const size_t n = std::clamp<size_t>(chunks.size() / 256, 1, 4 * static_cast<size_t>(thread_count()));
  std::vector<TextSlice> parts(n);
  for (size_t i = 0; i < n; ++i)
    parts[i].first_chunk = chunks.size() * i / n, parts[i].end_chunk = chunks.size() * (i + 1) / n;
  parallel_dynamic(static_cast<int64_t>(n),
                   [&](int64_t i) { read_part(text, chunks, options, context, parts[static_cast<size_t>(i)]); });
  return parts;
}

// Rows by the first appearance of their words. Returns each chunk's first copy.
std::vector<uint32_t> share_rows(const std::vector<TextSlice>& parts, size_t chunks, TermCounts& t) {
  std::vector<uint32_t> first(chunks);
  parallel_dynamic(kShares, [&](int64_t s) {
    size_t n = 0;
    for (const TextSlice& p : parts) n += p.copies[static_cast<size_t>(s)].size();
    KeyMap map(n);
    for (const TextSlice& p : parts)
      for (const Copy& c : p.copies[static_cast<size_t>(s)])
        first[c.chunk] = map.insert(inside_share(c.signature), c.chunk);
  });
  t.row.resize(chunks), t.length.reserve(chunks), t.copies.reserve(chunks);
  size_t c = 0;
  for (const TextSlice& p : parts)
    for (const uint32_t words : p.words) {
      if (first[c] == c) {
        t.row[c] = static_cast<uint32_t>(t.length.size());
        t.length.push_back(words), t.copies.push_back(1);
      } else {
        t.row[c] = t.row[first[c]];
        ++t.copies[t.row[c]];
      }
      ++c;
    }
  return first;
}

void place_words(TextSlice& p, std::span<const uint32_t> first, const TermCounts& t) {
  for (auto& list : p.places) list.reserve(p.keys.size() / kShares * 5 / 4 + 16);
  size_t at = 0;
  for (size_t c = p.first_chunk; c < p.end_chunk; ++c) {
    const uint32_t words = p.words[c - p.first_chunk];
    if (first[c] == c)
      for (uint32_t w = 0; w < words; ++w)
        p.places[share_of(p.keys[at + w])].push_back({p.keys[at + w], t.row[c], w});
    at += words;
  }
}

// A share's words in the order of their keys.
struct ShareTerms {
  std::vector<uint64_t> keys;
  std::vector<uint32_t> documents, order;  // order: number by first appearance, as ids have it
};

ShareTerms number_share(const std::vector<TextSlice>& parts, size_t share, std::span<const uint64_t> row_begin,
                        std::span<uint32_t> id) {
  struct Found {
    uint64_t key;
    uint32_t documents, last_row;
  };
  size_t words = 0;
  for (const TextSlice& p : parts) words += p.places[share].size();
  KeyMap map(words / 2);
  std::vector<Found> found;
  for (const TextSlice& p : parts)
    for (const TermPosition& w : p.places[share]) {
      const uint32_t v = map.insert(inside_share(w.key), static_cast<uint32_t>(found.size()));
      if (v == found.size()) found.push_back({w.key, 0, KeyMap::kNone});
      Found& f = found[v];
      f.documents += f.last_row != w.row, f.last_row = w.row;
      id[row_begin[w.row] + w.word] = static_cast<uint32_t>(share << kLocalBits) | v;
    }
  if (found.size() >> kLocalBits != 0)
    fail("{} million different words exceed the limit of an index", found.size() * kShares >> 20);
  // The table holds keys nearly in their order: each has few places to go.
  ShareTerms t;
  t.order.reserve(found.size());
  for (const KeyMap::Slot& s : map.slots()) {
    if (s.value == KeyMap::kNone) continue;
    size_t at = t.order.size();
    t.order.push_back(s.value);
    for (; at > 0 && found[t.order[at - 1]].key > found[s.value].key; --at) t.order[at] = t.order[at - 1];
    t.order[at] = s.value;
  }
  for (const uint32_t v : t.order) t.keys.push_back(found[v].key), t.documents.push_back(found[v].documents);
  return t;
}

void sort_row(uint32_t* w, size_t n) {
  if (n > 32) return std::sort(w, w + n);
  for (size_t i = 1; i < n; ++i) {
    const uint32_t x = w[i];
    size_t at = i;
    for (; at > 0 && w[at - 1] > x; --at) w[at] = w[at - 1];
    w[at] = x;
  }
}

}  // namespace

TermCounts count_terms(std::string_view text, std::span<const Chunk> chunks, const TokenOptions& options,
                       std::span<const std::string_view> context) {
  TermCounts t;
  if (chunks.empty()) return t;
  if (chunks.size() >= KeyMap::kNone)
    fail("{} chunks exceed the limit of an index, {}", chunks.size(), KeyMap::kNone);
  std::vector<TextSlice> parts = read_parts(text, chunks, options, context);
  const std::vector<uint32_t> first = share_rows(parts, chunks.size(), t);
  std::vector<uint64_t> row_begin(t.rows() + 1);
  for (size_t r = 0; r < t.rows(); ++r) row_begin[r + 1] = row_begin[r] + t.length[r];
  parallel_dynamic(static_cast<int64_t>(parts.size()),
                   [&](int64_t i) { place_words(parts[static_cast<size_t>(i)], first, t); });
  std::vector<uint32_t> id(row_begin.back());
  std::vector<ShareTerms> shares(kShares);
  parallel_dynamic(kShares, [&](int64_t s) {
    shares[static_cast<size_t>(s)] = number_share(parts, static_cast<size_t>(s), row_begin, id);
  });
  parts.clear();

  // Counting sort by document frequency; equal ones stay in the order of their keys.
  std::array<size_t, kShares + 1> offset{};
  uint32_t maximum = 0;
  for (size_t s = 0; s < kShares; ++s) {
    offset[s + 1] = offset[s] + shares[s].keys.size();
    for (const uint32_t d : shares[s].documents) maximum = std::max(maximum, d);
  }
  const size_t terms = offset[kShares];
  std::vector<uint32_t> next(size_t{maximum} + 2), rank(terms);
  for (const ShareTerms& s : shares)
    for (const uint32_t d : s.documents) ++next[d + 1];
  for (size_t d = 1; d < next.size(); ++d) next[d] += next[d - 1];
  t.documents.resize(terms), t.keys.resize(terms);
  for (size_t s = 0; s < kShares; ++s)
    for (size_t i = 0; i < shares[s].keys.size(); ++i) {
      const uint32_t v = next[shares[s].documents[i]]++;
      rank[offset[s] + shares[s].order[i]] = v;
      t.documents[v] = shares[s].documents[i], t.keys[v] = shares[s].keys[i];
    }
  shares.clear();

  // Each row's own words, once each with their counts: packed in place, then together.
  std::vector<uint32_t> count(id.size(), 1);
  t.begin.assign(t.rows() + 1, 0);
  parallel_for(static_cast<int64_t>(t.rows()), 4096, [&](int64_t b, int64_t e) {
    for (auto r = static_cast<size_t>(b); r < static_cast<size_t>(e); ++r) {
      uint32_t* const w = id.data() + row_begin[r];
      uint32_t* const c = count.data() + row_begin[r];
      for (uint32_t i = 0; i < t.length[r]; ++i) {
        constexpr uint32_t kLocal = (1u << kLocalBits) - 1;
        w[i] = rank[offset[w[i] >> kLocalBits] + (w[i] & kLocal)];
      }
      sort_row(w, t.length[r]);
      uint32_t n = 0;
      for (uint32_t i = 0; i < t.length[r]; ++i) {
        if (n > 0 && w[n - 1] == w[i]) {
          ++c[n - 1];
        } else {
          w[n++] = w[i];
        }
      }
      t.begin[r + 1] = n;
    }
  });
  for (size_t r = 0; r < t.rows(); ++r) t.begin[r + 1] += t.begin[r];
  if (t.begin.back() == id.size()) {  // no row says a word twice
    t.term = std::move(id), t.count = std::move(count);
    return t;
  }
  t.term.resize(t.begin.back()), t.count.resize(t.begin.back());
  parallel_for(static_cast<int64_t>(t.rows()), 4096, [&](int64_t b, int64_t e) {
    for (auto r = static_cast<size_t>(b); r < static_cast<size_t>(e); ++r) {
      const auto n = static_cast<std::ptrdiff_t>(t.begin[r + 1] - t.begin[r]);
      const auto from = static_cast<std::ptrdiff_t>(row_begin[r]), to = static_cast<std::ptrdiff_t>(t.begin[r]);
      std::copy_n(id.begin() + from, n, t.term.begin() + to);
      std::copy_n(count.begin() + from, n, t.count.begin() + to);
    }
  });
  return t;
}

}  // namespace quern::recall
