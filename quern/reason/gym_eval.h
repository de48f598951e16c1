// Evaluates a model on environments of the gym: at fixed difficulties, with several samples of each problem if asked
// for, or at difficulties that follow the answers, until an environment's level is known (LevelEstimate).
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quern/gym/level_estimate.h"
#include "quern/gym/splits.h"
#include "quern/reason/evaluation.h"
#include "quern/reason/interval.h"

namespace quern::reason {

struct GymProblemOptions {
  std::vector<gym::EnvironmentAt> asked;  // environments and difficulties
  bool calibrate = false;                 // difficulties follow the answers; those of `asked` are not used
  gym::SplitChoice choice = {.split = gym::ProblemSplit::dev};
  int64_t count = 20;   // different problems of each difficulty, or of a group; fewer where there are no more
  int64_t samples = 1;  // of each problem
};
void check(const GymProblemOptions& o);  // throws Error naming the field

constexpr int64_t kMaxCalibrationGroups = 40;

// A difficulty that has fewer different problems than were asked for; each of them is asked once.
struct FewProblems {
  gym::EnvironmentAt at;
  int64_t there = 0;
};

// Of an environment at one difficulty.
struct DifficultyScore {
  std::vector<int64_t> right;  // samples that are right, of each problem
  int64_t samples = 1;         // of each problem
  double reward = 0;           // sum over all samples

  int64_t problems() const { return static_cast<int64_t>(right.size()); }
  int64_t attempts() const { return problems() * samples; }
  int64_t all_right() const;
  double success() const;  // share of the attempts that are right: pass@1, avg@samples
  double mean_reward() const { return reward / static_cast<double>(attempts()); }
  double pass_at(int64_t k) const;  // mean over problems
  Interval interval() const;        // Wilson's, of the success; samples of one problem count as one
};

struct EnvironmentScore {
  std::map<int64_t, DifficultyScore> by_difficulty;
  std::optional<gym::LevelEstimate> level = {};  // of a calibration
  std::optional<int64_t> hardest = {};           // the difficulty at which the environment saturates
  DifficultyScore all() const;
  gym::ResponseCurve curve() const;  // of the calibration, or fitted to the scores
  std::string level_text() const;    // "3.6 ± 0.3", or that the level is outside the difficulties there are
  bool below() const;                // of a calibration: hardly any problem of difficulty 0 is solved,
  bool above() const;                // or most of the hardest are
};

// The problems of an evaluation, and what their answers come to.
class GymProblems : public ProblemSource {
 public:
  gym::Verdict judge(const gym::Problem& p, std::string_view reply) const override;
  gym::Verdict refused(const EvalProblem&, const std::string& why) override { return {0, why}; }
  void answered(const GradedAnswer& a) override;
  void on_answer(AnswerEvent f) { on_answer_ = std::move(f); }
  const std::map<std::string, EnvironmentScore>& scores() const { return scores_; }
  const std::vector<FewProblems>& few() const { return few_; }  // known once next() has come to them

 protected:
  explicit GymProblems(const GymProblemOptions& o);
  static EvalProblem problem(const gym::SeededProblem& of, int64_t index, int64_t sample);
  virtual void graded(const GradedAnswer&) {}
  const GymProblemOptions& o_;
  std::map<std::string, EnvironmentScore> scores_;
  std::vector<FewProblems> few_;

 private:
  AnswerEvent on_answer_;
};

// `o` must outlive it. Throws Error naming the environment where a split has too few problems at a difficulty.
std::unique_ptr<GymProblems> gym_problems(const GymProblemOptions& o);

}  // namespace quern::reason
