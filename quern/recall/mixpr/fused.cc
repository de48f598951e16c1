#include "quern/recall/mixpr/fused.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <set>
#include <unordered_map>

namespace quern::recall {
namespace {

void sort_unique(std::vector<uint64_t>& x) {
  std::sort(x.begin(), x.end());
  x.erase(std::unique(x.begin(), x.end()), x.end());
}

// The weights of words in all parts together.
class WordWeights {
 public:
  explicit WordWeights(std::span<const FusedPart> parts) : parts_(parts) {
    for (const FusedPart& p : parts) rows_ += p.view.rows();
  }
  double of(uint64_t key) {
    const auto [at, fresh] = known_.try_emplace(key, 0.0);
    if (!fresh) return at->second;
    uint64_t documents = 0;
    for (const FusedPart& p : parts_)
      if (const TermEntry* e = p.view.postings.find(key)) documents += e->documents;
    return at->second = tf_idf_weight(std::max<uint64_t>(rows_, 1), std::max<uint64_t>(documents, 1));
  }

 private:
  std::span<const FusedPart> parts_;
  uint64_t rows_ = 0;
  std::unordered_map<uint64_t, double> known_;
};

// What headings and neighboring words say about a passage.
class Evidence {
 public:
  Evidence(std::span<const FusedPart> parts, std::string_view question)
      : weights_(parts), keys_(parts[0].view.options.words) {
    keys_.append(question, question_);
    for (size_t i = 0; i + 1 < question_.size(); ++i) {
      const Pair p{question_[i], question_[i + 1], weights_.of(question_[i]) + weights_.of(question_[i + 1])};
      if (p.first != p.second) pairs_.push_back(p), pair_sum_ += p.weight;
    }
    sort_unique(question_);
    square_ = square_of(question_);
  }

  double words() const { return static_cast<double>(question_.size()); }  // distinct ones of the question

  double likeness(std::string_view heading) {
    if (heading.empty() || square_ <= 0) return 0;
    const auto [at, fresh] = likeness_.try_emplace(heading, 0.0);
    if (!fresh) return at->second;
    words_.clear();
    keys_.append(heading, words_);
    sort_unique(words_);
    double common = 0;
    for (const uint64_t w : words_)
      if (std::binary_search(question_.begin(), question_.end(), w)) common += weights_.of(w) * weights_.of(w);
    if (common > 0) at->second = common / std::sqrt(square_ * square_of(words_));
    return at->second;
  }

  double adjacency(const FusedText& t) {
    if (pairs_.empty()) return 0;
    words_.clear();
    keys_.append(t.heading, words_);
    words_.push_back(0);  // no word: the heading and the text are no neighbors
    keys_.append(t.text, words_);
    double sum = 0;
    for (const Pair& p : pairs_)
      for (size_t i = 0; i + 1 < words_.size(); ++i)
        if (words_[i] == p.first && words_[i + 1] == p.second) {
          sum += p.weight;
          break;
        }
    return sum / pair_sum_;
  }

 private:
  struct Pair {
    uint64_t first, second;
    double weight;
  };
  double square_of(const std::vector<uint64_t>& words) {
    double sum = 0;
    for (const uint64_t w : words) sum += weights_.of(w) * weights_.of(w);
    return sum;
  }
  WordWeights weights_;
  WordKeys keys_;
  std::vector<uint64_t> question_, words_;
  std::vector<Pair> pairs_;
  double square_ = 0, pair_sum_ = 0;
  std::unordered_map<std::string_view, double> likeness_;
};

// What the walk brings to each row beyond its own share of the restarts.
SparseVector support_of(const RecallView& v, SparseVector seed, const FusedOptions& o) {
  if (v.graph.size() == 0 || seed.empty()) return {};
  double sum = 0;
  for (const auto& [row, score] : seed) sum += score * score;
  for (auto& [row, score] : seed) score = score * score / sum;
  std::sort(seed.begin(), seed.end());
  PushResult r = Resolvent(v.graph).push_row(seed, {o.alpha}, o.epsilon);
  auto at = seed.begin();
  for (auto& [row, mass] : r.mass) {
    while (at != seed.end() && at->first < row) ++at;
    if (at != seed.end() && at->first == row) mass = std::max(0.0, mass - o.alpha * at->second);
  }
  std::erase_if(r.mass,
                [&](const auto& m) { return m.second <= 0 || m.first >= v.rows() || v.postings.is_dead(m.first); });
  return std::move(r.mass);
}

bool better(const FusedRow& a, const FusedRow& b) {
  return a.score != b.score ? a.score > b.score : a.part != b.part ? a.part < b.part : a.row < b.row;
}

// The candidates of all parts by BM25, best first, their scores over the best.
std::vector<FusedRow> candidates_of(std::span<const FusedPart> parts, std::string_view question, size_t n) {
  std::vector<RecallView> views;
  for (const FusedPart& p : parts) views.push_back(p.view);
  const auto ranked = rank_across(views, question, n);
  std::vector<FusedRow> out;
  for (size_t i = 0; i < ranked.size(); ++i)
    for (const RankedDocument& d : ranked[i]) out.push_back({i, d.document, d.score});
  std::sort(out.begin(), out.end(), better);
  if (out.size() > n) out.resize(n);
  if (!out.empty())
    for (const double best = out[0].score; FusedRow & r : out) r.score /= best;
  return out;
}

// The rows nearest to the question by vectors that are not among the candidates yet, with a score of 0.
void add_neighbors(std::span<const FusedPart> parts, size_t n, double least, std::vector<FusedRow>& rows) {
  std::vector<FusedRow> near;
  for (size_t p = 0; p < parts.size(); ++p)
    for (size_t i = 0; i < parts[p].cosines.size(); ++i)
      if (parts[p].cosines[i] > static_cast<float>(least) &&
          !parts[p].view.postings.is_dead(static_cast<uint32_t>(i)))
        near.push_back({p, static_cast<uint32_t>(i), static_cast<double>(parts[p].cosines[i])});
  const size_t keep = std::min(n, near.size());
  std::partial_sort(near.begin(), near.begin() + static_cast<int64_t>(keep), near.end(), better);
  near.resize(keep);
  const auto place = [](const FusedRow& r) { return std::pair(r.part, r.row); };
  std::set<std::pair<size_t, uint32_t>> there;
  for (const FusedRow& r : rows) there.insert(place(r));
  for (const FusedRow& r : near)
    if (!there.contains(place(r))) rows.push_back({r.part, r.row, 0});
}

void add_meaning(std::span<const FusedPart> parts, double weight, std::vector<FusedRow>& rows) {
  const auto cosine = [&](const FusedRow& r) {
    const auto& all = parts[r.part].cosines;
    return all.empty() ? 0.0 : std::max(0.0, static_cast<double>(all[r.row]));
  };
  double best = 0;
  for (const FusedRow& r : rows) best = std::max(best, cosine(r));
  if (best <= 0) return;
  for (FusedRow& r : rows) r.score += weight * cosine(r) / best;
}

// Adds the walk's part to the candidates, and the rows that only the walk finds behind them.
void add_support(std::span<const FusedPart> parts, double weight, const FusedOptions& o, std::vector<FusedRow>& rows,
                 std::span<const FusedRow> by_bm25) {
  std::vector<SparseVector> support(parts.size());
  double strongest = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    SparseVector seed;
    for (const FusedRow& r : by_bm25.first(std::min(o.seeds, by_bm25.size())))
      if (r.part == i) seed.emplace_back(r.row, r.score);
    support[i] = support_of(parts[i].view, std::move(seed), o);
    for (const auto& [row, mass] : support[i]) strongest = std::max(strongest, mass);
  }
  if (strongest <= 0) return;
  for (FusedRow& r : rows) {
    SparseVector& s = support[r.part];
    const auto at =
        std::lower_bound(s.begin(), s.end(), r.row, [](const auto& m, uint32_t row) { return m.first < row; });
    if (at != s.end() && at->first == r.row) r.score += weight * at->second / strongest, at->second = 0;
  }
  for (size_t i = 0; i < parts.size(); ++i)
    for (const auto& [row, mass] : support[i])
      if (mass > 0) rows.push_back({i, row, weight * mass / strongest});
}

// The k best; a section's passages count less with each that was taken before.
std::vector<FusedRow> spread(std::span<const FusedPart> parts, std::vector<FusedRow> rows, size_t k, double factor) {
  struct Waiting {
    FusedRow row;
    uint64_t section;
    uint32_t before;  // passages of the section that its score has paid for
    bool operator<(const Waiting& o) const { return better(o.row, row); }
  };
  std::sort(rows.begin(), rows.end(), better);
  std::vector<FusedRow> out;
  std::unordered_map<uint64_t, uint32_t> taken;
  std::priority_queue<Waiting> heap;
  size_t next = 0;
  while (out.size() < k && (!heap.empty() || next < rows.size())) {
    while (next < rows.size() && (heap.empty() || better(rows[next], heap.top().row))) {
      const FusedRow& r = rows[next++];
      heap.push({r, parts[r.part].read(r.row).section, 0});
    }
    Waiting w = heap.top();
    heap.pop();
    const uint32_t before = w.section == 0 ? 0 : taken[w.section];
    if (w.before < before) {
      w.row.score *= std::pow(factor, before - w.before);
      w.before = before;
      heap.push(w);
      continue;
    }
    if (w.section != 0) ++taken[w.section];
    out.push_back(w.row);
  }
  return out;
}

}  // namespace

std::vector<FusedRow> rank_fused(std::span<const FusedPart> parts, std::string_view question, size_t k,
                                 const FusedOptions& o) {
  const std::vector<FusedRow> by_bm25 = candidates_of(parts, question, std::max(o.candidates, 2 * k));
  std::vector<FusedRow> rows = by_bm25;
  add_neighbors(parts, std::max(o.candidates, 2 * k), o.min_cosine, rows);
  if (rows.empty()) return {};
  Evidence evidence(parts, question);
  double likest = 0;
  for (FusedRow& r : rows) {
    const FusedText t = parts[r.part].read(r.row);
    const double likeness = evidence.likeness(t.heading);
    likest = std::max(likest, likeness);
    r.score += o.heading * std::pow(likeness, 8) + o.phrase * evidence.adjacency(t);
  }
  const double said = o.meaning_words > 0 ? std::min(1.0, evidence.words() / o.meaning_words) : 1;
  add_meaning(parts, o.meaning * said, rows);
  add_support(parts, o.walk * (1 - likest * likest), o, rows, by_bm25);
  return spread(parts, std::move(rows), k, o.repeated);
}

}  // namespace quern::recall
