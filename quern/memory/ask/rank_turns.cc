// Ranks a topic among the turns of a time and a speaker: by BM25, by the walk, or by both. A turn also gets a share of
// what its neighbors in the session score, whoever spoke: a larger one where it answers a question.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "quern/memory/ask/memory.h"
#include "quern/memory/topic/walk_rank.h"

namespace quern::memory {
namespace {

constexpr size_t kEnough = 100;      // so many are looked at, however few are wanted
constexpr size_t kMaxWalked = 2000;  // turns of a walk that is asked for
constexpr size_t kFewWalked = 160;   // and of one that was not: two milliseconds
constexpr size_t kFewRows = 500;     // where a time or a speaker leaves so many, there is one
constexpr size_t kMinRead = 40;      // turns of which it is looked at whether they ask
constexpr size_t kReadWanted = 4;    // for each one that is wanted, where that is more
constexpr double kAnswers = 0.7;     // share of a question's score that the turn behind it gets

template <class F>
void each_neighbor(const TurnTable& t, uint32_t row, F&& f) {
  if (row > 0 && t.session[row - 1] == t.session[row]) f(row - 1);
  if (row + size_t{1} < t.size() && t.session[row + 1] == t.session[row]) f(row + 1);
}

// The rows and their neighbors.
RowRuns with_neighbors(const Selection& rows, const TurnTable& t) {
  std::vector<RowRun> runs;
  const auto widened = [&](uint32_t lo, uint32_t last) {
    const bool before = lo > 0 && t.session[lo - 1] == t.session[lo];
    const bool behind = last + size_t{1} < t.size() && t.session[last + 1] == t.session[last];
    runs.push_back({lo - (before ? 1 : 0), last + (behind ? 2 : 1)});
  };
  if (rows.speaker)
    for (const uint32_t row : rows.list(t)) widened(row, row);
  else
    for (const RowRun& r : rows.rows.runs()) widened(r.lo, r.hi - 1);
  return RowRuns::joined(std::move(runs));
}

std::vector<uint32_t> rows_looked_at(const Selection& rows, const TurnTable& t, const AskOptions& o) {
  return o.neighbor > 0 ? with_neighbors(rows, t).rows() : rows.list(t);
}

// Of some rows those that lie nearest to a hit: a share before and behind each.
std::vector<uint32_t> near_hits(const std::vector<uint32_t>& rows, std::span<const uint32_t> hits, size_t most) {
  if (rows.size() <= most) return rows;
  std::unordered_set<size_t> taken;
  for (size_t step = 0; taken.size() < most && step < rows.size(); ++step)
    for (const uint32_t hit : hits) {
      const auto at = static_cast<size_t>(std::lower_bound(rows.begin(), rows.end(), hit) - rows.begin());
      if (taken.size() < most && at + step < rows.size()) taken.insert(at + step);
      if (taken.size() < most && step > 0 && at >= step) taken.insert(at - step);
    }
  std::vector<uint32_t> out;
  for (const size_t at : taken) out.push_back(rows[at]);
  std::sort(out.begin(), out.end());
  return out;
}

void share_of_best(std::vector<recall::ScoredDocument>& hits) {
  float most = 0;
  for (const recall::ScoredDocument& h : hits) most = std::max(most, h.score);
  for (recall::ScoredDocument& h : hits) h.score /= most > 0 ? most : 1;
}

}  // namespace

// What BM25 finds among the rows, and among their neighbors where those count. Few rows are looked up one by one; of
// many, the best of the whole conversation are taken until enough of them are among the rows.
std::vector<recall::ScoredDocument> Memory::best_among(const std::string& topic, const Selection& rows, size_t wanted,
                                                       const AskOptions& o) {
  const bool neighbors = o.neighbor > 0;
  const size_t there = rows.size(table_);
  if (there == 0) return {};
  if (there == table_.size()) return index().top(topic, wanted);
  constexpr size_t kWide = 16;  // a share of the conversation above which listing the rows costs more
  if (there < table_.size() / kWide) {
    std::vector<int64_t> ids;
    if (neighbors)
      with_neighbors(rows, table_).each([&](uint32_t row) { ids.push_back(table_.id[row]); });
    else
      for (const uint32_t row : rows.list(table_)) ids.push_back(table_.id[row]);
    if (!table_.arrived.empty()) std::sort(ids.begin(), ids.end());
    return index().top(topic, wanted, ids);
  }
  for (size_t looked_at = wanted * (2 * table_.size() / there);; looked_at *= 4) {
    std::vector<recall::ScoredDocument> hits = index().top(topic, looked_at);
    const bool whole = hits.size() < looked_at;
    std::erase_if(hits, [&](const recall::ScoredDocument& h) {
      const auto row = static_cast<uint32_t>(table_.row_of_id(h.id));
      bool in = rows.has(row, table_);
      if (neighbors) each_neighbor(table_, row, [&](uint32_t n) { in |= rows.has(n, table_); });
      return !in;
    });
    if (hits.size() > wanted) hits.resize(wanted);
    if (whole || hits.size() == wanted) return hits;
  }
}

// The same turns by a walk over what is alike among them.
std::vector<recall::ScoredDocument> Memory::walked(const std::string& topic, std::span<const uint32_t> rows) {
  std::vector<std::string> texts;
  std::vector<int64_t> ids;
  for (const uint32_t row : rows) ids.push_back(table_.id[row]);
  std::sort(ids.begin(), ids.end());
  for (const int64_t id : ids) texts.push_back(store_.text(id));
  std::vector<recall::ScoredDocument> hits;
  for (const auto& [at, score] : walk_scores(texts, topic)) hits.push_back({ids[at], static_cast<float>(score)});
  return hits;
}

// Somebody asks in this row, and somebody else speaks behind it.
bool Memory::answered(uint32_t row) {
  const size_t next = row + size_t{1};
  return next < table_.size() && table_.session[next] == table_.session[row] &&
         table_.speaker[next] != table_.speaker[row] && store_.text(table_.id[row]).find('?') != std::string::npos;
}

std::vector<RankedTurn> Memory::ranked_rows(std::span<const recall::ScoredDocument> hits, const Selection& rows,
                                            const AskOptions& o) {
  std::unordered_map<uint32_t, double> scores;
  size_t read = std::max(kMinRead, kReadWanted * static_cast<size_t>(o.k));  // the best ones' texts
  for (const recall::ScoredDocument& h : hits) {
    const auto row = static_cast<uint32_t>(table_.row_of_id(h.id));
    scores[row] += h.score;
    read -= read > 0 ? 1 : 0;
    if (o.neighbor > 0)
      each_neighbor(table_, row, [&](uint32_t n) {
        const bool answers = read > 0 && n > row && rows.has(n, table_) && answered(row);
        scores[n] += (answers ? std::max(kAnswers, o.neighbor) : o.neighbor) * h.score;
      });
  }
  std::vector<std::pair<uint32_t, double>> order;
  for (const auto& [row, score] : scores)
    if (rows.has(row, table_)) order.emplace_back(row, score);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  if (order.size() > static_cast<size_t>(o.k)) order.resize(static_cast<size_t>(o.k));
  std::vector<RankedTurn> out;
  for (const auto& [row, score] : order) out.push_back({table_.response[row], score});
  return out;
}

// What BM25 ranks first, then the walk's order: it knows what is alike, and BM25 what was asked for.
std::vector<RankedTurn> Memory::walk_behind_best(const std::string& topic, std::vector<RankedTurn> found,
                                                 std::span<const recall::ScoredDocument> hits, const Selection& rows,
                                                 const AskOptions& o) {
  std::vector<uint32_t> at;
  for (const recall::ScoredDocument& h : hits) at.push_back(static_cast<uint32_t>(table_.row_of_id(h.id)));
  const std::vector<uint32_t> near = near_hits(rows_looked_at(rows, table_, o), at, kFewWalked);
  std::vector<RankedTurn> alike = ranked_rows(walked(topic, near), rows, o);
  if (alike.size() < found.size()) return found;
  const auto best = std::find_if(alike.begin(), alike.end(),
                                 [&](const RankedTurn& r) { return r.response == found.front().response; });
  const double most = alike.front().score;
  if (best != alike.end())
    std::rotate(alike.begin(), best, best + 1);
  else
    alike.insert(alike.begin(), found.front());
  alike.front().score = most;
  if (alike.size() > static_cast<size_t>(o.k)) alike.resize(static_cast<size_t>(o.k));
  return alike;
}

std::vector<RankedTurn> Memory::rank(const std::string& topic, const Selection& rows, const AskOptions& o) {
  const size_t enough = std::max<size_t>(kEnough, 4 * static_cast<size_t>(o.k));
  if (o.rank == TopicRank::bm25 || o.rank == TopicRank::automatic) {
    const std::vector<recall::ScoredDocument> hits = best_among(topic, rows, enough, o);
    std::vector<RankedTurn> out = ranked_rows(hits, rows, o);
    const size_t there = rows.size(table_);
    if (o.rank == TopicRank::bm25 || out.empty() || there == table_.size() || there > kFewRows) return out;
    return walk_behind_best(topic, std::move(out), hits, rows, o);
  }
  std::vector<uint32_t> wide;
  std::vector<recall::ScoredDocument> hits;
  const bool every = rows.size(table_) <= kMaxWalked;
  if (every) wide = rows_looked_at(rows, table_, o);
  if (o.rank == TopicRank::both || !every || wide.size() > kMaxWalked)
    hits = best_among(topic, rows, std::max(enough, kMaxWalked), o);
  if (!every || wide.size() > kMaxWalked) {
    wide.clear();
    for (const recall::ScoredDocument& h : hits) wide.push_back(static_cast<uint32_t>(table_.row_of_id(h.id)));
  }
  std::vector<recall::ScoredDocument> walk = walked(topic, wide);
  if (o.rank == TopicRank::mixpr) return ranked_rows(walk, rows, o);
  share_of_best(hits), share_of_best(walk);
  hits.insert(hits.end(), walk.begin(), walk.end());
  return ranked_rows(hits, rows, o);
}

}  // namespace quern::memory
