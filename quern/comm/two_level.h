// Collectives in two levels, for ranks on several nodes with several ranks on each: within a node, then between nodes
// among the ranks of equal place, each of which has an equal part. What a node sends to others falls by the number of
// its ranks: of S bytes, n nodes and d ranks on each, an all-reduce sends 2·(n−1)/n·S instead of 2·d·(n−1)/n·S. It
// costs an exchange more within the node for each one between nodes.
//
// Order of sums: within each node in the order of its ranks, then over nodes in the order of their first ranks. That is
// another rounding than that of Communicator's collectives, which sum over ranks 0, 1, … n−1; it depends on which ranks
// share a node, and on nothing else (not on sizes, cuts, times or the kind of ranks). What does not round is the same in
// one level and in two: integers, gathered pieces, and maxima but for the sign of a zero and
// the bits of a NaN.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "quern/comm/communicator.h"

namespace quern::comm {

// By rank: the number of its host, in the order of the hosts' first ranks. Collective.
std::vector<int> host_numbers(Communicator& c);

class TwoLevels {
 public:
  // Collective. node_of: by rank any number, the same for ranks of a node. Throws Error where nodes have unequal
  // numbers of ranks.
  TwoLevels(Communicator& c, std::span<const int> node_of);

  int nodes() const { return far_->size(); }
  int ranks_of_node() const { return near_->size(); }
  int64_t sent_between_nodes() const { return far_->sent().bytes; }  // by this rank so far
  bool two() const { return nodes() > 1 && ranks_of_node() > 1; }    // else there is one level

  Communicator& of_node() { return *near_; }  // the ranks of this rank's node
  Communicator& of_place() { return *far_; }  // those of its place on every node

  void all_reduce(Buffer x, ReduceOp op = ReduceOp::sum);
  void reduce_scatter(ConstBuffer in, Counts counts, Buffer out, ReduceOp op = ReduceOp::sum);
  void all_gather(ConstBuffer in, Counts counts, Buffer out);

 private:
  // Pieces of all ranks in the order of ranks, and in that of places: of every node's first rank, of every second, …
  // Copies from one order to the other.
  enum class Order { to_places, to_ranks };
  void reorder(const std::byte* from, std::byte* to, Counts counts, int64_t element, Order order) const;
  std::vector<int64_t> counts_of_places(Counts counts) const;  // summed over nodes
  std::vector<int64_t> counts_of_nodes(Counts counts) const;   // of this rank's place

  std::unique_ptr<Communicator> near_, far_;  // ranks of this node; ranks of this place
  std::vector<int> ranks_;                    // by place, then by node
};

}  // namespace quern::comm
