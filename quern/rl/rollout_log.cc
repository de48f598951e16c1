#include "quern/rl/rollout_log.h"

#include <fstream>
#include <string>

#include "quern/base/error.h"
#include "quern/train/checkpoint/format.h"

namespace quern::rl {

void RolloutLog::write(int64_t step, std::span<const RolloutGroup> groups) const {
  std::string lines;
  for (const RolloutGroup& g : groups) {
    Json j = Json::object(), rewards = Json::array(), tokens = Json::array();
    j.set("step", step), j.set("environment", g.environment->name), j.set("difficulty", g.problem.difficulty);
    j.set("seed", static_cast<int64_t>(g.problem_seed)), j.set("aggregation", g.aggregates);
    for (const Rollout& r : g.rollouts) {
      rewards.push(r.reward);
      tokens.push(static_cast<int64_t>(r.record.tokens.size()));
    }
    j.set("rewards", std::move(rewards)), j.set("tokens", std::move(tokens));
    j.set("question", g.problem.question);
    if (!g.rollouts.empty()) j.set("answer", g.rollouts[0].text), j.set("reason", g.rollouts[0].reason);
    lines += j.dump() + "\n";
  }
  std::ofstream out(file_, std::ios::app | std::ios::binary);
  if (!(out << lines << std::flush)) fail("cannot write {}", file_.string());
}

void RolloutLog::discard_after(int64_t step) const {
  if (!std::filesystem::exists(file_)) return;
  std::string kept;
  std::ifstream in(file_, std::ios::binary);
  for (std::string line; std::getline(in, line) && !in.eof();) {  // a killed run's last line may have no end
    const Json j = Json::parse(line, file_.string());
    if (j.at("step", file_.string()).as_int("step") <= step) kept += line + "\n";
  }
  train::write_durably(file_, kept);
}

}  // namespace quern::rl
