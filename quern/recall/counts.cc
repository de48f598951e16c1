#include "quern/recall/counts.h"

#include <algorithm>
#include <atomic>

#include "quern/base/threads.h"

namespace quern {
namespace {

constexpr size_t kShares = 16;  // of the key space, by the keys' high bits
size_t share_of(uint64_t key) { return key >> 60; }

struct Place {
  uint64_t key, at;
};

// One part of the chunks: its keys one after another, and the same by share with their places.
struct Part {
  size_t first_chunk = 0, end_chunk = 0;
  std::vector<uint64_t> keys;
  std::vector<uint32_t> words;      // a chunk
  std::vector<uint64_t> signature;  // a chunk: of its words, in whatever order
  uint64_t base = 0;                // place of its first key
};

void read_part(std::string_view text, std::span<const Chunk> chunks, const TokenOptions& options, Part& p) {
  WordKeys keys(options);
  p.keys.reserve((chunks[p.end_chunk - 1].end - chunks[p.first_chunk].begin) / 5);
  for (size_t c = p.first_chunk; c < p.end_chunk; ++c) {
    const size_t before = p.keys.size();
    keys.append(text.substr(chunks[c].begin, chunks[c].end - chunks[c].begin), p.keys);
    uint64_t sum = 0;
    for (size_t i = before; i < p.keys.size(); ++i) sum += mix64(p.keys[i]);
    p.words.push_back(static_cast<uint32_t>(p.keys.size() - before));
    p.signature.push_back(mix64(sum + 0x9e3779b97f4a7c15ull * p.words.back()));
  }
}

std::vector<Part> read_parts(std::string_view text, std::span<const Chunk> chunks, const TokenOptions& options) {
  const size_t n = std::clamp<size_t>(chunks.size() / 256, 1, 4 * static_cast<size_t>(thread_count()));
  std::vector<Part> parts(n);
  for (size_t i = 0; i < n; ++i)
    parts[i].first_chunk = chunks.size() * i / n, parts[i].end_chunk = chunks.size() * (i + 1) / n;
  parallel_dynamic(static_cast<int64_t>(n),
                   [&](int64_t i) { read_part(text, chunks, options, parts[static_cast<size_t>(i)]); });
  return parts;
}

// Which chunks open a row of their own.
void share_rows(std::vector<Part>& parts, TermCounts& t) {
  size_t chunks = 0;
  for (const Part& p : parts) chunks += p.words.size();
  KeyMap rows(chunks);
  t.row.reserve(chunks);
  for (Part& p : parts)
    for (size_t c = 0; c < p.words.size(); ++c) {
      if (c + 12 < p.words.size()) rows.prefetch(p.signature[c + 12]);
      const uint32_t r = rows.insert(p.signature[c], static_cast<uint32_t>(t.length.size()));
      if (r == t.length.size()) t.length.push_back(p.words[c]), t.copies.push_back(0);
      ++t.copies[r];
      t.row.push_back(r);
    }
}

}  // namespace

TermCounts count_terms(std::string_view text, std::span<const Chunk> chunks, const TokenOptions& options) {
  TermCounts t;
  if (chunks.empty()) return t;
  if (chunks.size() >= KeyMap::kNone)
    fail("{} chunks are more than an index takes ({})", chunks.size(), KeyMap::kNone);
  std::vector<Part> parts = read_parts(text, chunks, options);
  share_rows(parts, t);
  // Keys of first copies by share, with their places in row order.
  std::vector<uint64_t> row_begin(t.rows() + 1);
  for (size_t r = 0; r < t.rows(); ++r) row_begin[r + 1] = row_begin[r] + t.length[r];
  std::vector<std::vector<std::vector<Place>>> places(parts.size(), std::vector<std::vector<Place>>(kShares));
  parallel_dynamic(static_cast<int64_t>(parts.size()), [&](int64_t i) {
    const Part& p = parts[static_cast<size_t>(i)];
    auto& mine = places[static_cast<size_t>(i)];
    for (auto& m : mine) m.reserve(p.keys.size() / kShares * 5 / 4 + 16);
    // A chunk is its row's first copy when no earlier chunk has the row: rows are numbered by first appearance.
    uint32_t seen = 0;
    for (size_t c = 0; c < p.first_chunk; ++c) seen = std::max(seen, t.row[c] + 1);
    size_t at = 0;
    for (size_t c = 0; c < p.words.size(); ++c) {
      const uint32_t r = t.row[p.first_chunk + c];
      if (r == seen) {
        ++seen;
        for (size_t w = 0; w < p.words[c]; ++w)
          mine[share_of(p.keys[at + w])].push_back({p.keys[at + w], row_begin[r] + w});
      }
      at += p.words[c];
    }
  });
  // Numbers within a share, then document frequencies and the order by them.
  std::vector<uint32_t> id(row_begin.back());
  std::vector<std::vector<uint64_t>> fresh(kShares);
  parallel_dynamic(kShares, [&](int64_t s) {
    KeyMap map(1024);
    auto& keys = fresh[static_cast<size_t>(s)];
    for (const auto& part : places) {
      const std::vector<Place>& list = part[static_cast<size_t>(s)];
      for (size_t i = 0; i < list.size(); ++i) {
        if (i + 12 < list.size()) map.prefetch(list[i + 12].key);
        const uint32_t v = map.insert(list[i].key << 4 | list[i].key >> 60, static_cast<uint32_t>(keys.size()));
        if (v == keys.size()) keys.push_back(list[i].key);
        id[list[i].at] = v;
      }
    }
  });
  std::vector<uint32_t> offset(kShares + 1);
  for (size_t s = 0; s < kShares; ++s) offset[s + 1] = offset[s] + static_cast<uint32_t>(fresh[s].size());
  parallel_dynamic(static_cast<int64_t>(parts.size()), [&](int64_t i) {
    for (size_t s = 0; s < kShares; ++s)
      for (const Place& p : places[static_cast<size_t>(i)][s]) id[p.at] += offset[s];
  });
  places.clear();
  const size_t terms = offset[kShares];
  // Each row's own words, once each with their counts, packed in place.
  std::vector<uint32_t> distinct(t.rows()), counts(id.size());
  parallel_for(static_cast<int64_t>(t.rows()), 4096, [&](int64_t b, int64_t e) {
    for (auto r = static_cast<size_t>(b); r < static_cast<size_t>(e); ++r) {
      uint32_t* w = id.data() + row_begin[r];
      uint32_t* c = counts.data() + row_begin[r];
      std::sort(w, w + t.length[r]);
      uint32_t n = 0;
      for (uint32_t i = 0; i < t.length[r]; ++i) {
        if (n > 0 && w[n - 1] == w[i]) {
          ++c[n - 1];
        } else {
          w[n] = w[i], c[n] = 1, ++n;
        }
      }
      distinct[r] = n;
    }
  });
  std::vector<uint32_t> df(terms);
  t.begin.assign(t.rows() + 1, 0);
  for (size_t r = 0; r < t.rows(); ++r) {
    t.begin[r + 1] = t.begin[r] + distinct[r];
    for (uint32_t i = 0; i < distinct[r]; ++i) ++df[id[row_begin[r] + i]];
  }
  std::vector<uint64_t> key_of(terms);
  for (size_t s = 0; s < kShares; ++s) std::copy(fresh[s].begin(), fresh[s].end(), key_of.begin() + offset[s]);
  // Counting sort by document frequency; equal ones keep their order by share and first appearance, which does not
  // depend on threads.
  const uint32_t most = terms == 0 ? 0 : *std::max_element(df.begin(), df.end());
  std::vector<uint32_t> first(most + 2), rank(terms);
  for (const uint32_t f : df) ++first[f + 1];
  for (size_t f = 1; f < first.size(); ++f) first[f] += first[f - 1];
  t.documents.resize(terms), t.keys.resize(terms);
  for (size_t v = 0; v < terms; ++v) {
    rank[v] = first[df[v]]++;
    t.documents[rank[v]] = df[v], t.keys[rank[v]] = key_of[v];
  }
  t.term.resize(t.begin.back()), t.count.resize(t.begin.back());
  parallel_for(static_cast<int64_t>(t.rows()), 4096, [&](int64_t b, int64_t e) {
    std::vector<std::pair<uint32_t, uint32_t>> row;
    for (auto r = static_cast<size_t>(b); r < static_cast<size_t>(e); ++r) {
      row.clear();
      for (uint32_t i = 0; i < distinct[r]; ++i)
        row.emplace_back(rank[id[row_begin[r] + i]], counts[row_begin[r] + i]);
      std::sort(row.begin(), row.end());
      for (size_t i = 0; i < row.size(); ++i)
        t.term[t.begin[r] + i] = row[i].first, t.count[t.begin[r] + i] = row[i].second;
    }
  });
  return t;
}

}  // namespace quern
