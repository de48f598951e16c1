// One step of an optimizer of whole matrices over pieces of parameters (Muon under ZeRO): every rank makes the
// direction of its pieces, pieces of a matrix travel to its owner, the owner orthogonalises it once, the result
// travels back to where it is needed. Right for a matrix that lies in one piece, in two, or in as many as there are
// ranks, cut in the middle of a row or not. Owners are chosen so that their flops are even (dearest first, to the
// least laden rank). Volume a rank: at most 2·4 bytes for every element of its pieces and of the matrices it owns.
#pragma once
#include <functional>
#include <span>

#include "quern/comm/communicator.h"
#include "quern/optim/optimizer.h"

namespace quern {

// piece(p, rank): the elements of parameter p that a rank holds; ascending with the rank, together all of p.
// Collective: all ranks give the same slots in the same order; pieces may be empty.
using PieceOfRank = std::function<Cut(const Parameter& p, int rank)>;
void step_matrices(Communicator& comm, const MatrixOptimizer& rule, std::span<OptimizerSlot* const> slots,
                   const OptimizerStep& s, const PieceOfRank& piece);

struct MatrixShare {  // a matrix of `cost`, and how much of it each rank holds
  double cost = 0;
  std::vector<int64_t> held;
};
std::vector<int> matrix_owners(std::span<const MatrixShare> matrices, int ranks);

}  // namespace quern
