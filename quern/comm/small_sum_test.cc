// Sums that take one exchange, and those that take two.
#include <limits>
#include <type_traits>

#include "quern/comm/comm_test_world.h"

namespace quern::comm {
namespace {

// Around the size from which the sum takes two exchanges: both give the bits of a reduce-scatter and an all-gather.
template <class T>
void check_both_ways(ReduceOp op) {
  every_world([op](Communicator& c) {
    for (const int64_t bytes : {8, 1 << 10, 1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 17})
      for (const int64_t more : {-1, 0, 1}) {
        const int64_t n = bytes / static_cast<int64_t>(sizeof(T)) + more;
        std::vector<T> sum = values<T>(c.rank(), n), pieces = sum;
        if (n > 3 && c.rank() == 1 && !std::is_integral_v<T>)
          sum[3] = pieces[3] = std::numeric_limits<T>::quiet_NaN();
        c.all_reduce(sum, op);
        const std::vector<int64_t> counts = even_counts(n, c.size());
        const Range mine = even_range(n, c.size(), c.rank());
        const std::span own =
            std::span(pieces).subspan(static_cast<size_t>(mine.begin), static_cast<size_t>(mine.end - mine.begin));
        c.reduce_scatter(pieces, counts, own, op);
        c.all_gather(own, counts, pieces);
        expect_same_bits(sum, pieces);
      }
  });
}
TEST(Comm, OneExchangeOrTwoGiveTheSameBits) {
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max}) {
    check_both_ways<float>(op);
    check_both_ways<double>(op);
    check_both_ways<int64_t>(op);
  }
}

TEST(Comm, ASmallSumTakesOneExchange) {
  every_world([](Communicator& c) {
    const int64_t others = c.size() - 1;
    const Communicator::Sent before = c.sent();
    c.all_reduce(1.5);
    EXPECT_EQ(c.sent().messages - before.messages, others);
    EXPECT_EQ(c.sent().bytes - before.bytes, others * 8);
  });
}

}  // namespace
}  // namespace quern::comm
