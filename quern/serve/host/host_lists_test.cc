// What an engine host keeps beside its requests: jobs between steps, and requests with a thinking plan.
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <vector>

#include "quern/serve/host/in_flight_plans.h"
#include "quern/serve/host/job_queue.h"

namespace quern::serve {
namespace {

TEST(JobQueue, JobsRunInOrderAndTheirExceptionsReachTheCaller) {
  JobQueue jobs;
  EXPECT_FALSE(jobs.run_next());
  std::vector<int> ran;
  std::future<void> first = jobs.push([&] { ran.push_back(1); });
  std::future<void> second = jobs.push([&] {
    ran.push_back(2);
    throw std::runtime_error("no");
  });
  std::thread([&] {
    EXPECT_TRUE(jobs.run_next());
    EXPECT_TRUE(jobs.run_next());
    EXPECT_FALSE(jobs.run_next());
  }).join();
  EXPECT_NO_THROW(first.get());
  EXPECT_THROW(second.get(), std::runtime_error);
  EXPECT_EQ(ran, (std::vector<int>{1, 2}));
}

TEST(JobQueue, WhatIsClearedDoesNotRun) {
  JobQueue jobs;
  bool ran = false;
  std::future<void> done = jobs.push([&] { ran = true; });
  jobs.clear();
  EXPECT_FALSE(jobs.run_next());
  EXPECT_THROW(done.get(), std::future_error);
  EXPECT_FALSE(ran);
}

TEST(InFlightPlans, ListsRequestsWhileTheyRun) {
  InFlightPlans plans;
  {
    InFlightPlans::Entry first = plans.add("a", "vote:3");
    {
      InFlightPlans::Entry second = plans.add("b", "best:2");
      const reason::Candidate candidate;
      first.record({.candidate = candidate, .done = 1, .all = 3, .new_tokens = 40});
      const std::vector<InFlightStatus> both = plans.status();
      ASSERT_EQ(both.size(), 2u);
      EXPECT_EQ(both[0].progress.id, "a");
      EXPECT_EQ(both[0].plan, "vote:3");
      EXPECT_TRUE(both[0].progress.started);
      EXPECT_EQ(both[0].candidates, 1);
      EXPECT_EQ(both[0].all_candidates, 3);
      EXPECT_EQ(both[0].progress.given, 40);
      EXPECT_EQ(both[1].progress.id, "b");
      EXPECT_EQ(both[1].candidates, 0);
    }
    ASSERT_EQ(plans.status().size(), 1u);
    EXPECT_EQ(plans.status()[0].progress.id, "a");
  }
  EXPECT_TRUE(plans.status().empty());
}

}  // namespace
}  // namespace quern::serve
