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

// Every environment at every difficulty that is asked, in order.
class FixedProblems : public GymProblems {
 public:
  explicit FixedProblems(const GymProblemOptions& o) : GymProblems(o) {
    for (const gym::EnvironmentAt& at : o.asked) gym::split_problem(at, o.choice, 0);
  }

  std::optional<EvalProblem> next() override {
    while (sample_ == o_.samples || !now_)
      if (!take()) return {};
    return problem(*now_, index_, sample_++);
  }

 private:
  // The next problem, of the next difficulty where one is done. False: it was the last one.
  bool take() {
    if (at_ == o_.asked.size()) return false;
    const gym::EnvironmentAt& at = o_.asked[at_];
    if (!source_) source_.emplace(at, o_.choice), index_ = -1;
    now_.reset(), sample_ = 0;
    if (++index_ < o_.count) now_ = source_->next();
    if (now_) return true;
    if (index_ < o_.count) few_.push_back({at, index_});
    ++at_, source_.reset();
    return true;
  }

  size_t at_ = 0;  // in what is asked
  std::optional<gym::DifferentProblems> source_;
  std::optional<gym::SeededProblem> now_;
  int64_t index_ = -1, sample_ = 0;
};

// One group of problems of each environment at a time, at the difficulty that tells most of its level.
class CalibratingProblems : public GymProblems {
 public:
  explicit CalibratingProblems(const GymProblemOptions& o) : GymProblems(o) {
    for (const gym::EnvironmentAt& at : o.asked) {
      EnvironmentScore& score = scores_[at.environment->name];
      if (score.level) continue;  // at another difficulty
      score.level.emplace(o.choice.seed), score.hardest = at.environment->environment->saturates_at();
      running_.push_back({.of = at.environment, .score = &score, .draws = Rng(o.choice.seed, running_.size() + 1)});
      begin_group(running_.back());
    }
  }

  std::optional<EvalProblem> next() override {
    for (Running& r : running_) {
      if (r.asked == r.group.size() || ended(r)) continue;
      return problem(r.group[r.asked++], r.used[r.difficulty]++, 0);
    }
    return {};
  }

 private:
  struct Running {
    const gym::NamedEnvironment* of;
    EnvironmentScore* score;
    Rng draws;
    int64_t difficulty = 0, answered = 0, right = 0;          // of the group
    size_t asked = 0;                                         // of the group
    std::vector<gym::SeededProblem> group = {};               // empty: no difficulty has another problem
    std::map<int64_t, gym::DifferentProblems> problems = {};  // by difficulty
    std::map<int64_t, int64_t> used = {};                     // how many were asked at a difficulty
  };

  static bool ended(const Running& r) {
    const gym::LevelEstimate& level = *r.score->level;
    if (level.groups() < kMinCalibrationGroups) return false;
    return level.groups() >= kMaxCalibrationGroups || r.score->below() || r.score->above() ||
           level.level_deviation() < std::max(kLevelDeviation, kRelativeDeviation * level.curve().level);
  }

  // Of new problems: at the next difficulty that has any, where this one has none left.
  void begin_group(Running& r) {
    const int64_t hardest = r.score->hardest.value_or(gym::kMaxDifficulty);
    r.group.clear(), r.asked = 0, r.answered = r.right = 0;
    for (r.difficulty = std::min(r.score->level->ask(r.draws), hardest); r.difficulty <= hardest; ++r.difficulty) {
      auto& problems =
          r.problems.try_emplace(r.difficulty, gym::EnvironmentAt{r.of, r.difficulty}, o_.choice).first->second;
      while (static_cast<int64_t>(r.group.size()) < o_.count) {
        std::optional<gym::SeededProblem> p = problems.next();
        if (!p) break;
        r.group.push_back(std::move(*p));
      }
      if (!r.group.empty()) return;
    }
  }

  void graded(const GradedAnswer& a) override {
    const auto r = std::ranges::find_if(running_, [&](const Running& x) { return x.of->name == a.problem.kind; });
    r->right += a.right;
    if (++r->answered < static_cast<int64_t>(r->group.size())) return;
    r->score->level->observe(r->difficulty, r->right, r->answered);
    if (!ended(*r)) begin_group(*r);
  }

  std::vector<Running> running_;
};

}  // namespace

void check(const GymProblemOptions& o) {
  if (o.asked.empty()) fail("no environments to evaluate on");
  if (o.count < 1) fail("{} problems per {}: expected 1 or more", o.count, o.calibrate ? "group" : "difficulty");
  if (o.samples < 1) fail("{} samples per problem: expected 1 or more", o.samples);
  if (o.calibrate && o.samples > 1) fail("a calibration takes one sample of each problem, not {}", o.samples);
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

bool EnvironmentScore::below() const { return level && level->curve().level + level->level_deviation() < 0; }

bool EnvironmentScore::above() const {
  return level && hardest && level->curve().level - level->level_deviation() > static_cast<double>(*hardest);
}

std::string EnvironmentScore::level_text() const {
  if (!level) return "";
  if (below()) return "below 0";
  if (above()) return fmt::format("above {}", *hardest);
  return fmt::format("{:.1f} ± {:.1f}", level->curve().level, level->level_deviation());
}

GymProblems::GymProblems(const GymProblemOptions& o) : o_(o) {}

EvalProblem GymProblems::problem(const gym::SeededProblem& of, int64_t index, int64_t sample) {
  return {.problem = of.problem,
          .sampling_seed = sampling_seed(of.seed, of.problem.difficulty, sample),
          .seed = of.seed,
          .index = index,
          .sample = sample};
}

gym::Verdict GymProblems::judge(const gym::Problem& p, std::string_view reply) const {
  const auto at = std::ranges::find_if(o_.asked, [&](const auto& x) { return x.environment->name == p.kind; });
  return at->environment->verify(p, reply);
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

std::unique_ptr<GymProblems> gym_problems(const GymProblemOptions& o) {
  check(o);
  if (o.calibrate) return std::make_unique<CalibratingProblems>(o);
  return std::make_unique<FixedProblems>(o);
}

}  // namespace quern::reason
