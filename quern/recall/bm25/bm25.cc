#include "quern/recall/bm25/bm25.h"

#include <algorithm>

namespace quern::recall {
namespace {

uint64_t id_key(int64_t id) { return mix64(static_cast<uint64_t>(id) + 0x9e3779b97f4a7c15ull); }  // one to one

}  // namespace

Bm25Index::Bm25Index(TokenOptions words, Bm25Options options) : keys_(words), options_(options) {
  if (!(options.k1 > 0) || !(options.b >= 0 && options.b <= 1))
    fail("BM25: k1 = {} and b = {}, expected k1 above 0 and b from 0 to 1", options.k1, options.b);
}

uint32_t Bm25Index::document_of(int64_t id) const {
  if (!ascending_) return documents_.find(id_key(id));
  const auto at = std::lower_bound(ids_.begin(), ids_.end(), id);
  return at != ids_.end() && *at == id ? static_cast<uint32_t>(at - ids_.begin()) : KeyMap::kNone;
}

void Bm25Index::add(int64_t id, std::string_view text) {
  if (ascending_ && !ids_.empty() && id < ids_.back()) {
    ascending_ = false;
    for (size_t d = 0; d < ids_.size(); ++d) documents_.insert(id_key(ids_[d]), static_cast<uint32_t>(d));
  }
  if (document_of(id) != KeyMap::kNone) fail("document {} is in the index already", id);
  scratch_.clear();
  keys_.append(text, scratch_);
  const uint32_t document = postings_.add(scratch_);
  ids_.push_back(id);
  if (!ascending_) documents_.insert(id_key(id), document);
}

size_t Bm25Index::remove(std::span<const int64_t> ids) {
  std::vector<uint64_t> gone((ids_.size() + 63) / 64);
  size_t n = 0;
  for (const int64_t id : ids) {
    const uint32_t d = document_of(id);
    if (d == KeyMap::kNone || (gone[d / 64] >> (d % 64) & 1)) continue;
    gone[d / 64] |= uint64_t{1} << (d % 64);
    ++n;
  }
  if (n == 0) return 0;
  postings_.erase(gone);
  size_t kept = 0;
  for (size_t d = 0; d < ids_.size(); ++d)
    if (!(gone[d / 64] >> (d % 64) & 1)) ids_[kept++] = ids_[d];
  ids_.resize(kept);
  documents_ = KeyMap();
  if (!ascending_)
    for (size_t d = 0; d < kept; ++d) documents_.insert(id_key(ids_[d]), static_cast<uint32_t>(d));
  return n;
}

std::vector<ScoredDocument> Bm25Index::top(std::string_view query, size_t k,
                                           std::optional<std::span<const int64_t>> allowed) const {
  std::vector<uint64_t> keys;
  for_each_word(query, [&](size_t begin, size_t end) {
    const std::string form = normal_form(query.substr(begin, end - begin), keys_.options());
    if (!form.empty()) keys.push_back(word_key(form));
  });
  const PostingsView view = postings_.view();
  std::vector<QueryTerm> terms = query_terms(keys);
  for (QueryTerm& t : terms)
    if (const TermEntry* e = view.find(t.key)) t.documents = e->documents;
  const Collection c{.documents = ids_.size(), .words = postings_.words()};
  std::vector<RankedDocument> best;
  if (!allowed) {
    best = rank_top(view, terms, c, options_, k);
  } else {
    std::vector<uint32_t> documents;
    for (const int64_t id : *allowed)
      if (const uint32_t d = document_of(id); d != KeyMap::kNone) documents.push_back(d);
    if (!std::is_sorted(documents.begin(), documents.end())) std::sort(documents.begin(), documents.end());
    if (documents.size() < ids_.size() / 32) {
      best = rank_among(view, terms, c, options_, k, documents);
    } else {
      std::vector<uint64_t> bits((ids_.size() + 63) / 64);
      for (const uint32_t d : documents) bits[d / 64] |= uint64_t{1} << (d % 64);
      if (!bits.empty()) best = rank_top(view, terms, c, options_, k, bits);
    }
  }
  std::vector<ScoredDocument> hits;
  for (const RankedDocument& r : best) hits.push_back({ids_[r.document], r.score});
  return hits;
}

Bm25Part Bm25Index::part() const {
  QUERN_CHECK(ascending_);
  return {postings_.view(), ids_, postings_.words()};
}

std::vector<ScoredDocument> top_across(std::span<const Bm25Part> parts, const TokenOptions& words,
                                       const Bm25Options& options, std::string_view query, size_t k,
                                       std::optional<std::span<const int64_t>> allowed) {
  std::vector<uint64_t> keys;
  for (const std::string& w : words_of(query, words)) keys.push_back(word_key(w));
  std::vector<QueryTerm> terms = query_terms(keys);
  Collection c;
  for (const Bm25Part& p : parts) {
    c.documents += p.ids.size(), c.words += p.words;
    for (QueryTerm& t : terms)
      if (const TermEntry* e = p.postings.find(t.key)) t.documents += e->documents;
  }
  std::vector<ScoredDocument> hits;
  for (const Bm25Part& p : parts) {
    if (p.ids.empty()) continue;
    std::vector<RankedDocument> best;
    if (!allowed) {
      best = rank_top(p.postings, terms, c, options, k);
    } else {
      std::vector<uint32_t> documents;
      auto at = std::lower_bound(allowed->begin(), allowed->end(), p.ids.front());
      const auto end = std::upper_bound(at, allowed->end(), p.ids.back());
      auto id = p.ids.begin();
      for (; at != end; ++at) {
        id = std::lower_bound(id, p.ids.end(), *at);
        if (*id == *at) documents.push_back(static_cast<uint32_t>(id - p.ids.begin()));
      }
      if (documents.size() < p.ids.size() / 32) {
        best = rank_among(p.postings, terms, c, options, k, documents);
      } else {
        std::vector<uint64_t> bits((p.ids.size() + 63) / 64);
        for (const uint32_t d : documents) bits[d / 64] |= uint64_t{1} << (d % 64);
        best = rank_top(p.postings, terms, c, options, k, bits);
      }
    }
    for (const RankedDocument& r : best) hits.push_back({p.ids[r.document], r.score});
  }
  std::sort(hits.begin(), hits.end(), [](const ScoredDocument& a, const ScoredDocument& b) {
    return a.score != b.score ? a.score > b.score : a.id < b.id;
  });
  if (hits.size() > k) hits.resize(k);
  return hits;
}

size_t Bm25Index::bytes() const {
  return postings_.bytes() + ids_.capacity() * sizeof(int64_t) + documents_.slots().size_bytes();
}

}  // namespace quern::recall
