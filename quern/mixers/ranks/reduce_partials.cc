#include "quern/mixers/ranks/reduce_partials.h"

#include <cmath>

#include "quern/comm/network.h"
#include "quern/mixers/ranks/partials.h"
#include "quern/nn/dispatch.h"

namespace quern::mixers {
namespace {

std::span<std::byte> bytes_of(const Tensor& t) {
  return {static_cast<std::byte*>(t.raw()), static_cast<size_t>(t.bytes())};
}

void along(comm::Communicator& comm, const Tensor& records, const comm::CommSchedule& schedule,
           ExchangeMemory& memory) {
  Tensor arrived = memory.take(records.shape(), records.dtype());
  comm::reduce_along(comm, schedule, bytes_of(records), bytes_of(arrived),
                     partial_merge(records.dtype(), records.dim(1) - 2));
  memory.give(arrived);
}

// By the library's own sums: M = max lse, n = Σ o·2^(lse − M), s = Σ 2^(lse − M); n and s apart or side by side.
template <class T>
void by_sums(comm::Communicator& comm, const Tensor& records, bool together, ExchangeMemory& memory) {
  const int64_t rows = records.dim(0), dv = records.dim(1) - 2;
  Tensor top = memory.take({rows}, records.dtype());
  T* m = top.data<T>();
  for (int64_t i = 0; i < rows; ++i) {
    const T* at = records.data<T>() + i * (dv + 2);
    m[i] = at[dv + 1] > 0 ? at[dv] + std::log2(at[dv + 1]) : at[dv];
  }
  comm.all_reduce(top, comm::ReduceOp::max);
  Tensor sums = memory.take({rows * (dv + 1)}, records.dtype());
  T *n = sums.data<T>(), *s = n + rows * dv;
  for (int64_t i = 0; i < rows; ++i) {
    const T* at = records.data<T>() + i * (dv + 2);
    const T f = std::exp2(at[dv] - m[i]);
    s[i] = f * at[dv + 1];
    for (int64_t j = 0; j < dv; ++j) n[i * dv + j] = f * at[j];
  }
  if (together) {
    comm.all_reduce(sums);
  } else {
    comm.all_reduce(sums.narrow(0, 0, rows * dv));
    comm.all_reduce(sums.narrow(0, rows * dv, rows));
  }
  for (int64_t i = 0; i < rows; ++i) {
    T* at = records.data<T>() + i * (dv + 2);
    std::copy_n(n + i * dv, dv, at);
    at[dv] = m[i], at[dv + 1] = s[i];
  }
  memory.give(top);
  memory.give(sums);
}

void by_heads(comm::Communicator& comm, const Tensor& records, ExchangeMemory& memory) {
  const int p = comm.size();
  const int64_t rows = records.dim(0), width = records.dim(1);
  std::vector<int64_t> counts = comm::even_counts(rows, p);
  const comm::Range mine = comm::even_range(rows, p, comm.rank());
  const int64_t n = mine.end - mine.begin;
  for (int64_t& c : counts) c *= width;
  Tensor arrived = memory.take({p, n, width}, records.dtype());
  const std::vector<int64_t> equal(static_cast<size_t>(p), n * width);
  comm.all_to_all(records, counts, arrived, equal);
  std::vector<Tensor> pieces;
  for (int r = 0; r < p; ++r) pieces.push_back(arrived.narrow(0, r, 1).reshape({n, width}));
  const Tensor whole = records.narrow(0, mine.begin, n);
  join_partials(pieces, whole);
  comm.all_gather(whole, counts, records);
  memory.give(arrived);
}

void by_ring(comm::Communicator& comm, const Tensor& records, ExchangeMemory& memory) {
  Tensor all = memory.take({comm.size(), records.dim(0), records.dim(1)}, records.dtype());
  std::vector<Tensor> pieces;
  for (int r = 0; r < comm.size(); ++r) pieces.push_back(all.narrow(0, r, 1).reshape(records.shape()));
  pieces[static_cast<size_t>(comm.rank())].copy_from(records);
  comm::gather_along_ring(comm, bytes_of(all));
  join_partials(pieces, records);
  memory.give(all);
}

constexpr const char* kNames[] = {"three-reduces", "two-reduces", "butterfly", "two-level",
                                  "heads",         "native",      "ring"};

}  // namespace

const char* reduce_form_name(ReduceForm f) { return kNames[static_cast<size_t>(f)]; }

ReduceForm parse_reduce_form(const std::string& name) {
  for (ReduceForm f : kReduceForms)
    if (name == reduce_form_name(f)) return f;
  fail("reduction '{}': expected {}", name, fmt::join(kNames, ", "));
}

Tensor ExchangeMemory::take(Shape shape, DType dtype) {
  Tensor t = Tensor::empty(std::move(shape), dtype);
  live_ += t.bytes();
  peak_ = std::max(peak_, live_);
  return t;
}

void ExchangeMemory::give(Tensor& t) {
  live_ -= t.bytes();
  t = Tensor();
}

void reduce_partials(comm::Communicator& comm, const Tensor& records, const ReduceOptions& o,
                     ExchangeMemory& memory) {
  QUERN_CHECK(records.contiguous() && records.rank() == 2);
  const int p = comm.size();
  switch (o.form) {
    case ReduceForm::three_reduces:
    case ReduceForm::two_reduces:
      return nn::with_float(records.dtype(),
                            [&]<class T>() { by_sums<T>(comm, records, o.form == ReduceForm::two_reduces, memory); });
    case ReduceForm::native:
      if (comm.native_all_reduce(bytes_of(records), partial_merge(records.dtype(), records.dim(1) - 2))) return;
      [[fallthrough]];
    case ReduceForm::butterfly:
      return along(comm, records, comm::butterfly_schedule(comm.rank(), p), memory);
    case ReduceForm::two_level:
      return along(comm, records, comm::two_level_schedule(comm.rank(), comm::contiguous_nodes(p, o.node_ranks)),
                   memory);
    case ReduceForm::heads:
      return by_heads(comm, records, memory);
    case ReduceForm::ring:
      return by_ring(comm, records, memory);
  }
}

}  // namespace quern::mixers
