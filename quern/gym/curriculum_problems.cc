// Draws problems of a split.
#include "quern/gym/curriculum_problems.h"

#include <array>

#include "quern/base/error.h"
#include "quern/base/nearest.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/splits.h"

namespace quern::gym {
namespace {

constexpr std::array<std::string_view, 8> kKinds = {"arithmetic", "lists",   "logic", "dates",
                                                    "units",      "stories", "walks", "routes"};

const Environment& environment(size_t kind) {
  static const auto all = [] {
    std::array<const Environment*, kKinds.size()> e;
    for (size_t i = 0; i < e.size(); ++i) e[i] = plugin_environments().find(std::string(kKinds[i])).environment.get();
    return e;
  }();
  return *all[kind];
}

size_t kind_index(const std::string& name) {
  for (size_t i = 0; i < kKinds.size(); ++i)
    if (kKinds[i] == name) return i;
  fail("unknown kind of problem '{}'{} (known: {})", name, did_you_mean(name, {kKinds.begin(), kKinds.end()}),
       fmt::join(kKinds, ", "));
}

}  // namespace

std::span<const std::string_view> problem_kinds() { return kKinds; }

void check(const ProblemOptions& o) {
  if (o.min_level < 1 || o.max_level > 5 || o.min_level > o.max_level)
    fail("levels {} to {}, expected within 1 to 5", o.min_level, o.max_level);
  for (const std::string& k : o.kinds) kind_index(k);
}

void read_levels(std::string_view text, ProblemOptions& o) {
  auto number = [&](std::string_view part) {
    if (part.size() != 1 || part[0] < '1' || part[0] > '5')
      fail("level '{}', expected 1 to 5 or a range like 2-4", text);
    return part[0] - '0';
  };
  const size_t dash = text.find('-');
  o.min_level = number(text.substr(0, dash));
  o.max_level = dash == text.npos ? o.min_level : number(text.substr(dash + 1));
}

Problem curriculum_problem(const ProblemOptions& o, uint64_t index) {
  const bool wanted = o.split == data::Split::held_out;
  // Both splits draw the same way; only what they keep differs.
  for (uint64_t attempt = 0;; ++attempt) {
    Rng r(mix64(o.seed) + attempt, index * 2 + wanted);
    const size_t kind = o.kinds.empty() ? r.below(kKinds.size()) : kind_index(o.kinds[r.below(o.kinds.size())]);
    const int level = o.min_level + static_cast<int>(r.below(static_cast<uint64_t>(o.max_level - o.min_level + 1)));
    Problem p = environment(kind).generate(r, level - 1);
    p.kind = kKinds[kind], p.level = level, p.difficulty = level - 1;
    const bool test = split_of(p.kind, p.key) == ProblemSplit::test;
    p.key = p.kind + ": " + p.key;
    if (test == wanted) return p;
  }
}

}  // namespace quern::gym
