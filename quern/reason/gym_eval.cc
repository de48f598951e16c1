#include "quern/reason/gym_eval.h"

#include <algorithm>
#include <numeric>

#include "quern/base/error.h"
#include "quern/reason/eval_statistics.h"

namespace quern::reason {
namespace {

// A calibration ends when the level is known as well as this, in difficulties or in shares of the level.
constexpr double kLevelDeviation = 0.3, kRelativeDeviation = 0.03;
constexpr int64_t kMinCalibrationGroups = 8;

uint64_t sampling_seed(uint64_t problem_seed, int64_t difficulty, int64_t sample) {
  return mix64(problem_seed + 0x9e3779b97f4a7c15ull * static_cast<uint64_t>(difficulty * 1024 + sample + 1));
}

// Every environment at every difficulty, in order.
class FixedProblems : public GymProblems {
 public:
  explicit FixedProblems(const GymEvalOptions& o) : GymProblems(o) {
    for (const gym::NamedEnvironment* e : o.environments)
      for (int64_t d = o.min_difficulty; d <= o.max_difficulty; ++d) gym::split_problem(*e, d, o.choice, 0);
  }

  std::optional<EvalProblem> next() override {
    const int64_t cell = next_ / (o_.count * o_.samples), within = next_ % (o_.count * o_.samples);
    const int64_t difficulties = o_.max_difficulty - o_.min_difficulty + 1;
    if (cell == difficulties * static_cast<int64_t>(o_.environments.size())) return {};
    ++next_;
    return problem(*o_.environments[static_cast<size_t>(cell / difficulties)],
                   o_.min_difficulty + cell % difficulties, within / o_.samples, within % o_.samples);
  }

 private:
  int64_t next_ = 0;
};

// One group of problems of each environment at a time, at the difficulty that tells most of its level.
class CalibratingProblems : public GymProblems {
 public:
  explicit CalibratingProblems(const GymEvalOptions& o) : GymProblems(o) {
    for (const gym::NamedEnvironment* e : o.environments) {
      gym::LevelEstimate& level = scores_[e->name].level.emplace(o.choice.seed);
      running_.push_back({.of = e, .level = &level, .draws = Rng(o.choice.seed, running_.size() + 1)});
      begin_group(running_.back());
    }
  }

  std::optional<EvalProblem> next() override {
    for (Running& r : running_) {
      if (r.asked == o_.count || ended(r)) continue;
      ++r.asked;
      return problem(*r.of, r.difficulty, r.used[r.difficulty]++, 0);
    }
    return {};
  }

 private:
  struct Running {
    const gym::NamedEnvironment* of;
    gym::LevelEstimate* level;
    Rng draws;
    int64_t difficulty = 0, asked = 0, answered = 0, right = 0;  // of the group
    std::map<int64_t, int64_t> used = {};  // problems asked at a difficulty, so that each is new
  };

  static bool ended(const Running& r) {
    const int64_t groups = r.level->groups();
    if (groups < kMinCalibrationGroups) return false;
    return groups >= kMaxCalibrationGroups ||
           r.level->level_deviation() < std::max(kLevelDeviation, kRelativeDeviation * r.level->curve().level);
  }

  void begin_group(Running& r) {
    const int64_t hardest = r.of->environment->saturates_at().value_or(gym::kMaxDifficulty);
    r.difficulty = std::min(r.level->ask(r.draws), hardest);
    while (r.difficulty < hardest && !gym::find_split_problem(*r.of, r.difficulty, o_.choice, 0)) ++r.difficulty;
    r.asked = r.answered = r.right = 0;
  }

  void graded(const GradedAnswer& a) override {
    const auto r = std::ranges::find_if(running_, [&](const Running& x) { return x.of->name == a.problem.kind; });
    r->right += a.right;
    if (++r->answered < o_.count) return;
    r->level->observe(r->difficulty, r->right, o_.count);
    begin_group(*r);
  }

  std::vector<Running> running_;
};

}  // namespace

void check(const GymEvalOptions& o) {
  if (o.environments.empty()) fail("no environments to evaluate on");
  if (o.count < 1) fail("{} problems per {}: expected 1 or more", o.count, o.calibrate ? "group" : "difficulty");
  if (o.samples < 1) fail("{} samples per problem: expected 1 or more", o.samples);
  if (o.calibrate && o.samples > 1) fail("a calibration takes one sample of each problem, not {}", o.samples);
  if (o.min_difficulty < 0 || o.max_difficulty > gym::kMaxDifficulty || o.min_difficulty > o.max_difficulty)
    fail("difficulties {} to {}: expected within 0 to {}", o.min_difficulty, o.max_difficulty, gym::kMaxDifficulty);
}

int64_t DifficultyScore::all_right() const { return std::accumulate(right.begin(), right.end(), int64_t{0}); }

double DifficultyScore::success() const { return static_cast<double>(all_right()) / static_cast<double>(attempts()); }

double DifficultyScore::pass_at(int64_t k) const {
  double sum = 0;
  for (int64_t c : right) sum += pass_at_k(samples, c, k);
  return sum / static_cast<double>(problems());
}

Interval DifficultyScore::interval() const { return wilson_of_share(success(), static_cast<double>(problems())); }

DifficultyScore EnvironmentScore::all() const {
  DifficultyScore sum;
  for (const auto& [d, s] : by_difficulty) {
    sum.samples = s.samples, sum.reward += s.reward;
    sum.right.insert(sum.right.end(), s.right.begin(), s.right.end());
  }
  return sum;
}

gym::ResponseCurve EnvironmentScore::curve() const {
  if (level) return level->curve();
  gym::LevelEstimate fitted;
  for (const auto& [d, s] : by_difficulty) fitted.observe(d, s.all_right(), s.attempts());
  return fitted.curve();
}

GymProblems::GymProblems(const GymEvalOptions& o) : o_(o) {}

EvalProblem GymProblems::problem(const gym::NamedEnvironment& e, int64_t difficulty, int64_t index,
                                 int64_t sample) const {
  gym::SeededProblem s = gym::split_problem(e, difficulty, o_.choice, static_cast<uint64_t>(index));
  return {.problem = std::move(s.problem),
          .sampling_seed = sampling_seed(s.seed, difficulty, sample),
          .seed = s.seed,
          .index = index,
          .sample = sample};
}

gym::Verdict GymProblems::judge(const gym::Problem& p, std::string_view reply) const {
  const auto e = std::ranges::find_if(o_.environments, [&](const auto* x) { return x->name == p.kind; });
  return (*e)->verify(p, reply);
}

void GymProblems::answered(const GradedAnswer& a) {
  EnvironmentScore& environment = scores_[a.problem.kind];
  DifficultyScore& s = environment.by_difficulty[a.problem.difficulty];
  const auto index = static_cast<size_t>(a.asked.index);
  if (s.right.size() <= index) s.right.resize(index + 1);
  s.samples = o_.samples, s.right[index] += a.right, s.reward += a.verdict.reward;
  graded(a);
  if (on_answer_) on_answer_(a);
}

std::unique_ptr<GymProblems> gym_problems(const GymEvalOptions& o) {
  check(o);
  if (o.calibrate) return std::make_unique<CalibratingProblems>(o);
  return std::make_unique<FixedProblems>(o);
}

}  // namespace quern::reason
