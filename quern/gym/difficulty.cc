#include "quern/gym/difficulty.h"

#include <algorithm>
#include <cmath>

#include "quern/base/error.h"

namespace quern::gym {

int64_t Difficulty::draw(Rng& r) const {
  const int64_t lowest = std::max<int64_t>(0, upper_ - options_.window + 1);
  return lowest + static_cast<int64_t>(r.below(static_cast<uint64_t>(upper_ - lowest + 1)));
}

void Difficulty::observe(int64_t difficulty, double mean_reward) {
  if (!(mean_reward >= 0 && mean_reward <= 1)) fail("difficulty: a mean reward of {}, expected 0 to 1", mean_reward);
  ++groups_;
  if (difficulty != upper_) return;
  if (mean_reward > options_.rise_above) upper_ = std::min(upper_ + 1, options_.highest);
  if (mean_reward == 0) upper_ = std::max<int64_t>(upper_ - 1, 0);
}

LearnerDifficulties::LearnerDifficulties(std::vector<std::string> environments, DifficultyOptions o) {
  if (environments.empty()) fail("difficulty: no environments");
  if (o.start > o.highest) fail("difficulty: start {} is above highest {}", o.start, o.highest);
  for (std::string& name : environments)
    if (!all_.emplace(name, Difficulty(o.start, o)).second) fail("difficulty: environment {} is there twice", name);
}

LearnerDifficulties::Draw LearnerDifficulties::draw(Rng& r) const {
  double sum = 0;
  for (const auto& [name, d] : all_) sum += 1 / (1 + static_cast<double>(d.groups_));
  double at = r.uniform() * sum;
  auto chosen = all_.begin();
  for (auto i = all_.begin(); i != all_.end(); ++i) {
    chosen = i;
    at -= 1 / (1 + static_cast<double>(i->second.groups_));
    if (at < 0) break;
  }
  return {chosen->first, chosen->second.draw(r)};
}

const Difficulty& LearnerDifficulties::of(const std::string& environment) const {
  const auto i = all_.find(environment);
  if (i == all_.end()) fail("difficulty: '{}' is none of the environments", environment);
  return i->second;
}

void LearnerDifficulties::observe(const std::string& environment, int64_t difficulty, double mean_reward) {
  const_cast<Difficulty&>(of(environment)).observe(difficulty, mean_reward);
}

void LearnerDifficulties::limit(const std::string& environment, int64_t highest) {
  auto& d = const_cast<Difficulty&>(of(environment));
  d.options_.highest = std::min(d.options_.highest, highest);
  d.upper_ = std::min(d.upper_, d.options_.highest);
}

void LearnerDifficulties::set_upper(const std::string& environment, int64_t upper) {
  if (upper < 0 || upper > kMaxDifficulty)
    fail("difficulty: {} of {}: expected 0 to {}", upper, environment, kMaxDifficulty);
  const_cast<Difficulty&>(of(environment)).upper_ = upper;
}

Json LearnerDifficulties::state() const {
  Json j = Json::object();
  for (const auto& [name, d] : all_) {
    Json one = Json::object();
    one.set("upper", d.upper_), one.set("groups", d.groups_);
    j.set(name, std::move(one));
  }
  return j;
}

void LearnerDifficulties::restore(const Json& state) {
  const auto& stored = state.as_object();
  for (const auto& [name, one] : stored) {
    of(name);
    for (const char* key : {"upper", "groups"}) {
      const Json* v = one.find(key);
      if (!v || !v->is_int() || v->as_int() < 0)
        fail("difficulty: {}.{} is missing or not a whole number", name, key);
    }
  }
  if (stored.size() != all_.size())
    fail("difficulty: the stored state has {} environments, expected {}", stored.size(), all_.size());
  for (const auto& [name, one] : stored) {
    set_upper(name, one.at("upper").as_int());
    const_cast<Difficulty&>(of(name)).groups_ = one.at("groups").as_int();
  }
}

}  // namespace quern::gym
