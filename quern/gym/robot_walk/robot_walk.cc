// Environment `robot_walk`: where a robot stands after d + 3 commands.
#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

constexpr std::array<std::string_view, 4> kFacing = {"north", "east", "south", "west"};
constexpr std::array<int64_t, 4> kEast = {0, 1, 0, -1}, kNorth = {1, 0, -1, 0};

Problem robot_walk(Rng& r, int64_t d) {
  int64_t x = 0, y = 0;
  size_t facing = r.below(4);
  Problem p;
  std::vector<std::string> commands;
  const std::string_view start = kFacing[facing];
  for (int64_t i = 0; i < d + 3; ++i) {
    const uint64_t kind = i == 0 ? 0 : r.below(d >= 4 ? 6 : 4);
    if (kind <= 1 || kind == 4) {
      const int64_t far = between(r, 1, 5 + std::min<int64_t>(d, 20)), way = kind == 4 ? -far : far;
      commands.push_back(fmt::format("{} {}", kind == 4 ? "back" : "forward", far));
      x += way * kEast[facing], y += way * kNorth[facing];
      p.steps += fmt::format("{}: at ({}, {}). ", commands.back(), x, y);
    } else {
      const size_t turns = kind == 2 ? 3 : kind == 3 ? 1 : 2;
      commands.emplace_back(kind == 2 ? "left" : kind == 3 ? "right" : "around");
      facing = (facing + turns) % 4;
      p.steps += fmt::format("{}: faces {}. ", commands.back(), kFacing[facing]);
    }
  }
  p.steps.pop_back();
  p.question = fmt::format(
      "A robot stands at (0, 0) and faces {}. North is up, where y grows; east is right, where x grows. \"left\", "
      "\"right\" "
      "and \"around\" turn it on the spot. It obeys: {}. Where does it stand then? Write (x, y).",
      start, fmt::join(commands, ", "));
  p.answer = fmt::format("({}, {})", x, y);
  p.key = fmt::format("{}: {}", start, fmt::join(commands, ", "));
  return p;
}

class RobotWalk : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override { return robot_walk(r, difficulty); }
  Verdict verify(const Problem& p, std::string_view reply) const override { return judge_integers(p, reply); }
};

}  // namespace

void register_robot_walk(EnvironmentRegistry& r) {
  r.add("robot_walk", "where a robot stands after commands to move and turn", std::make_unique<RobotWalk>(),
        "geometry on grids");
}

}  // namespace quern::gym
