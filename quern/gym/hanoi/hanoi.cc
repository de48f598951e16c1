// Environment `hanoi`: the moves that bring d + 2 disks, wherever they stand, to one peg. From there the shortest way is
// known: the largest disk that is not at its goal moves once, after the smaller ones have gone to the third peg.
#include <array>

#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

constexpr int64_t kHardest = 6;
constexpr std::string_view kPegs = "ABC";

using DiskPegs = std::vector<int64_t>;  // the peg of each disk, the smallest first

std::string text_of(const DiskPegs& pegs) {
  std::string s;
  for (size_t peg = 0; peg < 3; ++peg) {
    std::vector<size_t> disks;
    for (size_t i = pegs.size(); i-- > 0;)
      if (pegs[i] == static_cast<int64_t>(peg)) disks.push_back(i + 1);
    s += fmt::format("{}peg {}: {}", peg ? ", " : "", kPegs[peg],
                     disks.empty() ? "empty" : fmt::format("{}", fmt::join(disks, " ")));
  }
  return s;
}

// Brings the first `n` disks to `goal`.
void gather(DiskPegs& pegs, size_t n, int64_t goal, std::vector<std::string>& moves) {
  while (n > 0 && pegs[n - 1] == goal) --n;
  if (n == 0) return;
  const int64_t from = pegs[n - 1];
  gather(pegs, n - 1, 3 - from - goal, moves);
  moves.push_back({kPegs[static_cast<size_t>(from)], kPegs[static_cast<size_t>(goal)]});
  pegs[n - 1] = goal;
  gather(pegs, n - 1, goal, moves);
}

class Hanoi : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    const auto n = static_cast<size_t>(std::min(difficulty, kHardest)) + 2;
    const int64_t goal = between(r, 0, 2);
    DiskPegs pegs(n);
    do
      for (int64_t& peg : pegs) peg = between(r, 0, 2);
    while (std::ranges::count(pegs, goal) == static_cast<std::ptrdiff_t>(n));
    std::vector<std::string> moves;
    Problem p{.key = fmt::format("{} to {}", text_of(pegs), kPegs[static_cast<size_t>(goal)])};
    p.question = fmt::format(
        "Disks numbered by size stand on three pegs, from the bottom up: {}. A move takes the top disk of a peg to "
        "another peg, never onto a smaller disk. Bring all disks to peg {} in as few moves as possible. Write the "
        "moves in order, each as the letters of the two pegs: AB is from A to B.",
        text_of(pegs), kPegs[static_cast<size_t>(goal)]);
    p.facts.set("pegs", json_array(pegs)), p.facts.set("goal", goal);
    gather(pegs, n, goal, moves);
    p.facts.set("fewest", static_cast<int64_t>(moves.size()));
    p.answer = fmt::format("{}", fmt::join(moves, ", "));
    p.steps = worked(json_numbers(p.facts.at("pegs")), moves);
    return p;
  }

  Verdict verify(const Problem& p, std::string_view reply) const override {
    const std::vector<std::string> moves = answer_words(final_answer(reply));
    if (moves.empty()) return {0, "no answer"};
    DiskPegs pegs = json_numbers(p.facts.at("pegs"));
    for (const std::string& move : moves) {
      if (move.size() != 2 || move.find_first_not_of("abc") != move.npos || move[0] == move[1])
        return {0, fmt::format("'{:.20}' is not a move", move)};
      const int64_t from = move[0] - 'a', to = move[1] - 'a';
      const auto disk = std::ranges::find(pegs, from);  // the smallest there, and none smaller on the other
      if (disk == pegs.end()) return {0, fmt::format("{}: the peg is empty", move)};
      if (std::ranges::find(pegs, to) < disk) return {0, fmt::format("{}: onto a smaller disk", move)};
      *disk = to;
    }
    const int64_t goal = p.facts.at("goal").as_int(), fewest = p.facts.at("fewest").as_int();
    if (std::ranges::count(pegs, goal) != static_cast<std::ptrdiff_t>(pegs.size()))
      return {0, "not all disks are at the goal"};
    if (static_cast<int64_t>(moves.size()) != fewest) return {0, fmt::format("{} moves would do", fewest)};
    return {1, "all disks are at the goal in the fewest moves"};
  }

  std::optional<int64_t> saturates_at() const override { return kHardest; }

 private:
  static std::string worked(DiskPegs pegs, const std::vector<std::string>& moves) {
    std::string steps;
    for (const std::string& move : moves) {
      const auto disk = std::ranges::find(pegs, move[0] - 'A');
      *disk = move[1] - 'A';
      steps += fmt::format("{}Disk {} from {} to {}.", steps.empty() ? "" : " ", disk - pegs.begin() + 1, move[0],
                           move[1]);
    }
    return steps;
  }
};

}  // namespace

void register_hanoi(EnvironmentRegistry& r) {
  r.add("hanoi", "the fewest moves that bring all disks to one peg", std::make_unique<Hanoi>(), "games");
}

}  // namespace quern::gym
