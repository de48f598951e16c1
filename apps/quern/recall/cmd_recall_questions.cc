// quern recall eval --set: rankings beside each other on questions whose answers are known sections of documents, as
// bench/peers/recall_questions.py makes them.
#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <map>
#include <set>

#include "apps/quern/recall/cmd_recall.h"
#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/base/stopwatch.h"
#include "quern/recall/store/store.h"

namespace quern::cli {
namespace {

constexpr std::array<size_t, 3> kDepths = {1, 5, 10};
enum Method : size_t { kFused, kBm25, kMixpr, kHybrid, kMethodCount };
constexpr std::array<const char*, kMethodCount> kMethods = {"fused", "bm25", "mixpr", "hybrid"};
constexpr size_t kMissed = 1000;  // a rank beyond all
using Run = std::array<std::string, 3>;

std::vector<Run> runs_of(std::string_view text) {
  std::vector<std::string> words = recall::words_of(text);
  std::vector<Run> out;
  if (words.empty()) return out;
  while (words.size() < 3) words.emplace_back();
  for (size_t i = 0; i + 2 < words.size(); ++i) out.push_back({words[i], words[i + 1], words[i + 2]});
  return out;
}

struct Question {
  std::string kind, text, path;
  std::set<Run> section;
  bool answered_by(const recall::RecallHit& h) const {
    if (h.path != path && !h.path.ends_with("/" + path)) return false;
    const std::vector<Run> runs = runs_of(h.text);
    const auto inside = std::count_if(runs.begin(), runs.end(), [&](const Run& r) { return section.contains(r); });
    return !runs.empty() && 2 * static_cast<size_t>(inside) > runs.size();
  }
};

std::vector<Question> read_questions(const std::string& file) {
  std::vector<Question> out;
  const std::string text = read_file(file);
  int64_t line = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string where = fmt::format("{}:{}", file, ++line);
    const std::string_view one = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (one.find_first_not_of(" \t\r") == one.npos) continue;
    const Json j = Json::parse(one, where);
    Question q;
    q.text = j.at("question", where).as_string(where + ", question");
    q.path = j.at("path", where).as_string(where + ", path");
    if (const Json* kind = j.find("kind")) q.kind = kind->as_string(where + ", kind");
    for (const Run& r : runs_of(j.at("section", where).as_string(where + ", section"))) q.section.insert(r);
    out.push_back(std::move(q));
  }
  return out;
}

struct Tally {
  std::array<int64_t, kDepths.size()> found{};
  std::vector<double> ms, cpu_ms;
  struct Pairs {
    int64_t won = 0, lost = 0;
  } bm25, fused;  // against these, at 5
};

// Two-sided sign test: the probability of so uneven a split, or a more uneven one, if both rankings were equal.
double sign_test(int64_t won, int64_t lost) {
  const int64_t n = won + lost;
  double p = 0;
  for (int64_t i = 0; i <= std::min(won, lost); ++i)
    p += std::exp(std::lgamma(n + 1) - std::lgamma(i + 1) - std::lgamma(n - i + 1) -
                  static_cast<double>(n) * std::log(2.0));
  return std::min(1.0, 2 * p);
}

// Of this thread: on a machine with other work, what a query costs and not how long it waits.
double cpu_ms() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

double quantile(std::vector<double> x, double q) {
  std::sort(x.begin(), x.end());
  return x.empty() ? 0 : x[std::min(x.size() - 1, static_cast<size_t>(q * static_cast<double>(x.size())))];
}

recall::RecallAnswer answer_by(size_t method, const recall::RecallStore& store, const recall::RecallStore* hybrid,
                               const std::string& question) {
  const size_t k = kDepths.back();
  if (method == kHybrid) return hybrid->fused(question, k);
  if (method == kFused) return store.fused(question, k);
  if (method == kBm25) return store.bm25(question, k);
  return store.mixpr(question, {.k = k, .score_order = true});
}

void compare(size_t rank, size_t other, Tally::Pairs& p) {
  p.won += rank < 5 && other >= 5, p.lost += rank >= 5 && other < 5;
}

void add_pairs(const Tally::Pairs& p, Json& to) {
  to.set("won", p.won), to.set("lost", p.lost), to.set("p", sign_test(p.won, p.lost));
}

}  // namespace

Json recall_questions(const recall::RecallStore& store, const recall::RecallStore* hybrid, const std::string& file) {
  const std::vector<Question> questions = read_questions(file);
  std::map<std::string, std::array<Tally, kMethods.size()>> tallies;
  std::map<std::string, int64_t> counts;
  for (const Question& q : questions) {
    auto& t = tallies[q.kind];
    ++counts[q.kind];
    std::array<size_t, kMethods.size()> rank{};
    rank.fill(kMissed);
    for (size_t m = 0; m < kMethods.size(); ++m) {
      if ((m == kMixpr && !store.options().graph) || (m == kHybrid && !hybrid)) continue;
      const Stopwatch watch;
      const double before = cpu_ms();
      const recall::RecallAnswer a = answer_by(m, store, hybrid, q.text);
      t[m].ms.push_back(1e3 * watch.seconds()), t[m].cpu_ms.push_back(cpu_ms() - before);
      const auto at = std::find_if(a.hits.begin(), a.hits.end(), [&](const auto& h) { return q.answered_by(h); });
      rank[m] = static_cast<size_t>(at - a.hits.begin()) + (at == a.hits.end() ? kMissed : 0);
      for (size_t d = 0; d < kDepths.size(); ++d) t[m].found[d] += rank[m] < kDepths[d];
    }
    for (size_t m = 0; m < kMethods.size(); ++m)
      compare(rank[m], rank[kBm25], t[m].bm25), compare(rank[m], rank[kFused], t[m].fused);
  }
  Json out = Json::object();
  for (const auto& [kind, of] : tallies) {
    Json k = Json::object();
    k.set("questions", counts[kind]);
    for (size_t m = 0; m < kMethods.size(); ++m) {
      if (of[m].ms.empty()) continue;
      Json j = Json::object();
      for (size_t d = 0; d < kDepths.size(); ++d)
        j.set(fmt::format("at_{}", kDepths[d]),
              static_cast<double>(of[m].found[d]) / static_cast<double>(counts[kind]));
      add_pairs(of[m].bm25, j);
      if (m == kHybrid) {
        Json against = Json::object();
        add_pairs(of[m].fused, against);
        j.set("against_fused", std::move(against));
      }
      j.set("p50_ms", quantile(of[m].ms, 0.5)), j.set("p99_ms", quantile(of[m].ms, 0.99));
      j.set("p50_cpu_ms", quantile(of[m].cpu_ms, 0.5)), j.set("p99_cpu_ms", quantile(of[m].cpu_ms, 0.99));
      k.set(kMethods[m], std::move(j));
    }
    out.set(kind, std::move(k));
  }
  return out;
}

}  // namespace quern::cli
