#include "quern/train/zero/zero_matrices.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace quern::train {
namespace {

struct Matrix {
  size_t slot;
  int64_t begin, end;  // elements of the parameter
  optim::LogicalMatrices size;
};

comm::Range common(comm::Range a, int64_t begin, int64_t end) {
  const int64_t b = std::clamp(a.begin, begin, end);
  return {b, std::max(b, std::min(a.end, end))};
}

void copy(float* to, const float* from, int64_t n) {
  if (n > 0) std::memcpy(to, from, static_cast<size_t>(n) * sizeof(float));
}

}  // namespace

std::vector<int> matrix_owners(std::span<const MatrixShare> matrices, int ranks) {
  std::vector<size_t> order(matrices.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return matrices[a].cost > matrices[b].cost; });
  std::vector<int> owners(matrices.size());
  std::vector<double> load(static_cast<size_t>(ranks));
  for (size_t i : order) {
    const std::vector<int64_t>& held = matrices[i].held;
    size_t best = 0;
    for (size_t r = 1; r < load.size(); ++r)
      if (load[r] < load[best] || (load[r] == load[best] && held[r] > held[best])) best = r;
    owners[i] = static_cast<int>(best);
    load[best] += matrices[i].cost;
  }
  return owners;
}

void step_matrices(comm::Communicator& comm, const optim::MatrixOptimizer& rule,
                   std::span<optim::OptimizerSlot* const> slots, const optim::OptimizerStep& s,
                   const PieceOfRank& piece) {
  const int me = comm.rank(), n = comm.size();
  std::vector<Matrix> matrices;
  std::vector<MatrixShare> shares;
  for (size_t i = 0; i < slots.size(); ++i) {
    const optim::LogicalMatrices l = rule.matrices(*slots[i]->whole);
    for (int64_t k = 0; k < l.count; ++k) {
      matrices.push_back({i, k * l.rows * l.columns, (k + 1) * l.rows * l.columns, l});
      MatrixShare& share = shares.emplace_back(MatrixShare{rule.cost(l.rows, l.columns), {}});
      for (int r = 0; r < n; ++r) {
        const comm::Range c = common(piece(*slots[i]->whole, r), matrices.back().begin, matrices.back().end);
        share.held.push_back(c.end - c.begin);
      }
    }
  }
  const std::vector<int> owners = matrix_owners(shares, n);

  std::vector<int64_t> to(static_cast<size_t>(n)), from(static_cast<size_t>(n));
  for (size_t i = 0; i < matrices.size(); ++i) {
    to[static_cast<size_t>(owners[i])] += shares[i].held[static_cast<size_t>(me)];
    for (size_t r = 0; owners[i] == me && r < from.size(); ++r) from[r] += shares[i].held[r];
  }
  auto starts = [](const std::vector<int64_t>& counts) {
    std::vector<int64_t> at(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), at.begin(), int64_t{0});
    return at;
  };
  auto floats = [](const std::vector<int64_t>& counts) {
    return std::vector<float>(static_cast<size_t>(std::accumulate(counts.begin(), counts.end(), int64_t{0})));
  };
  std::vector<float> mine = floats(to), theirs = floats(from);

  // What lies here goes out, by owner.
  auto each_of_mine = [&](auto&& f) {  // f(matrix, elements of the piece, where they are in `mine`)
    std::vector<int64_t> at = starts(to);
    for (size_t i = 0; i < matrices.size(); ++i) {
      optim::OptimizerSlot& slot = *slots[matrices[i].slot];
      const comm::Range c = common(piece(*slot.whole, me), matrices[i].begin, matrices[i].end);
      if (c.end == c.begin) continue;
      int64_t& where = at[static_cast<size_t>(owners[i])];
      f(matrices[i], slot, c.begin - slot.begin, c.end - c.begin, mine.data() + where);
      where += c.end - c.begin;
    }
  };
  each_of_mine([&](const Matrix&, optim::OptimizerSlot& slot, int64_t at, int64_t count, float* u) {
    rule.direction(slot, at, count, s, u);
  });
  comm.all_to_all(mine, to, theirs, from);

  std::vector<size_t> owned;
  std::vector<optim::LogicalMatrices> sizes;
  std::vector<int64_t> first;  // of an owned matrix in `whole`
  int64_t total = 0;
  for (size_t i = 0; i < matrices.size(); ++i)
    if (owners[i] == me) {
      owned.push_back(i), sizes.push_back(matrices[i].size), first.push_back(total);
      total += matrices[i].end - matrices[i].begin;
    }
  std::vector<float> whole(static_cast<size_t>(total));
  auto each_of_theirs = [&](auto&& f) {  // f(place in `whole`, place in `theirs`, elements)
    std::vector<int64_t> at = starts(from);
    for (size_t k = 0; k < owned.size(); ++k) {
      int64_t inside = first[k];
      for (size_t r = 0; r < from.size(); ++r) {
        const int64_t count = shares[owned[k]].held[r];
        f(whole.data() + inside, theirs.data() + at[r], count);
        inside += count, at[r] += count;
      }
    }
  };
  each_of_theirs([](float* w, const float* t, int64_t count) { copy(w, t, count); });
  optim::each_matrix(rule, sizes, [&](size_t k) {
    rule.orthogonalize({whole.data() + first[k], {sizes[k].rows, sizes[k].columns}});
  });
  each_of_theirs([](const float* w, float* t, int64_t count) { copy(t, w, count); });
  comm.all_to_all(theirs, from, mine, to);
  each_of_mine([&](const Matrix& m, optim::OptimizerSlot& slot, int64_t at, int64_t count, const float* o) {
    rule.apply(slot, {.at = at, .n = count, .direction = o, .rows = m.size.rows, .columns = m.size.columns}, s);
  });
}

}  // namespace quern::train
