#include "quern/mixers/ranks/rank_attention.h"

#include <algorithm>

#include "quern/nn/dispatch.h"

namespace quern::mixers {
namespace {

std::span<uint8_t> bytes_of(const Tensor& t) {
  return {static_cast<uint8_t*>(t.raw()), static_cast<size_t>(t.bytes())};
}

// `out` to the next rank, and what the one before gives into `in`, whose room may be that of `out`: slice by slice.
void rotate(comm::Communicator& comm, std::span<const uint8_t> out, std::span<uint8_t> in, std::span<uint8_t> slice,
            int tag) {
  const int p = comm.size(), next = (comm.rank() + 1) % p, before = (comm.rank() + p - 1) % p;
  const auto part = [&](auto x, size_t at) { return x.subspan(at, std::min(slice.size(), x.size() - at)); };
  for (size_t at = 0; at < std::max(out.size(), in.size()); at += slice.size()) {
    comm::Transfer leaving, coming;
    if (at < out.size()) leaving = comm.start_send(part(out, at), next, tag);
    if (at < in.size()) coming = comm.start_recv(slice.first(part(in, at).size()), before, tag);
    coming.wait();
    leaving.wait();
    if (at < in.size()) std::copy_n(slice.begin(), part(in, at).size(), in.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

Tensor by_ring(comm::Communicator& comm, const Tensor& q, const Tensor& k, const Tensor& v, comm::Counts counts,
               const RankAttentionOptions& o, ExchangeMemory& memory) {
  const int p = comm.size();
  const int64_t maximum = *std::max_element(counts.begin(), counts.end()), rows = q.dim(0) * q.dim(1), dv = v.dim(2);
  Tensor all = memory.take({p, rows, dv + 2}, q.dtype()), k_room, v_room, slice;
  if (p > 1) {
    k_room = memory.take({maximum, k.dim(1), k.dim(2)}, k.dtype()),
    v_room = memory.take({maximum, v.dim(1), dv}, v.dtype());
    slice = memory.take({std::min(o.slice_bytes, std::max(k_room.bytes(), v_room.bytes()))}, DType::u8);
  }
  std::vector<Tensor> pieces;
  for (int r = 0; r < p; ++r) pieces.push_back(all.narrow(0, r, 1).reshape({rows, dv + 2}));
  Tensor k_now = k, v_now = v;
  for (int step = 0; step < p; ++step) {
    const int whose = (comm.rank() + p - step) % p;
    pieces[static_cast<size_t>(whose)].copy_from(partials_of_all(q, {k_now, v_now, {}, {}}, o.scale));
    if (step + 1 == p) break;
    const int64_t coming = counts[static_cast<size_t>((whose + p - 1) % p)];
    const Tensor k_next = k_room.narrow(0, 0, coming), v_next = v_room.narrow(0, 0, coming);
    rotate(comm, bytes_of(k_now), bytes_of(k_next), bytes_of(slice), 0);
    rotate(comm, bytes_of(v_now), bytes_of(v_next), bytes_of(slice), 1);
    k_now = k_next, v_now = v_next;
  }
  const Tensor records = no_partials(rows, dv, q.dtype());
  join_partials(pieces, records);  // in rank order: the same bits everywhere
  for (Tensor* t : {&all, &k_room, &v_room, &slice}) memory.give(*t);
  return records;
}

Tensor by_gathering(comm::Communicator& comm, const Tensor& q, const Tensor& k, const Tensor& v, comm::Counts counts,
                    const RankAttentionOptions& o, ExchangeMemory& memory) {
  int64_t n = 0;
  for (int64_t c : counts) n += c;
  auto gathered = [&](const Tensor& x) {
    const Tensor all = memory.take({n, x.dim(1), x.dim(2)}, x.dtype());
    std::vector<int64_t> elements(counts.begin(), counts.end());
    for (int64_t& c : elements) c *= x.dim(1) * x.dim(2);
    comm.all_gather(x, elements, all);
    return all;
  };
  Tensor all_k = gathered(k), all_v = gathered(v);
  const Tensor records = partials_of_all(q, {all_k, all_v, {}, {}}, o.scale);
  memory.give(all_k);
  memory.give(all_v);
  return records;
}

}  // namespace

Attended rank_attention(comm::Communicator& comm, const RankAttentionInputs& in, const RankAttentionOptions& o,
                        ExchangeMemory& memory) {
  QUERN_CHECK(static_cast<int>(in.counts.size()) == comm.size() && in.k.dim(0) == in.v.dim(0) &&
                  in.k.dim(0) == in.counts[static_cast<size_t>(comm.rank())] && o.slice_bytes > 0,
              "{} keys, {} values, {} counts", in.k.dim(0), in.v.dim(0), in.counts.size());
  Tensor records;
  switch (o.form) {
    case ShardForm::reduce:
      records = partials_of_all(in.q, {in.k, in.v, {}, {}}, o.scale);
      reduce_partials(comm, records, o.reduce, memory);
      break;
    case ShardForm::ring_kv:
      records = by_ring(comm, in.q, in.k, in.v, in.counts, o, memory);
      break;
    case ShardForm::gather_kv:
      records = by_gathering(comm, in.q, in.k, in.v, in.counts, o, memory);
      break;
  }
  return finish_partials(records, in.q.dim(1));
}

grad::Var rank_attend(grad::Tape& tape, comm::Communicator& comm, const RankAttendInputs& in, const AttendOptions& o,
                      const ReduceOptions& reduce) {
  const BlockHeads h{in.q.dim(1),
                     in.k.dim(1),
                     in.q.dim(2),
                     in.v.dim(2),
                     o.scale,
                     o.window,
                     o.bf16_math && in.q.dtype() == DType::f32};
  return nn::with_float(in.q.dtype(), [&]<class T>() -> grad::Var {
    BlockSaved<T> x{in.q.value.contiguous_copy_if_needed(),
                    in.k.value.contiguous_copy_if_needed(),
                    in.v.value.contiguous_copy_if_needed(),
                    {},
                    {}};
    const int64_t n = x.q.dim(0);
    const VisibleBlocks blocks(o.window, nullptr, {{0, in.first, n}});
    const auto p = BlockPartial<T>::nothing(n, h);
    forward_block<T>(blocks, h, x.q, {.k = x.k, .v = x.v, .runs = in.keys}, p);
    const Tensor records = partials_of(p);
    ExchangeMemory memory;
    reduce_partials(comm, records, reduce, memory);
    const Attended a = finish_partials(records, h.q);
    x.o = a.o, x.lse = a.lse;
    return tape.record(x.o, {in.q, in.k, in.v}, [&comm, h, x, blocks, keys = in.keys](grad::Grads& g) {
      const Tensor go = g.out().contiguous_copy_if_needed(), delta = block_delta<T>(go, x.o);
      const Tensor gq = Tensor::zeros(x.q.shape(), x.q.dtype()), gk = Tensor::zeros(x.k.shape(), x.k.dtype()),
                   gv = Tensor::zeros(x.v.shape(), x.v.dtype());
      backward_block<T>(blocks, h, x,
                        {.go = go, .delta = delta, .k = x.k, .v = x.v, .runs = keys, .gq = gq, .gk = gk, .gv = gv});
      comm.all_reduce(gq);
      g.add(0, gq);
      g.add(1, gk);
      g.add(2, gv);
    });
  });
}

}  // namespace quern::mixers
