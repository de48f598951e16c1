// Combines the partial attention results of all ranks: every rank contributes the results of its shard of the keys for
// the same queries and gets the whole, the same bits everywhere. R records of B bytes in all (B = R·(dv + 2)·4 in
// f32), p ranks; bytes are what all ranks together send:
//   three-reduces  lse by maximum, then weighted results and weights by sum    2(p−1)·B     3 all-reduces
//   two-reduces    the two sums as one                                         2(p−1)·B     2 all-reduces
//   butterfly      records combined pairwise (comm/tree.h)                     p·log₂p·B    log₂p steps, else + 2
//   two-level      a tree inside a node, a butterfly between nodes, and back   comm/tree.h
//   heads          rank r combines everyone's r-th share of rows, all gather   2(p−1)·B     2 exchanges
//   native         MPI_Allreduce with ⊕ as its operation; a butterfly without MPI
//   ring           records pass around, combined in rank order at the end      p(p−1)·B     p−1 steps
#pragma once
#include <string>

#include "quern/comm/tree.h"
#include "quern/tensor/tensor.h"

namespace quern::mixers {

enum class ReduceForm { three_reduces, two_reduces, butterfly, two_level, heads, native, ring };
constexpr ReduceForm kReduceForms[] = {ReduceForm::three_reduces, ReduceForm::two_reduces, ReduceForm::butterfly,
                                       ReduceForm::two_level,     ReduceForm::heads,       ReduceForm::native,
                                       ReduceForm::ring};
const char* reduce_form_name(ReduceForm f);
ReduceForm parse_reduce_form(const std::string& name);  // throws Error naming the choices

// Buffers that an exchange needs beside its operands, counted where they are taken.
class ExchangeMemory {
 public:
  Tensor take(Shape shape, DType dtype);
  void give(Tensor& t);  // back before the end
  int64_t peak() const { return peak_; }

 private:
  int64_t live_ = 0, peak_ = 0;
};

struct ReduceOptions {
  ReduceForm form = ReduceForm::butterfly;
  int node_ranks = 1;  // two-level: so many neighbors make a node
};

// records [rows, dv + 2]: this rank's going in, the whole coming out.
void reduce_partials(comm::Communicator& comm, const Tensor& records, const ReduceOptions& options,
                     ExchangeMemory& memory);

}  // namespace quern::mixers
