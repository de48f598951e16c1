#include "quern/mixers/context_attend.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "quern/base/threads.h"
#include "quern/kernels/gemm/gemm.h"
#include "quern/nn/dispatch.h"

namespace quern {
namespace {

constexpr int64_t kTile = 128;  // queries whose scores are held at a time

struct Heads {
  int64_t q, kv, d, dv;
  double scale;
  int64_t window;
  bool bf16;
};

// A run of rows that are neighbours in the whole: where they lie, and who they are.
struct Run {
  int64_t local, row, n;
};

std::vector<Run> runs_of(const std::vector<int64_t>& rows) {
  std::vector<Run> runs;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (runs.empty() || rows[i] != runs.back().row + runs.back().n)
      runs.push_back({static_cast<int64_t>(i), rows[i], 0});
    ++runs.back().n;
  }
  return runs;
}

// What one rank's queries and keys at hand have to do with each other.
class Blocks {
 public:
  Blocks(const Context& c, Heads h) : h_(h), documents_(c.documents()), mine_(runs_of(c.rows())) {}

  // f(first query, queries, first key, keys, first query's row, first key's row): tiles with anything to see.
  template <class F>
  void each(const std::vector<Run>& keys, F&& f) const {
    for (const Run& q : mine_)
      for (int64_t at = 0; at < q.n; at += kTile) {
        const int64_t n = std::min(kTile, q.n - at), last = q.row + at + n - 1;
        for (const Run& k : keys) {
          const int64_t begin = std::max(k.row, seen_from(q.row + at)), end = std::min(k.row + k.n, last + 1);
          if (end > begin) f(q.local + at, n, k.local + begin - k.row, end - begin, q.row + at, begin);
        }
      }
  }
  // Of n keys from row `first` on: those that the query of this row sees.
  std::pair<int64_t, int64_t> seen(int64_t row, int64_t first, int64_t n) const {
    const int64_t lo = std::clamp<int64_t>(seen_from(row) - first, 0, n);
    return {lo, std::clamp<int64_t>(row + 1 - first, lo, n)};
  }

 private:
  int64_t seen_from(int64_t row) const {
    const int64_t document = documents_[static_cast<size_t>(row)];
    return h_.window > 0 ? std::max(document, row + 1 - h_.window) : document;
  }
  Heads h_;
  const std::vector<int64_t>& documents_;
  std::vector<Run> mine_;
};

// Rows [begin, begin + n) of one head.
template <class T>
View<T, 2> head(const Tensor& x, int64_t begin, int64_t n, int64_t h) {
  return {
      x.data<std::remove_const_t<T>>() + (begin * x.dim(1) + h) * x.dim(2), {n, x.dim(2)}, {x.dim(1) * x.dim(2), 1}};
}

template <class T>
struct Partial {
  Tensor o, m, l;  // [n, Hq, dv], [n, Hq]: not yet divided
};

template <class T>
void forward_block(const Blocks& blocks, const Heads& h, const Tensor& q, const Tensor& k, const Tensor& v,
                   const std::vector<Run>& keys, const Partial<T>& p) {
  std::vector<T> scores;
  blocks.each(keys, [&](int64_t q0, int64_t nq, int64_t k0, int64_t nk, int64_t q_row, int64_t k_row) {
    scores.resize(static_cast<size_t>(nq * nk));
    for (int64_t i = 0; i < h.q; ++i) {
      const int64_t g = i / (h.q / h.kv);
      const View<T, 2> s{scores.data(), {nq, nk}};
      kernels::gemm<T>(head<const T>(q, q0, nq, i), head<const T>(k, k0, nk, g), s,
                       {.trans_b = true, .bf16 = h.bf16});
      const View<T, 2> o = head<T>(p.o, q0, nq, i);
      parallel_for(nq, 8, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const auto [lo, hi] = blocks.seen(q_row + r, k_row, nk);
          T* x = scores.data() + r * nk;
          T &m = p.m.template data<T>()[(q0 + r) * h.q + i], &l = p.l.template data<T>()[(q0 + r) * h.q + i], top = m;
          for (int64_t j = lo; j < hi; ++j) top = std::max(top, x[j] *= static_cast<T>(h.scale));
          const T keep = lo == hi ? T(1) : std::exp(m - top);
          T sum = 0;
          for (int64_t j = 0; j < nk; ++j) sum += x[j] = j >= lo && j < hi ? std::exp(x[j] - top) : T(0);
          l = l * keep + sum, m = top;
          for (int64_t j = 0; j < h.dv; ++j) o(r, j) *= keep;
        }
      });
      kernels::gemm<T>({scores.data(), {nq, nk}}, head<const T>(v, k0, nk, g), o, {.beta = 1, .bf16 = h.bf16});
    }
  });
}

template <class T>
struct Saved {
  Tensor q, k, v, o, lse;
};

template <class T>
void backward_block(const Blocks& blocks, const Heads& h, const Saved<T>& x, const Tensor& go, const Tensor& delta,
                    const Tensor& k, const Tensor& v, const std::vector<Run>& keys, const Tensor& gq,
                    const Tensor& gk, const Tensor& gv) {
  std::vector<T> probs, scores;
  blocks.each(keys, [&](int64_t q0, int64_t nq, int64_t k0, int64_t nk, int64_t q_row, int64_t k_row) {
    probs.resize(static_cast<size_t>(nq * nk)), scores.resize(probs.size());
    const View<T, 2> p{probs.data(), {nq, nk}}, s{scores.data(), {nq, nk}};
    for (int64_t i = 0; i < h.q; ++i) {
      const int64_t g = i / (h.q / h.kv);
      kernels::gemm<T>(head<const T>(x.q, q0, nq, i), head<const T>(k, k0, nk, g), p,
                       {.trans_b = true, .bf16 = h.bf16});
      kernels::gemm<T>(head<const T>(go, q0, nq, i), head<const T>(v, k0, nk, g), s,
                       {.trans_b = true, .bf16 = h.bf16});
      parallel_for(nq, 8, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const auto [lo, hi] = blocks.seen(q_row + r, k_row, nk);
          const T lse = x.lse.template data<T>()[(q0 + r) * h.q + i], d = delta.data<T>()[(q0 + r) * h.q + i];
          for (int64_t j = 0; j < nk; ++j) {
            const bool there = j >= lo && j < hi;
            p(r, j) = there ? std::exp(p(r, j) * static_cast<T>(h.scale) - lse) : T(0);
            s(r, j) = there ? p(r, j) * (s(r, j) - d) * static_cast<T>(h.scale) : T(0);
          }
        }
      });
      const View<const T, 2> pc{probs.data(), {nq, nk}}, sc{scores.data(), {nq, nk}};
      const kernels::GemmOptions add{.beta = 1, .bf16 = h.bf16}, add_t{.trans_a = true, .beta = 1, .bf16 = h.bf16};
      kernels::gemm<T>(pc, head<const T>(go, q0, nq, i), head<T>(gv, k0, nk, g), add_t);
      kernels::gemm<T>(sc, head<const T>(k, k0, nk, g), head<T>(gq, q0, nq, i), add);
      kernels::gemm<T>(sc, head<const T>(x.q, q0, nq, i), head<T>(gk, k0, nk, g), add_t);
    }
  });
}

// Keys and values as they stand at every rank in turn: use(k, v, runs of their rows), then on to the next rank. What
// `use` adds to gk and gv (if there) goes along and is home in the end.
template <class Use>
void go_round(const Context& c, Tensor k, Tensor v, Tensor gk, Tensor gv, Use&& use) {
  Communicator& comm = c.comm();
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
    std::vector<Transfer> moving;
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
      for (Transfer& t : moving) t.wait();
      gk = gk2, gv = gv2;
    } else {
      for (Transfer& t : moving) t.wait();
    }
    if (more) k = k2, v = v2;
  }
  if (gk.defined()) use(Tensor(), Tensor(), {}, gk, gv);  // home
}

std::vector<Run> all_runs(const Context& c) {  // rows of gathered tensors
  std::vector<int64_t> rows;
  for (int r = 0; r < c.comm().size(); ++r) rows.insert(rows.end(), c.rows_of(r).begin(), c.rows_of(r).end());
  return runs_of(rows);
}

template <class T>
Var attend_rows(Tape& tape, const Context& c, const Var& q_v, const Var& k_v, const Var& v_v, const Heads& h) {
  Saved<T> x{q_v.value.contiguous_copy_if_needed(),
             k_v.value.contiguous_copy_if_needed(),
             v_v.value.contiguous_copy_if_needed(),
             {},
             {}};
  const int64_t n = x.q.dim(0);
  const DType t = x.q.dtype();
  const auto blocks = std::make_shared<const Blocks>(c, h);
  Partial<T> p{Tensor::zeros({n, h.q, h.dv}, t), Tensor::full({n, h.q}, t, -std::numeric_limits<T>::infinity()),
               Tensor::zeros({n, h.q}, t)};
  Tensor all_k, all_v;
  if (c.form() == ContextForm::gather) {
    all_k = c.gather(x.k), all_v = c.gather(x.v);
    forward_block<T>(*blocks, h, x.q, all_k, all_v, all_runs(c), p);
  } else {
    go_round(c, x.k, x.v, {}, {}, [&](const Tensor& k, const Tensor& v, const std::vector<Run>& keys, auto&, auto&) {
      forward_block<T>(*blocks, h, x.q, k, v, keys, p);
    });
  }
  x.o = p.o, x.lse = p.m;
  parallel_for(n * h.q, 256, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T l = p.l.template data<T>()[i];
      p.m.template data<T>()[i] += std::log(l);
      for (int64_t j = 0; j < h.dv; ++j) p.o.template data<T>()[i * h.dv + j] /= l;
    }
  });
  return tape.record(x.o, {q_v, k_v, v_v}, [&c, h, x, blocks, all_k, all_v](Grads& g) {
    const Tensor go = g.out().contiguous_copy_if_needed(), delta = Tensor::empty(x.lse.shape(), x.lse.dtype());
    for (int64_t i = 0; i < delta.size(); ++i) {
      T sum = 0;
      for (int64_t j = i * h.dv; j < (i + 1) * h.dv; ++j) sum += go.data<T>()[j] * x.o.template data<T>()[j];
      delta.data<T>()[i] = sum;
    }
    const Tensor gq = Tensor::zeros(x.q.shape(), x.q.dtype());
    if (c.form() == ContextForm::gather) {
      const Tensor gk = Tensor::zeros(all_k.shape(), all_k.dtype()), gv = Tensor::zeros(all_v.shape(), all_v.dtype());
      backward_block<T>(*blocks, h, x, go, delta, all_k, all_v, all_runs(c), gq, gk, gv);
      g.add(1, c.sum_home(gk));
      g.add(2, c.sum_home(gv));
    } else {
      go_round(
          c, x.k, x.v, Tensor::zeros(x.k.shape(), x.k.dtype()), Tensor::zeros(x.v.shape(), x.v.dtype()),
          [&](const Tensor& k, const Tensor& v, const std::vector<Run>& keys, const Tensor& gk, const Tensor& gv) {
            if (k.defined()) return backward_block<T>(*blocks, h, x, go, delta, k, v, keys, gq, gk, gv);
            g.add(1, gk);
            g.add(2, gv);
          });
    }
    g.add(0, gq);
  });
}

}  // namespace

Var context_attend(Tape& tape, const Context& c, const Var& q, const Var& k, const Var& v, AttendOptions o) {
  const Heads h{q.dim(1), k.dim(1), q.dim(2), v.dim(2), o.scale, o.window, o.bf16_math && q.dtype() == DType::f32};
  return with_float(q.dtype(), [&]<class T>() { return attend_rows<T>(tape, c, q, k, v, h); });
}

}  // namespace quern
