// Order of arrival, cancelling in and behind the queue, and results that are taken once.
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
