// Planning with the resolvent: states of a world, transitions between them, and the value of every state for a goal, V
// = (I − γP)⁻¹ r, with the same kernel as retrieval. The path follows the values: from each state to the neighbor with
// the highest one. A moved goal needs no relearning; a moved wall repairs only what it touches.
//
//   GridWorld world(8, 8);  world.wall(3, 0, 3, 6);
//   Planner plan(world.graph(), 0.95);
//   plan.path(world.state(0, 0), world.state(7, 0))
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quern/recall/graph/resolvent.h"

namespace quern::recall {

// A rectangle of cells; moves lead to the four neighbors that are no walls. A walled cell has no moves.
class GridWorld {
 public:
  GridWorld(uint32_t width, uint32_t height);
  static GridWorld parse(std::string_view rows);  // lines of '.' and '#', all of one length
  // Cells from one corner to the other become walls, or free again.
  void wall(uint32_t x0, uint32_t y0, uint32_t x1, uint32_t y1);
  void clear(uint32_t x0, uint32_t y0, uint32_t x1, uint32_t y1);
  uint32_t state(uint32_t x, uint32_t y) const;
  bool is_wall(uint32_t state) const { return wall_.at(state); }
  size_t size() const { return wall_.size(); }
  SparseGraph graph() const;
  int64_t distance(uint32_t from, uint32_t to) const;  // moves by breadth-first search; −1: out of reach

 private:
  std::vector<uint32_t> neighbors(uint32_t s) const;
  std::vector<uint32_t> rectangle(uint32_t x0, uint32_t y0, uint32_t x1, uint32_t y1) const;
  uint32_t width_, height_;
  std::vector<bool> wall_;
};

class Planner {
 public:
  Planner(SparseGraph graph, double discount);  // the walk goes along all edges of a state by weight
  size_t size() const { return graph_.size(); }
  double discount() const { return discount_; }
  // Worth of every state when entering `goal` is worth one; V = M r.
  std::vector<double> values(uint32_t goal) const;
  std::vector<double> values(std::span<const double> reward) const;
  // Greedy on the values, from and to included; empty when it does not arrive.
  std::vector<uint32_t> path(uint32_t from, uint32_t goal) const;
  std::vector<uint32_t> path(uint32_t from, uint32_t goal, std::span<const double> values) const;
  std::vector<double> occupancy(uint32_t from) const;  // its row of M: how often every state is met, discounted
  // Values after the world changed, from the values before: pushes the difference where moves changed. The result is
  // within ε / (1 − γ) of values(reward) afresh. Returns the states touched.
  int64_t repair(const SparseGraph& changed, std::span<const double> reward, double epsilon,
                 std::vector<double>& values);

 private:
  Resolvent resolvent() const { return {graph_.view(), in_.view()}; }
  SparseGraph graph_, in_;
  double discount_;
};

}  // namespace quern::recall
