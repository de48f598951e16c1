// One step of a whole-matrix optimizer (Muon) under ZeRO: every rank computes the direction of its pieces, the pieces
// of a matrix are sent to its owner, which orthogonalizes it once and sends the result to where it is needed. Correct
// for a matrix in any number of pieces, also cut inside a row. Owners are chosen to balance flops (most expensive
// first, to the least loaded rank). Volume per rank: at most 2·4 bytes for every element of its pieces and of the
// matrices it owns.
#pragma once
#include <functional>
#include <span>

#include "quern/comm/communicator.h"
#include "quern/optim/optimizer.h"

namespace quern::train {

// piece(p, rank): the elements of parameter p that a rank holds; ascending with the rank, together all of p.
// Collective: all ranks give the same slots in the same order; pieces may be empty.
using PieceOfRank = std::function<comm::Range(const grad::Parameter& p, int rank)>;
void step_matrices(comm::Communicator& comm, const optim::MatrixOptimizer& rule,
                   std::span<optim::OptimizerSlot* const> slots, const optim::OptimizerStep& s,
                   const PieceOfRank& piece);

struct MatrixShare {  // a matrix of `cost`, and how much of it each rank holds
  double cost = 0;
  std::vector<int64_t> held;
};
std::vector<int> matrix_owners(std::span<const MatrixShare> matrices, int ranks);

}  // namespace quern::train
