// Turns groups of a result's candidates into aggregation examples.
#include "quern/reason/sampled_solutions.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <vector>

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/text/chat/aggregation_prompt.h"

namespace quern::reason {
namespace {

constexpr int kDrawsPerContested = 8;  // of groups that may turn out not to be contested

struct Attempt {
  std::string end = {};  // what is shown of it
  bool right = false;    // its answer
  bool sound = false;    // what is shown: behind a sound working a wrong answer may have come, which nobody reads
};
using Group = std::vector<const Attempt*>;

std::string_view trimmed(std::string_view s) {
  const size_t from = s.find_first_not_of(" \n"), last = s.find_last_not_of(" \n");
  return from == s.npos ? std::string_view() : s.substr(from, last + 1 - from);
}

std::string_view last_sentence(std::string_view s) {
  const std::string_view t = trimmed(s);
  const size_t stop = t.size() < 2 ? t.npos : t.rfind(". ", t.size() - 2);
  return stop == t.npos ? t : t.substr(stop + 2);
}

// What an attempt comes to: all of it, or of a search what it found best.
std::string_view claim(std::string_view end, const gym::Problem& p) {
  return p.search.empty() ? trimmed(end) : last_sentence(end);
}

bool is_sound(std::string_view end, const gym::Problem& p) {
  const std::string_view e = trimmed(end);
  if (!p.search.empty()) return e.ends_with("Best: " + p.search.tries[0].claimed + ".");
  return !e.empty() && trimmed(p.steps).ends_with(e);
}

// A sound attempt is there, and something else has as many voices.
bool is_contested(const Group& g, const gym::Problem& p) {
  std::map<std::string_view, int64_t> wrong;
  int64_t sound = 0, maximum = 0;
  for (const Attempt* a : g) {
    sound += a->sound;
    if (!a->sound) maximum = std::max(maximum, ++wrong[claim(a->end, p)]);
  }
  return sound > 0 && maximum >= sound;
}

std::string example(const gym::Problem& p, const Group& g, const OwnAttemptOptions& o, Rng& r) {
  const std::vector<std::string> pieces = text::aggregation_pieces(p.question, static_cast<int>(g.size()));
  std::string prompt = pieces[0], verdict;
  for (size_t i = 0; i < g.size(); ++i) {
    prompt += g[i]->end + pieces[i + 1];
    verdict += fmt::format("{}{} {}", i ? ", " : "", i + 1, g[i]->sound ? "right" : "wrong");
  }
  return gym::chat_line(gym::worked_again(p, r, prompt, o.cut_short), prompt, o.verdicts ? verdict + ".\n" : "");
}

Group drawn(const std::vector<Attempt>& all, int64_t shown, Rng& r) {
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t{0});
  Group g;
  for (size_t i = 0; i < static_cast<size_t>(shown); ++i) {
    std::swap(order[i], order[i + r.below(order.size() - i)]);
    g.push_back(&all[order[i]]);
  }
  return g;
}

}  // namespace

void check(const OwnAttemptOptions& o) {
  gym::check(o.eval.problems);
  if (o.shown < 1 || o.shown > 16) fail("{} solutions per example: expected 1 to 16", o.shown);
  if (o.eval.plan.n < o.shown)
    fail("{} candidates per problem do not fill an example of {} solutions", o.eval.plan.n, o.shown);
  for (const double share : {o.unanimous, o.hopeless})
    if (!(share >= 0 && share <= 1)) fail("share of groups to keep {}: expected 0 to 1", share);
  if (!(o.cut_short >= 0 && o.cut_short <= 1)) fail("share of searches cut short {}: expected 0 to 1", o.cut_short);
  if (o.contested < 0) fail("{} contested groups per problem: expected 0 or more", o.contested);
}

OwnAttemptReport own_attempts(models::Model& model, const text::Tokenizer& tokenizer,
                              const text::ChatTemplate& chat_template, const OwnAttemptOptions& o,
                              const std::function<void(const OwnExample&, const OwnAttemptReport&)>& on_example) {
  check(o);
  OwnAttemptReport report;
  const uint64_t seed = mix64(o.eval.problems.seed);
  Rng kept(seed ^ 0x0a77e3u, 0), contests(seed ^ 0xc0de57u, 0), words(seed ^ 0x5ea2c4u, 0);
  auto on_answer = [&](const GradedAnswer& graded) {
    const gym::Problem& p = graded.problem;
    const ThinkResult& t = graded.result;
    ++report.problems;
    std::vector<Attempt> all;
    for (int64_t i = static_cast<int64_t>(t.candidates.size()) - o.eval.plan.n;
         i < static_cast<int64_t>(t.candidates.size()); ++i) {
      const Candidate& c = t.candidates[static_cast<size_t>(i)];
      const std::string end = tokenizer.decode(c.carried, text::SpecialTokens::skip);
      all.push_back({end, gym::answers(c.text, p), is_sound(end, p)});
    }
    for (int64_t first = 0; first + o.shown <= o.eval.plan.n; first += o.shown) {
      Group g;
      for (int64_t i = 0; i < o.shown; ++i) g.push_back(&all[static_cast<size_t>(first + i)]);
      const int64_t right = std::count_if(g.begin(), g.end(), [](const Attempt* a) { return a->right; });
      report.attempts += o.shown, report.right += right;
      ++(right == o.shown ? report.all_right : right > 0 ? report.mixed : report.none_right);
      const double keep = right == o.shown ? o.unanimous : right == 0 ? o.hopeless : 1;
      if (kept.uniform() >= keep) continue;
      ++report.examples;
      on_example({example(p, g, o, words), false}, report);
    }
    int64_t found = 0;
    for (int64_t k = 0; k < o.contested * kDrawsPerContested && found < o.contested; ++k) {
      const Group g = drawn(all, o.shown, contests);
      if (!is_contested(g, p)) continue;
      ++found, ++report.contested;
      on_example({example(p, g, o, words), true}, report);
    }
  };
  report.seconds = evaluate_curriculum(model, tokenizer, chat_template, o.eval, on_answer).seconds;
  return report;
}

}  // namespace quern::reason
