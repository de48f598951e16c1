#include "quern/rl/rollout_supply.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "quern/base/error.h"
#include "quern/reason/draw.h"
#include "quern/rl/advantages.h"
#include "quern/rl/rollout_buffer.h"

namespace quern::rl {

Json to_json(const std::vector<GroupOutcome>& outcomes) {
  Json all = Json::array();
  for (const GroupOutcome& o : outcomes) {
    Json j = Json::object();
    j.set("row", o.row), j.set("attempt", o.attempt), j.set("environment", o.environment);
    j.set("difficulty", o.difficulty), j.set("mean_reward", o.mean_reward), j.set("share_solved", o.share_solved);
    all.push(std::move(j));
  }
  return all;
}

std::vector<GroupOutcome> group_outcomes(const Json& j) {
  const char* where = "outcomes of groups";
  std::vector<GroupOutcome> out;
  for (const Json& o : j.as_array(where))
    out.push_back(
        {o.at("row", where).as_int("row"), o.at("attempt", where).as_int("attempt"),
         o.at("environment", where).as_string("environment"), o.at("difficulty", where).as_int("difficulty"),
         o.at("mean_reward", where).as_double("mean_reward"), o.at("share_solved", where).as_double("share_solved")});
  return out;
}

// The training problem of this number that leaves room for an answer. Above difficulty 0 one that does not is none: the
// difficulty is to fall. At 0 others are tried, as a task file may have long ones among its tasks.
std::optional<RolloutSupply::Asked> RolloutSupply::find_problem(const gym::EnvironmentAt& at, uint64_t number) const {
  constexpr uint64_t kDraws = 64;
  for (uint64_t i = 0; i < (at.difficulty == 0 ? kDraws : 1); ++i) {
    auto p = gym::find_split_problem(at, {.split = gym::ProblemSplit::train, .seed = o_.seed},
                                     i == 0 ? number : mix64(number + (i << 40)));
    if (!p) return {};
    std::vector<int32_t> prompt = sampler_.prompt_of(p->problem);
    if (sampler_.fits(prompt)) return Asked{std::move(*p), std::move(prompt)};
  }
  return {};
}

// Where a difficulty has too few problems, or they are too long, the group has no answers and counts as failed: the
// difficulty falls.
void RolloutSupply::ask(int64_t row, int64_t attempt, int64_t version) {
  const auto number = static_cast<uint64_t>(row * (o_.resample + 1) + attempt);
  Rng random(o_.seed, number);
  Row& r = open_[row];
  r.attempt = attempt, r.draw = difficulties_.draw(random);
  const gym::NamedEnvironment& e = environments_.find(r.draw.environment);
  if (auto p = find_problem({&e, r.draw.difficulty}, number))
    return asked_.push_back({.id = row,
                             .environment = &e,
                             .problem = std::move(p->of.problem),
                             .problem_seed = p->of.seed,
                             .seed = mix64(o_.seed ^ 0xa115) + number * 0x10001,
                             .prompt = std::move(p->prompt)});
  if (r.draw.difficulty == 0)
    fail("phase '{}': environment '{}' has too few problems at difficulty 0 that are no longer than sequence_length",
         o_.name, e.name);
  RolloutGroup none;
  none.environment = &e, none.problem.difficulty = r.draw.difficulty, none.version = version;
  settle(row, std::move(none), version);
}

// The longest first, as far as earlier answers tell.
void RolloutSupply::start_asked(int64_t version) {
  std::ranges::stable_sort(asked_, std::greater(),
                           [&](const RolloutRequest& r) { return lengths_[r.environment->name].mean(); });
  for (RolloutRequest& r : std::exchange(asked_, {})) sampler_.start(std::move(r), version);
}

void RolloutSupply::settle(int64_t row, RolloutGroup group, int64_t version) {
  Row& r = open_.at(row);
  const bool signal = has_signal(group.rewards());
  if (group.aggregates) {
    if (signal) ready_.push_back({row, std::move(group)});
    open_.erase(row);
    return;
  }
  for (const Rollout& answer : group.rollouts) {
    Lengths& l = lengths_[r.draw.environment];
    ++l.answers, l.tokens += std::ssize(answer.record.tokens);
  }
  outcomes_.push_back(
      {row, r.attempt, r.draw.environment, r.draw.difficulty, group.mean_reward(), group.share_solved()});
  if (signal || r.attempt == 0 || group.mean_reward() > r.best.mean_reward()) r.best = std::move(group);
  if (!signal && r.attempt < o_.resample) return ask(row, r.attempt + 1, version);
  const bool goes_on = ask_to_aggregate(row, r.best, version);
  ready_.push_back({row, std::move(r.best)});
  r.best = {};
  if (!goes_on) open_.erase(row);
}

bool RolloutSupply::ask_to_aggregate(int64_t row, const RolloutGroup& group, int64_t version) {
  Rng random(o_.seed ^ 0xa99, static_cast<uint64_t>(row));
  if (random.uniform() >= o_.aggregation.share || group.rollouts.empty() || group.share_solved() == 1) return false;
  const std::vector<int64_t> shown = reason::draw(random, std::ssize(group.rollouts), o_.aggregation.candidates);
  std::vector<int32_t> prompt = sampler_.aggregation_prompt_of(group, shown, o_.aggregation.tail);
  if (!sampler_.fits(prompt)) return false;
  sampler_.start({.id = row,
                  .environment = group.environment,
                  .problem = group.problem,
                  .problem_seed = group.problem_seed,
                  .seed = random.next(),
                  .prompt = std::move(prompt),
                  .aggregates = true},
                 version);
  return true;
}

void RolloutSupply::fill(int64_t groups, int64_t under_way, int64_t version) {
  sampler_.resume(version);
  while (ready() < groups && !stop_) {
    // A row may be ready at once: see ask().
    while (ready() < groups && std::ssize(open_) < std::max(groups - ready(), under_way))
      ask(o_.rank + next_++ * o_.ranks, 0, version);
    start_asked(version);
    sampler_.step();
    for (FinishedGroup& f : sampler_.take()) settle(f.id, std::move(f.group), version);
  }
  start_asked(version);
  sampler_.pause();
}

std::vector<RolloutGroup> RolloutSupply::take(int64_t groups) {
  if (groups > ready()) fail("rollouts: {} groups are ready, {} are wanted", ready(), groups);
  const auto end = ready_.begin() + groups;
  std::ranges::sort(ready_.begin(), end, {}, &Ready::row);
  std::vector<RolloutGroup> out;
  for (auto i = ready_.begin(); i != end; ++i) out.push_back(std::move(i->group));
  ready_.erase(ready_.begin(), end);
  return out;
}

void RolloutSupply::sort_ready() { std::ranges::sort(ready_, {}, &Ready::row); }

std::vector<GroupOutcome> RolloutSupply::take_outcomes() { return std::exchange(outcomes_, {}); }

int64_t RolloutSupply::drop_older(int64_t version) {
  const std::vector<int64_t> rows = sampler_.drop_older(version);
  for (const int64_t row : rows) open_.erase(row);
  return std::ssize(rows);
}

void RolloutSupply::skip_to(int64_t row) {
  sampler_.clear();
  open_.clear(), asked_.clear(), ready_.clear(), outcomes_.clear();
  next_ = std::max(next_, (row - o_.rank + o_.ranks - 1) / o_.ranks);
}

Json RolloutSupply::state() const {
  Json j = Json::object(), ready = Json::array(), open = Json::array(), lengths = Json::object();
  for (const auto& [name, l] : lengths_) {
    Json one = Json::object();
    one.set("answers", l.answers), one.set("tokens", l.tokens);
    lengths.set(name, std::move(one));
  }
  for (const Ready& r : ready_) {
    Json one = Json::object();
    one.set("row", r.row), one.set("group", to_json(r.group));
    ready.push(std::move(one));
  }
  for (const auto& [row, r] : open_) {
    Json one = Json::object();
    one.set("row", row), one.set("attempt", r.attempt);
    one.set("environment", r.draw.environment), one.set("difficulty", r.draw.difficulty);
    if (r.best.environment) one.set("best", to_json(r.best));
    for (const GroupUnderWay& at : sampler_.paused())
      if (at.id == row) one.set("under_way", to_json(at));
    open.push(std::move(one));
  }
  j.set("lengths", std::move(lengths));
  j.set("next", o_.rank + next_ * o_.ranks), j.set("ready", std::move(ready)), j.set("open", std::move(open));
  return j;
}

void RolloutSupply::restore(const std::vector<Json>& states) {
  const char* where = "the checkpoint's rollouts";
  const bool same = std::ssize(states) == o_.ranks;
  int64_t k = 0, first = 0;
  std::vector<GroupUnderWay> under_way;
  const auto mine = [&](size_t rank) {
    return same ? static_cast<int64_t>(rank) == o_.rank : k++ % o_.ranks == o_.rank;
  };
  open_.clear(), asked_.clear(), ready_.clear(), outcomes_.clear(), lengths_.clear();
  for (size_t rank = 0; rank < states.size(); ++rank) {
    const Json& j = states[rank];
    first = std::max(first, j.at("next", where).as_int("next"));
    if (const Json* lengths = j.find("lengths"); lengths && (!same || static_cast<int64_t>(rank) == o_.rank))
      for (const auto& [name, one] : lengths->as_object("lengths")) {
        lengths_[name].answers += one.at("answers", where).as_int("answers");
        lengths_[name].tokens += one.at("tokens", where).as_int("tokens");
      }
    for (const Json& one : j.at("ready", where).as_array("ready"))
      if (mine(rank))
        ready_.push_back({one.at("row", where).as_int("row"), rollout_group(one.at("group", where), environments_)});
    for (const Json& one : j.at("open", where).as_array("open")) {
      if (!mine(rank)) continue;
      Row& r = open_[one.at("row", where).as_int("row")];
      r.attempt = one.at("attempt", where).as_int("attempt");
      r.draw = {one.at("environment", where).as_string("environment"),
                one.at("difficulty", where).as_int("difficulty")};
      if (const Json* best = one.find("best")) r.best = rollout_group(*best, environments_);
      under_way.push_back(group_under_way(one.at("under_way", where), environments_));
    }
    if (same && static_cast<int64_t>(rank) == o_.rank)
      next_ = (j.at("next", where).as_int("next") - o_.rank) / o_.ranks;
  }
  if (!same) next_ = (first + o_.ranks - 1) / o_.ranks;
  sampler_.restore(std::move(under_way));
}

}  // namespace quern::rl
