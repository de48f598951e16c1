#include "quern/serve/host/in_flight_plans.h"

#include <utility>

namespace quern::serve {

using Clock = std::chrono::steady_clock;

InFlightPlans::Entry InFlightPlans::add(std::string id, std::string plan) {
  InFlightStatus status{.progress = {.id = std::move(id), .started = true}, .plan = std::move(plan)};
  std::lock_guard lock(mutex_);
  return {*this, plans_.insert(plans_.end(), {std::move(status), Clock::now()})};
}

InFlightPlans::Entry::~Entry() {
  std::lock_guard lock(all_.mutex_);
  all_.plans_.erase(plan_);
}

void InFlightPlans::Entry::record(const reason::ThinkEvent& e) {
  std::lock_guard lock(all_.mutex_);
  InFlightStatus& s = plan_->status;
  s.candidates = e.done, s.all_candidates = e.all, s.progress.given = e.new_tokens;
}

std::vector<InFlightStatus> InFlightPlans::status() const {
  std::vector<InFlightStatus> out;
  std::lock_guard lock(mutex_);
  for (const Plan& p : plans_) {
    out.push_back(p.status);
    out.back().progress.age = std::chrono::duration<double>(Clock::now() - p.began).count();
  }
  return out;
}

}  // namespace quern::serve
