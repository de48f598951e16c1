#include "quern/mixers/ranks/context_attend.h"

#include "quern/mixers/ranks/context_blocks.h"
#include "quern/nn/dispatch.h"

namespace quern::mixers {
namespace {

// Keys and values as they stand at every rank in turn: use(k, v, runs of their rows), then on to the next rank. What
// `use` adds to gk and gv (if there) goes along and is home in the end.
template <class Use>
void go_round(const ContextParallel& c, Tensor k, Tensor v, Tensor gk, Tensor gv, Use&& use) {
  comm::Communicator& comm = c.comm();
  const int P = comm.size(), next = (comm.rank() + 1) % P, before = (comm.rank() + P - 1) % P;
  for (int step = 0; step < P; ++step) {
    const int whose = (comm.rank() + P - step) % P, coming = (whose + P - 1) % P;
    auto like = [&](const Tensor& x) {
      Shape s = x.shape();
      s[0] = c.counts()[static_cast<size_t>(coming)];
      return Tensor::empty(s, x.dtype());
    };
    const bool more = step + 1 < P;
    Tensor k2, v2;
    std::vector<comm::Transfer> moving;
    if (more) {
      k2 = like(k), v2 = like(v);
      moving.push_back(comm.start_send(k, next, 0)), moving.push_back(comm.start_send(v, next, 1));
      moving.push_back(comm.start_recv(k2, before, 0)), moving.push_back(comm.start_recv(v2, before, 1));
    }
    use(k, v, runs_of(c.rows_of(whose)), gk, gv);
    if (gk.defined() && P > 1) {  // the last step sends them home
      Tensor gk2 = like(gk), gv2 = like(gv);
      moving.push_back(comm.start_send(gk, next, 2)), moving.push_back(comm.start_send(gv, next, 3));
      moving.push_back(comm.start_recv(gk2, before, 2)), moving.push_back(comm.start_recv(gv2, before, 3));
      for (comm::Transfer& t : moving) t.wait();
      gk = gk2, gv = gv2;
    } else {
      for (comm::Transfer& t : moving) t.wait();
    }
    if (more) k = k2, v = v2;
  }
  if (gk.defined()) use(Tensor(), Tensor(), {}, gk, gv);  // home
}

std::vector<RowRun> all_runs(const ContextParallel& c) {  // rows of gathered tensors
  std::vector<int64_t> rows;
  for (int r = 0; r < c.comm().size(); ++r) rows.insert(rows.end(), c.rows_of(r).begin(), c.rows_of(r).end());
  return runs_of(rows);
}

template <class T>
grad::Var attend_rows(grad::Tape& tape, const ContextParallel& c, const grad::Var& q_v, const grad::Var& k_v,
                      const grad::Var& v_v, const BlockHeads& h) {
  BlockSaved<T> x{q_v.value.contiguous_copy_if_needed(),
                  k_v.value.contiguous_copy_if_needed(),
                  v_v.value.contiguous_copy_if_needed(),
                  {},
                  {}};
  const int64_t n = x.q.dim(0);
  const auto blocks = std::make_shared<const VisibleBlocks>(h.window, &c.documents(), runs_of(c.rows()));
  const auto p = BlockPartial<T>::nothing(n, h);
  Tensor all_k, all_v;
  if (c.form() == ContextParallelKind::gather) {
    all_k = c.gather(x.k), all_v = c.gather(x.v);
    forward_block<T>(*blocks, h, x.q, {.k = all_k, .v = all_v, .runs = all_runs(c)}, p);
  } else {
    go_round(c, x.k, x.v, {}, {},
             [&](const Tensor& k, const Tensor& v, const std::vector<RowRun>& keys, auto&, auto&) {
               forward_block<T>(*blocks, h, x.q, {.k = k, .v = v, .runs = keys}, p);
             });
  }
  p.divide();
  x.o = p.o, x.lse = p.m;
  return tape.record(x.o, {q_v, k_v, v_v}, [&c, h, x, blocks, all_k, all_v](grad::Grads& g) {
    const Tensor go = g.out().contiguous_copy_if_needed(), delta = block_delta<T>(go, x.o);
    const Tensor gq = Tensor::zeros(x.q.shape(), x.q.dtype());
    if (c.form() == ContextParallelKind::gather) {
      const Tensor gk = Tensor::zeros(all_k.shape(), all_k.dtype()), gv = Tensor::zeros(all_v.shape(), all_v.dtype());
      backward_block<T>(
          *blocks, h, x,
          {.go = go, .delta = delta, .k = all_k, .v = all_v, .runs = all_runs(c), .gq = gq, .gk = gk, .gv = gv});
      g.add(1, c.reduce_to_owner(gk));
      g.add(2, c.reduce_to_owner(gv));
    } else {
      go_round(
          c, x.k, x.v, Tensor::zeros(x.k.shape(), x.k.dtype()), Tensor::zeros(x.v.shape(), x.v.dtype()),
          [&](const Tensor& k, const Tensor& v, const std::vector<RowRun>& keys, const Tensor& gk, const Tensor& gv) {
            if (k.defined())
              return backward_block<T>(
                  *blocks, h, x,
                  {.go = go, .delta = delta, .k = k, .v = v, .runs = keys, .gq = gq, .gk = gk, .gv = gv});
            g.add(1, gk);
            g.add(2, gv);
          });
    }
    g.add(0, gq);
  });
}

}  // namespace

grad::Var context_attend(grad::Tape& tape, const ContextParallel& c, const grad::Var& q, const grad::Var& k,
                         const grad::Var& v, AttendOptions o) {
  const BlockHeads h{
      q.dim(1), k.dim(1), q.dim(2), v.dim(2), o.scale, o.window, o.bf16_math && q.dtype() == DType::f32};
  return nn::with_float(q.dtype(), [&]<class T>() { return attend_rows<T>(tape, c, q, k, v, h); });
}

}  // namespace quern::mixers
