#include "quern/recall/bm25/rank.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace quern::recall {
namespace {

constexpr uint32_t kEnd = 0xffffffffu;
constexpr uint32_t kWindow = 4096;  // documents scored at a time: 16 KiB of sums

struct Scorer {
  float flat, slope;  // k1 (1 − b + b |d| / mean) = flat + slope |d|
  Scorer(const Collection& c, const Bm25Options& o)
      : flat(static_cast<float>(o.k1 * (1 - o.b))), slope(static_cast<float>(o.k1 * o.b / c.mean_length())) {}
  float operator()(float weight, uint32_t count, uint32_t length) const {
    const float f = static_cast<float>(count);
    return weight * f / (f + flat + slope * static_cast<float>(length));
  }
};

class Cursor {
 public:
  Cursor(const PostingsView& p, const TermEntry& t) : postings_(&p), block_(p.block(t.head)) {}
  uint32_t document() const { return at_ < block_.count() ? block_.documents()[at_] : kEnd; }
  uint32_t count() const { return block_.counts()[at_]; }
  const PostingBlock& block() const { return block_; }
  size_t at() const { return at_; }
  void set_at(uint32_t at) {
    at_ = at;
    if (at_ == block_.count() && block_.next() != kNoBlock) block_ = postings_->block(block_.next()), at_ = 0;
  }
  void seek(uint32_t document) {  // to the first at or after it
    while (block_.last() < document) {
      if (block_.next() == kNoBlock) {
        at_ = block_.count();
        return;
      }
      block_ = postings_->block(block_.next()), at_ = 0;
    }
    const uint32_t* d = block_.documents();
    uint32_t n = block_.count() - at_;
    const uint32_t* first = d + at_;
    while (n > 0) {
      const uint32_t half = n / 2;
      const bool below = first[half] < document;
      first = below ? first + half + 1 : first;
      n = below ? n - half - 1 : half;
    }
    at_ = static_cast<uint32_t>(first - d);
  }

 private:
  const PostingsView* postings_;
  PostingBlock block_;
  uint32_t at_ = 0;
};

struct Term {
  float weight, bound;
  Cursor cursor;
};

bool better(const RankedDocument& a, const RankedDocument& b) {
  return a.score != b.score ? a.score > b.score : a.document < b.document;
}

class Best {
 public:
  explicit Best(size_t k) : k_(k) { heap_.reserve(std::min<size_t>(k, 4096)); }
  float threshold() const { return heap_.size() < k_ ? 0.f : heap_.front().score; }  // a score must be above it
  void offer(uint32_t document, float score) {  // documents ascend, so that equal scores come too late
    if (score <= threshold()) return;
    if (heap_.size() == k_) std::pop_heap(heap_.begin(), heap_.end(), better), heap_.pop_back();
    heap_.push_back({document, score});
    std::push_heap(heap_.begin(), heap_.end(), better);
  }
  std::vector<RankedDocument> take() {
    std::sort(heap_.begin(), heap_.end(), better);
    return std::move(heap_);
  }

 private:
  size_t k_;
  std::vector<RankedDocument> heap_;
};

// By falling bound; every way of ranking adds in this order, hence the same bits.
std::vector<Term> terms_of(const PostingsView& p, std::span<const QueryTerm> query, const Collection& c,
                           const Scorer& score) {
  std::vector<Term> terms;
  for (const QueryTerm& q : query) {
    const TermEntry* t = p.find(q.key);
    if (!t) continue;
    QUERN_CHECK(q.documents > 0 && q.documents <= c.documents, "{} of {}", q.documents, c.documents);
    const double df = static_cast<double>(q.documents);
    const double idf = std::log(1 + (static_cast<double>(c.documents) - df + 0.5) / (df + 0.5));
    const float weight = static_cast<float>(q.times * idf);
    terms.push_back({weight, score(weight, t->max_count, t->min_length), Cursor(p, *t)});
  }
  std::stable_sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.bound > b.bound; });
  return terms;
}

bool allows(std::span<const uint64_t> allowed, uint32_t d) {
  return allowed.empty() || (d / 64 < allowed.size() && (allowed[d / 64] >> (d % 64) & 1));
}

// A bound on the term's scores in [begin, end) from its blocks there.
float window_bound(const PostingsView& p, const Term& t, const Scorer& score, uint32_t end) {
  PostingBlock b = t.cursor.block();
  float bound = 0;
  uint32_t first = t.cursor.document();
  while (first < end) {
    bound = std::max(bound, score(t.weight, b.max_count(), b.min_length()));
    if (b.last() >= end || b.next() == kNoBlock) break;
    b = p.block(b.next());
    first = b.documents()[0];
  }
  return bound;
}

struct Window {
  float sums[kWindow];
  uint64_t touched[kWindow / 64];
};

void add_window(const PostingsView& p, Term& t, const Scorer& score, uint32_t begin, uint32_t end, Window& w) {
  while (t.cursor.document() < end) {
    const PostingBlock& b = t.cursor.block();
    const uint32_t* documents = b.documents();
    const uint16_t* counts = b.counts();
    const uint32_t n = b.count();
    uint32_t i = static_cast<uint32_t>(t.cursor.at());
    for (; i < n && documents[i] < end; ++i) {
      const uint32_t d = documents[i], at = d - begin;
      w.sums[at] += score(t.weight, counts[i], p.lengths[d]);
      w.touched[at / 64] |= uint64_t{1} << (at % 64);
    }
    t.cursor.set_at(i);
    if (i < n) break;
  }
}

}  // namespace

double Collection::mean_length() const {
  return documents == 0 || words == 0 ? 1 : static_cast<double>(words) / static_cast<double>(documents);
}

std::vector<QueryTerm> query_terms(std::span<const uint64_t> keys) {
  std::vector<QueryTerm> out;
  for (const uint64_t key : keys) {
    const auto same = std::find_if(out.begin(), out.end(), [&](const QueryTerm& q) { return q.key == key; });
    same == out.end() ? out.push_back({key, 1, 0}) : void(++same->times);
  }
  return out;
}

std::vector<RankedDocument> rank_all(const PostingsView& p, std::span<const QueryTerm> query, const Collection& c,
                                     const Bm25Options& options, size_t k, std::span<const uint64_t> allowed) {
  const Scorer score(c, options);
  std::vector<float> sums(p.lengths.size());
  for (Term& t : terms_of(p, query, c, score))
    for (; t.cursor.document() != kEnd; t.cursor.set_at(static_cast<uint32_t>(t.cursor.at()) + 1))
      sums[t.cursor.document()] += score(t.weight, t.cursor.count(), p.lengths[t.cursor.document()]);
  Best best(k);
  if (k == 0) return {};
  for (uint32_t d = 0; d < sums.size(); ++d)
    if (sums[d] > 0 && allows(allowed, d) && !p.is_dead(d)) best.offer(d, sums[d]);
  return best.take();
}

std::vector<RankedDocument> rank_among(const PostingsView& p, std::span<const QueryTerm> query, const Collection& c,
                                       const Bm25Options& options, size_t k, std::span<const uint32_t> documents) {
  const Scorer score(c, options);
  std::vector<Term> terms = terms_of(p, query, c, score);
  Best best(k);
  if (k == 0) return {};
  for (const uint32_t d : documents) {
    if (p.is_dead(d)) continue;
    float sum = 0;
    for (Term& t : terms) {
      t.cursor.seek(d);
      if (t.cursor.document() == d) sum += score(t.weight, t.cursor.count(), p.lengths[d]);
    }
    best.offer(d, sum);
  }
  return best.take();
}

std::vector<RankedDocument> rank_top(const PostingsView& p, std::span<const QueryTerm> query, const Collection& c,
                                     const Bm25Options& options, size_t k, std::span<const uint64_t> allowed) {
  const Scorer score(c, options);
  std::vector<Term> terms = terms_of(p, query, c, score);
  if (k == 0 || terms.empty()) return {};
  Best best(k);
  constexpr float kSlack = 1 + 1e-5f;  // sums of bounds round differently from sums of scores
  std::vector<float> rest(terms.size() + 1);
  static thread_local Window w{};  // all zero between calls
  for (uint32_t begin = 0;;) {
    // The next window begins at the first document that any term has left.
    uint32_t first = kEnd;
    for (Term& t : terms) {
      if (t.cursor.document() < begin) t.cursor.seek(begin);
      first = std::min(first, t.cursor.document());
    }
    if (first == kEnd) break;
    begin = first / kWindow * kWindow;
    const uint32_t end = begin > kEnd - kWindow ? kEnd : begin + kWindow;
    const float threshold = best.threshold();
    rest[terms.size()] = 0;
    for (size_t i = terms.size(); i-- > 0;) rest[i] = rest[i + 1] + window_bound(p, terms[i], score, end) * kSlack;
    if (rest[0] > threshold) {
      size_t needed = terms.size();  // a document with none of the first `needed` terms cannot get in
      while (needed > 0 && rest[needed - 1] <= threshold) --needed;
      for (size_t i = 0; i < needed; ++i) add_window(p, terms[i], score, begin, end, w);
      for (size_t word = 0; word < kWindow / 64; ++word) {
        uint64_t bits = w.touched[word];
        if (bits == 0) continue;
        w.touched[word] = 0;
        for (; bits != 0; bits &= bits - 1) {
          const uint32_t at = static_cast<uint32_t>(word * 64) + static_cast<uint32_t>(std::countr_zero(bits)),
                         d = begin + at;
          float sum = w.sums[at];
          w.sums[at] = 0;
          if ((sum + rest[needed]) * kSlack <= best.threshold() || !allows(allowed, d) || p.is_dead(d)) continue;
          bool out = false;
          for (size_t i = needed; i < terms.size(); ++i) {
            if ((out = (sum + rest[i]) * kSlack <= best.threshold())) break;
            terms[i].cursor.seek(d);
            if (terms[i].cursor.document() == d) sum += score(terms[i].weight, terms[i].cursor.count(), p.lengths[d]);
          }
          if (!out) best.offer(d, sum);
        }
      }
    }
    if (end == kEnd) break;
    begin = end;
  }
  return best.take();
}

}  // namespace quern::recall
