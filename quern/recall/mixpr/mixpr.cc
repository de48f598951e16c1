#include "quern/recall/mixpr/mixpr.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "quern/base/stopwatch.h"
#include "quern/base/threads.h"
#include "quern/recall/bm25/rank.h"
#include "quern/recall/graph/gram_scan.h"

namespace quern::recall {
namespace {

constexpr double kLocal = 0.6, kMixed = 0.3;

struct QueryWords {
  std::vector<QueryTerm> terms;  // those the collection has
  bool rare = false;             // one of them stands in less than a hundredth of the rows
};

QueryWords words_in(const RecallView& v, std::string_view query) {
  std::vector<uint64_t> keys;
  for (const std::string& w : words_of(query, v.options.words)) keys.push_back(word_key(w));
  QueryWords q;
  for (QueryTerm t : query_terms(keys)) {
    const TermEntry* e = v.postings.find(t.key);
    if (!e) continue;
    t.documents = e->documents;
    q.rare = q.rare || 100 * t.documents < v.rows();
    q.terms.push_back(t);
  }
  return q;
}

using Similar = std::vector<std::pair<uint32_t, float>>;

bool more_similar(const std::pair<uint32_t, float>& a, const std::pair<uint32_t, float>& b) {
  return a.second != b.second ? a.second > b.second : a.first < b.first;
}

// The rows whose cosine with the question's TF-IDF vector reaches the threshold; where they are fewer than `least`,
// the `least` best. Ascending. Sums are held for 4096 rows at a time, and only what can still count is kept.
Similar joined_rows(const RecallView& v, const QueryWords& q, float threshold, size_t minimum) {
  constexpr uint32_t kWidth = 4096, kEnd = 0xffffffffu;
  struct Reader {
    PostingBlock block;
    uint32_t at;
    float scale;
    uint32_t row() const { return at < block.count() ? block.documents()[at] : kEnd; }
  };
  std::vector<Reader> readers;
  double square = 0;
  for (const QueryTerm& t : q.terms) {
    const double weight = tf_idf_weight(v.rows(), t.documents), own = t.times * weight;
    square += own * own;
    readers.push_back({v.postings.block(v.postings.find(t.key)->head), 0, static_cast<float>(own * weight)});
  }
  const float norm = square > 0 ? static_cast<float>(1 / std::sqrt(square)) : 0;
  static thread_local std::vector<float> sums(kWidth);  // all zero between calls
  static thread_local std::vector<GramNeighbor> found(kWidth);
  const GramScan scan = gram_scan();
  Similar out;
  size_t above = 0, full = 8 * minimum + 1024;
  float bound = std::min(threshold, std::numeric_limits<float>::min());
  for (;;) {
    uint32_t first = kEnd;
    for (const Reader& r : readers) first = std::min(first, r.row());
    if (first == kEnd) break;
    const uint32_t begin = first / kWidth * kWidth;
    const auto rows = static_cast<uint32_t>(std::min<size_t>(kWidth, v.rows() - begin));
    for (Reader& r : readers)
      while (r.row() - begin < kWidth) {
        const uint32_t n = r.block.count();
        const uint32_t* const documents = r.block.documents();
        const uint16_t* const counts = r.block.counts();
        for (; r.at < n && documents[r.at] - begin < kWidth; ++r.at)
          sums[documents[r.at] - begin] += r.scale * static_cast<float>(counts[r.at]);
        if (r.at == n && r.block.next() != kNoBlock) r.block = v.postings.block(r.block.next()), r.at = 0;
      }
    for (uint32_t i = 0; i < rows; ++i) sums[i] = sums[i] * norm / v.norm[begin + i];
    const size_t n = scan(sums, rows, bound, begin, found.data());
    for (size_t i = 0; i < n; ++i)
      if (!v.postings.is_dead(found[i].to)) {
        out.emplace_back(found[i].to, found[i].weight);
        above += found[i].weight >= threshold;
      }
    // Enough are above, or there are more below than can stay: what is too little from now on is known.
    if (bound < threshold && (above >= minimum || out.size() > full)) {
      const size_t keep = std::min(out.size(), std::max(above, minimum));
      std::nth_element(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(keep), out.end(), more_similar);
      out.resize(keep);
      bound =
          above >= minimum ? threshold : std::min_element(out.begin(), out.end(), [](const auto& a, const auto& b) {
                                           return a.second < b.second;
                                         })->second;
      full = out.size() + 1024;
    }
  }
  if (const size_t keep = std::max(above, minimum); keep < out.size()) {
    std::nth_element(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(keep), out.end(), more_similar);
    out.resize(keep);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Recalled chosen(const RecallView& v, std::vector<std::pair<uint32_t, double>> rows, const RecallQuery& q) {
  const size_t k = std::min(q.k, rows.size());
  const auto better = [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  };
  std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(k), rows.end(), better);
  rows.resize(k);
  Recalled r;
  for (const auto& [row, score] : rows) r.chunks.push_back({v.last[row], v.copies[row], score});
  if (!q.score_order)
    std::sort(r.chunks.begin(), r.chunks.end(), [](const auto& a, const auto& b) { return a.chunk < b.chunk; });
  return r;
}

// Degree, less likeness to what was picked already; copies count.
std::vector<std::pair<uint32_t, double>> central_rows(const RecallView& v, const RecallQuery& q) {
  std::vector<double> degree(v.rows());
  double maximum = 0;
  for (uint32_t r = 0; r < v.rows(); ++r) {
    if (v.postings.is_dead(r)) continue;
    for (uint64_t i = v.graph.begin[r]; i < v.graph.begin[r + 1]; ++i)
      degree[r] += double{v.graph.weight[i]} * v.copies[v.graph.to[i]];
    maximum = std::max(maximum, degree[r]);
  }
  if (maximum <= 0) return {};
  std::vector<double> like(v.rows());
  // A heap of scores that only fall: one is checked again when it comes to the top.
  std::vector<std::pair<double, uint32_t>> heap;
  const auto score = [&](uint32_t r) { return (1 - q.diversity) * degree[r] / maximum - q.diversity * like[r]; };
  const auto less = [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  };
  for (uint32_t r = 0; r < v.rows(); ++r)
    if (degree[r] > 0) heap.emplace_back(score(r), r);
  std::make_heap(heap.begin(), heap.end(), less);
  std::vector<std::pair<uint32_t, double>> out;
  while (out.size() < q.k && !heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), less);
    const auto [s, r] = heap.back();
    heap.pop_back();
    if (const double now = score(r); now < s) {
      heap.emplace_back(now, r);
      std::push_heap(heap.begin(), heap.end(), less);
      continue;
    }
    out.emplace_back(r, degree[r]);
    for (uint64_t i = v.graph.begin[r]; i < v.graph.begin[r + 1]; ++i)
      like[v.graph.to[i]] = std::max(like[v.graph.to[i]], double{v.graph.weight[i]});
  }
  return out;
}

Recalled recent(const RecallView& v, const RecallQuery& q) {
  std::vector<std::pair<uint32_t, double>> rows;
  for (uint32_t r = 0; r < v.rows(); ++r)
    if (!v.postings.is_dead(r)) rows.emplace_back(r, v.last[r]);
  Recalled out = chosen(v, std::move(rows), q);
  for (RecalledChunk& c : out.chunks) c.score = 0;
  out.fallback = "recent";
  return out;
}

std::vector<RankedDocument> by_bm25(const RecallView& v, const QueryWords& w, size_t k) {
  return rank_top(v.postings, w.terms, {.documents = v.rows(), .words = v.words}, v.options.bm25, k);
}

}  // namespace

Recalled recall_bm25(const RecallView& v, std::string_view query, const RecallQuery& q) {
  std::vector<std::pair<uint32_t, double>> rows;
  for (const RankedDocument& d : by_bm25(v, words_in(v, query), q.k)) rows.emplace_back(d.document, d.score);
  if (rows.empty()) return recent(v, q);
  return chosen(v, std::move(rows), q);
}

Recalled recall_mixpr(const RecallView& v, std::string_view query, const RecallQuery& q) {
  if (v.graph.size() == 0)
    fail("this index has no similarity graph: use the method bm25, or build the index with a graph");
  const QueryWords words = words_in(v, query);
  const RecallMode mode = q.mode == RecallMode::automatic ? route(query, RareTerms{words.rare}) : q.mode;
  const double alpha = mode == RecallMode::restart ? q.alpha : mode == RecallMode::mixed ? kMixed : kLocal;
  if (mode == RecallMode::global || (mode == RecallMode::restart && alpha == 0)) {
    Recalled r = chosen(v, central_rows(v, q), q);
    r.mode = mode;
    return r;
  }
  const auto answer = [&](Recalled r) {
    r.mode = mode, r.alpha = alpha;
    return r;
  };
  if (words.terms.empty()) return answer(recent(v, q));
  const auto fall_back = [&] {
    Recalled r = recall_bm25(v, query, q);
    if (r.fallback.empty()) r.fallback = "bm25";
    return answer(std::move(r));
  };
  const Resolvent walk(v.graph);
  PushResult reached;
  double weight = 0;
  if (q.seed == SeedKind::query_node) {
    const auto joined = joined_rows(v, words, v.threshold, q.min_joined);
    if (joined.empty()) return fall_back();
    for (const auto& [row, w] : joined) weight += w;
    const ExtraNode extra{.edges = joined};
    reached = walk.push_row({{static_cast<uint32_t>(v.rows()), 1.0}}, {alpha}, q.epsilon, &extra);
  } else {
    SparseVector seed;
    double sum = 0;
    for (const RankedDocument& d : by_bm25(v, words, 1000)) {
      seed.emplace_back(d.document, double{d.score} * d.score);
      sum += seed.back().second;
    }
    if (seed.empty()) return fall_back();
    for (auto& [row, w] : seed) w /= sum;
    weight = sum;
    reached = walk.push_row(seed, {alpha}, q.epsilon);
  }
  std::erase_if(reached.mass, [&](const auto& m) { return m.first >= v.rows() || v.postings.is_dead(m.first); });
  if (reached.mass.empty()) return fall_back();
  Recalled r = chosen(v, std::move(reached.mass), q);
  r.edges = reached.edges, r.weight = weight;
  return answer(std::move(r));
}

std::vector<std::vector<RankedDocument>> rank_across(std::span<const RecallView> views, std::string_view query,
                                                     size_t k) {
  Collection c;
  std::vector<QueryTerm> terms;
  for (const RecallView& v : views) {
    c.documents += v.rows(), c.words += v.words;
    if (terms.empty()) {
      std::vector<uint64_t> keys;
      for (const std::string& w : words_of(query, v.options.words)) keys.push_back(word_key(w));
      terms = query_terms(keys);
    }
    for (QueryTerm& t : terms)
      if (const TermEntry* e = v.postings.find(t.key)) t.documents += e->documents;
  }
  std::vector<std::vector<RankedDocument>> out;
  for (const RecallView& v : views) out.push_back(rank_top(v.postings, terms, c, v.options.bm25, k));
  return out;
}

RecallIndex RecallIndex::build(std::string_view text, std::span<const Chunk> chunks, const RecallOptions& o,
                               std::span<const std::string_view> context) {
  RecallIndex x;
  x.options_ = o;
  RecallStats& s = x.stats_;
  Stopwatch watch;
  const TermCounts counts = count_terms(text, chunks, o.words, context);
  s.count_s = watch.lap();
  x.postings_ = Postings::of(counts);
  x.copies_ = counts.copies;
  x.last_.resize(counts.rows());
  for (size_t c = 0; c < counts.row.size(); ++c) x.last_[counts.row[c]] = static_cast<uint32_t>(c);
  s.postings_s = watch.seconds();
  s.chunks = chunks.size(), s.rows = counts.rows(), s.words = x.postings_.words(), s.terms = counts.terms();
  if (!o.graph) return x;
  watch.lap();
  const SparseRows rows = tf_idf_embedder()->embed(counts);
  // A row's length, from any of its entries: value = count · weight / length.
  x.norm_.assign(counts.rows(), 1);
  parallel_for(static_cast<int64_t>(counts.rows()), 4096, [&](int64_t b, int64_t e) {
    uint32_t documents = 0;  // of the row before: a row begins with its rarest term, and those are alike
    double weight = 0;
    for (auto r = static_cast<size_t>(b); r < static_cast<size_t>(e); ++r) {
      constexpr size_t kAhead = 16;
      if (r + kAhead < counts.rows() && counts.begin[r + kAhead] < counts.term.size())
        __builtin_prefetch(&counts.documents[counts.term[counts.begin[r + kAhead]]]);
      const uint64_t i = counts.begin[r];
      if (i == counts.begin[r + 1]) continue;
      if (const uint32_t d = counts.documents[counts.term[i]]; d != documents)
        documents = d, weight = tf_idf_weight(counts.rows(), d);
      x.norm_[r] = static_cast<float>(counts.count[i] * weight / double{rows.value[i]});
    }
  });
  // Unless it is given: 0.2 where that leaves one component with most of the rows, else lower, down to 0.1. Two
  // sentences that share one rare word of three have a cosine of about a third: a higher one would cut chains.
  constexpr float kMin = 0.1f, kMax = 0.2f;
  const auto graph_above = [&](float threshold) {
    s.gram = {};
    return gram_pruned(rows,
                       {.threshold = threshold,
                        .max_work = static_cast<int64_t>(o.max_work),
                        .max_neighbors = static_cast<uint32_t>(o.max_neighbors)},
                       &s.gram);
  };
  s.threshold = o.threshold > 0 ? o.threshold : kMax;
  x.graph_ = graph_above(s.threshold);
  if (o.threshold <= 0 && !holds_together(x.graph_)) {
    x.graph_ = graph_above(kMin);
    s.threshold = connecting_threshold(x.graph_, kMin);
    if (s.threshold > kMin) x.graph_ = above_threshold(x.graph_, s.threshold);
  }
  s.edges = x.graph_.to.size();
  s.graph_s = watch.seconds();
  return x;
}

RecallView RecallIndex::view() const {
  GraphView graph = graph_.view();
  graph.loop = 1;  // rows of unit length
  return {.postings = postings_.view(),
          .norm = norm_,
          .graph = graph,
          .last = last_,
          .copies = copies_,
          .words = postings_.words(),
          .threshold = stats_.threshold,
          .options = options_};
}

Recalled RecallIndex::bm25(std::string_view query, size_t k) const {
  RecallQuery q;
  q.k = k, q.score_order = true;
  return recall_bm25(view(), query, q);
}

}  // namespace quern::recall
