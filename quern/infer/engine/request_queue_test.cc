// The order of admission, cancelling in and behind the queue, and results that are taken once.
#include "quern/infer/engine/request_queue.h"

#include <gtest/gtest.h>

#include <thread>

namespace quern::infer {
namespace {

std::unique_ptr<Sequence> sequence(int64_t state_bytes = 0) {
  auto s = std::make_unique<Sequence>(Request{.prompt = {1, 2}}, 100);
  s->state_bytes = state_bytes;
  return s;
}
bool any(const Sequence&) { return true; }

TEST(RequestQueue, IsInOrderAndNobodyOvertakes) {
  RequestQueue q;
  EXPECT_EQ(q.push(sequence(9)), 1);
  EXPECT_EQ(q.push(sequence(2)), 2);
  const auto small = [](const Sequence& s) { return s.state_bytes < 5; };
  EXPECT_EQ(q.pop(small), nullptr) << "the second would fit, but the first is first";
  EXPECT_EQ(q.pop(any)->id, 1);
  EXPECT_EQ(q.pop(small)->id, 2);
  EXPECT_EQ(q.pop(any), nullptr);
}

std::unique_ptr<Sequence> of_user(const std::string& user, int64_t priority = 0) {
  return std::make_unique<Sequence>(Request{.prompt = {1, 2}, .options = {.priority = priority, .user = user}}, 100);
}

TEST(RequestQueue, ALowerPriorityValueIsFirst) {
  RequestQueue q;
  const auto late = q.push(of_user("a", 5)), usual = q.push(of_user("a")), urgent = q.push(of_user("b", -1)),
             other = q.push(of_user("b"));
  q.charge("b", 1000);
  EXPECT_EQ(q.pop(any)->id, urgent) << "what its user had before does not count against a priority";
  EXPECT_EQ(q.pop(any)->id, usual);
  EXPECT_EQ(q.pop(any)->id, other);
  EXPECT_EQ(q.pop(any)->id, late);
}

// One user's hundred requests, then another's one: it is next but one at most.
TEST(RequestQueue, UsersTakeTurnsByTheirTokens) {
  RequestQueue q;
  for (int i = 0; i < 100; ++i) q.push(of_user("many"));
  for (int i = 0; i < 10; ++i) q.charge(q.pop(any)->r.options.user, 50);
  const auto one = q.push(of_user("one"));
  const auto first = q.pop(any);
  q.charge(first->r.options.user, 50);
  const auto second = q.pop(any);
  EXPECT_TRUE(first->id == one || second->id == one);

  RequestQueue tokens;  // equal shares of tokens, not of requests
  for (int i = 0; i < 60; ++i) tokens.push(of_user("long")), tokens.push(of_user("short"));
  int longer = 0;
  for (int i = 0; i < 40; ++i) {
    const auto s = tokens.pop(any);
    const bool is_long = s->r.options.user == "long";
    longer += is_long;
    tokens.charge(s->r.options.user, is_long ? 300 : 100);
  }
  EXPECT_EQ(longer, 10);
}

TEST(RequestQueue, IdleTimeEarnsNoCredit) {
  RequestQueue q;
  for (int i = 0; i < 40; ++i) q.push(of_user("busy"));
  for (int i = 0; i < 20; ++i) q.charge(q.pop(any)->r.options.user, 100);  // 2,000 tokens while the other was away
  for (int i = 0; i < 20; ++i) q.push(of_user("late"));
  int late = 0;
  for (int i = 0; i < 20; ++i) {
    const auto s = q.pop(any);
    late += s->r.options.user == "late";
    q.charge(s->r.options.user, 100);
  }
  EXPECT_EQ(late, 10);
}

TEST(FairShare, WhoBeginsToWaitIsLiftedToTheLowestThatWaits) {
  FairShare f;
  f.begin_waiting("a"), f.begin_waiting("b");
  f.charge("a", 70), f.charge("b", 30);
  f.begin_waiting("c");
  EXPECT_EQ(f.spent("c"), 30);
  f.end_waiting("a"), f.end_waiting("b"), f.end_waiting("c");
  f.charge("c", 500);
  f.begin_waiting("d");
  EXPECT_EQ(f.spent("d"), 30) << "nobody waits: as the last one that did";
  f.begin_waiting("c");
  EXPECT_EQ(f.spent("c"), 530) << "nobody is lowered";
  f.charge("nobody", 9);
  EXPECT_EQ(f.spent("nobody"), 0);
}

TEST(FairShare, NamesWithoutEndAreForgotten) {
  FairShare f;
  f.begin_waiting("waits");
  f.charge("waits", 5);
  for (int i = 0; i < 10'000; ++i) {
    const std::string user = "u" + std::to_string(i);
    f.begin_waiting(user), f.end_waiting(user);
  }
  EXPECT_LE(f.users(), FairShare::kMaxIdle + 1);
  EXPECT_EQ(f.spent("waits"), 5);
}

TEST(RequestQueue, CancelledOnesEndInTheQueueOrAreNamedOnce) {
  RequestQueue q;
  const auto first = q.push(sequence()), second = q.push(sequence()), third = q.push(sequence());
  const auto runs = q.pop(any);
  q.cancel(first), q.cancel(third);
  EXPECT_EQ(q.take_cancelled(), (std::set<RequestQueue::Id>{first, third}));
  EXPECT_TRUE(q.take_cancelled().empty());
  EXPECT_EQ(q.size(), 1);
  EXPECT_EQ(q.take(third)->finish, "cancelled");
  EXPECT_FALSE(q.take(first)) << "it runs: its end is not the queue's to say";
  EXPECT_EQ(q.pop(any)->id, second);
}

TEST(RequestQueue, AResultIsTakenOnceAndItsCancellationForgotten) {
  RequestQueue q;
  const auto id = q.push(sequence());
  q.pop(any);
  q.cancel(id);
  Generated g;
  g.finish = "stop";
  q.finish(id, std::move(g));
  q.cancel(id);  // too late
  EXPECT_TRUE(q.take_cancelled().empty());
  EXPECT_EQ(q.take(id)->finish, "stop");
  EXPECT_FALSE(q.take(id));
}

TEST(RequestQueue, ThreadsGetDistinctIds) {
  RequestQueue q;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) q.push(sequence());
    });
  for (std::thread& t : threads) t.join();
  for (int64_t id = 1; id <= 200; ++id) EXPECT_EQ(q.pop(any)->id, id);
}

}  // namespace
}  // namespace quern::infer
