#include "quern/comm/two_level.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace quern::comm {

std::vector<int> host_numbers(Communicator& c) {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  std::vector<std::string> known;
  std::vector<int> numbers;
  for (const std::string& host : c.all_gather_text(name)) {
    const auto at = std::ranges::find(known, host);
    numbers.push_back(static_cast<int>(at - known.begin()));
    if (at == known.end()) known.push_back(host);
  }
  return numbers;
}

TwoLevels::TwoLevels(Communicator& c, std::span<const int> node_of) {
  QUERN_CHECK(static_cast<int>(node_of.size()) == c.size(), "nodes of {} ranks, not of {}", node_of.size(), c.size());
  std::vector<int> names;  // of nodes, in the order of their first ranks
  std::vector<std::vector<int>> members;
  int node = 0, place = 0;
  for (int r = 0; r < c.size(); ++r) {
    const auto at = std::ranges::find(names, node_of[static_cast<size_t>(r)]) - names.begin();
    if (at == std::ssize(names)) names.push_back(node_of[static_cast<size_t>(r)]), members.emplace_back();
    std::vector<int>& of_node = members[static_cast<size_t>(at)];
    if (r == c.rank()) node = static_cast<int>(at), place = static_cast<int>(of_node.size());
    of_node.push_back(r);
  }
  const size_t each = members[0].size();
  for (const std::vector<int>& m : members)
    if (m.size() != each)
      fail("expected as many ranks on every node: that of rank {} has {}, that of rank {} has {}", members[0][0],
           each, m[0], m.size());
  for (size_t p = 0; p < each; ++p)
    for (const std::vector<int>& m : members) ranks_.push_back(m[p]);
  near_ = c.split(node, place);
  far_ = c.split(place, node);
}

void TwoLevels::all_reduce(Buffer x, ReduceOp op) {
  const std::vector<int64_t> counts = even_counts(x.size, near_->size());
  const int64_t begin = even_range(x.size, near_->size(), near_->rank()).begin;
  Buffer own = x;
  own.data += begin * dtype_size(x.dtype), own.size = counts[static_cast<size_t>(near_->rank())];
  ConstBuffer all, mine;
  all.data = x.data, all.size = x.size, all.dtype = x.dtype;
  mine.data = own.data, mine.size = own.size, mine.dtype = x.dtype;
  near_->reduce_scatter(all, counts, own, op);
  far_->all_reduce(own, op);
  near_->all_gather(mine, counts, x);
}

void TwoLevels::reduce_scatter(ConstBuffer in, Counts counts, Buffer out, ReduceOp op) {
  QUERN_CHECK(out.dtype == in.dtype && static_cast<int>(counts.size()) == nodes() * ranks_of_node());
  const std::vector<int64_t> of_places = counts_of_places(counts), of_nodes = counts_of_nodes(counts);
  const Tensor packed = Tensor::empty({in.size}, in.dtype),
               own = Tensor::empty({of_places[static_cast<size_t>(near_->rank())]}, in.dtype);
  reorder(in.data, static_cast<std::byte*>(packed.raw()), counts, dtype_size(in.dtype), Order::to_places);
  near_->reduce_scatter(packed, of_places, own, op);
  far_->reduce_scatter(own, of_nodes, out, op);
}

void TwoLevels::all_gather(ConstBuffer in, Counts counts, Buffer out) {
  QUERN_CHECK(out.dtype == in.dtype && static_cast<int>(counts.size()) == nodes() * ranks_of_node());
  const std::vector<int64_t> of_places = counts_of_places(counts), of_nodes = counts_of_nodes(counts);
  const Tensor packed = Tensor::empty({out.size}, in.dtype),
               own = Tensor::empty({of_places[static_cast<size_t>(near_->rank())]}, in.dtype);
  far_->all_gather(in, of_nodes, own);
  near_->all_gather(own, of_places, packed);
  reorder(static_cast<const std::byte*>(packed.raw()), out.data, counts, dtype_size(in.dtype), Order::to_ranks);
}

void TwoLevels::reorder(const std::byte* from, std::byte* to, Counts counts, int64_t element, Order order) const {
  std::vector<int64_t> begins;  // of the ranks' pieces
  int64_t at = 0, packed = 0;
  for (const int64_t n : counts) begins.push_back(at), at += n * element;
  for (const int r : ranks_) {
    const int64_t bytes = counts[static_cast<size_t>(r)] * element, by_rank = begins[static_cast<size_t>(r)];
    const bool pack = order == Order::to_places;
    if (bytes > 0)
      std::memcpy(to + (pack ? packed : by_rank), from + (pack ? by_rank : packed), static_cast<size_t>(bytes));
    packed += bytes;
  }
}

std::vector<int64_t> TwoLevels::counts_of_places(Counts counts) const {
  std::vector<int64_t> sums(static_cast<size_t>(ranks_of_node()));
  for (size_t i = 0; i < ranks_.size(); ++i)
    sums[i / static_cast<size_t>(nodes())] += counts[static_cast<size_t>(ranks_[i])];
  return sums;
}

std::vector<int64_t> TwoLevels::counts_of_nodes(Counts counts) const {
  std::vector<int64_t> all;
  const auto n = static_cast<size_t>(nodes()), first = static_cast<size_t>(near_->rank()) * n;
  for (size_t i = 0; i < n; ++i) all.push_back(counts[static_cast<size_t>(ranks_[first + i])]);
  return all;
}

}  // namespace quern::comm
