#include "quern/ffn/moe/exchange.h"

#include <cstring>
#include <numeric>

#include "quern/nn/dispatch.h"

namespace quern::ffn {

struct ExpertExchange::Ways {
  comm::Communicator& group;
  int64_t tokens, slots;
  std::vector<int64_t> pair;            // t·k + s of what goes out, in the order it goes
  std::vector<int64_t> sent, received;  // pairs, by peer
  int64_t arrived = 0;
  Tensor expert_R1;

  std::vector<int64_t> times(const std::vector<int64_t>& counts, int64_t n) const {
    std::vector<int64_t> c = counts;
    for (int64_t& x : c) x *= n;
    return c;
  }

  // Rows pair/per of x to where their experts are.
  Tensor out(const Tensor& x, int64_t per) const {
    const int64_t N = x.dim(1), n = static_cast<int64_t>(pair.size());
    Tensor mine = Tensor::empty({n, N}, x.dtype()), theirs = Tensor::empty({arrived, N}, x.dtype());
    const Tensor rows = x.contiguous() ? x : x.clone();
    const auto bytes = static_cast<size_t>(N * dtype_size(x.dtype()));
    for (size_t i = 0; i < pair.size(); ++i)
      std::memcpy(static_cast<std::byte*>(mine.raw()) + i * bytes,
                  static_cast<const std::byte*>(rows.raw()) + static_cast<size_t>(pair[i] / per) * bytes, bytes);
    group.all_to_all(mine, times(sent, N), theirs, times(received, N));
    return theirs;
  }

  // The other way: y[pair/per] += what comes back, `rows` of them.
  Tensor back(const Tensor& x, int64_t per, int64_t rows) const {
    const int64_t N = x.dim(1);
    Tensor mine = Tensor::empty({static_cast<int64_t>(pair.size()), N}, x.dtype());
    group.all_to_all(x.contiguous() ? x : x.clone(), times(received, N), mine, times(sent, N));
    Tensor y = Tensor::zeros({rows, N}, x.dtype());
    nn::with_float(x.dtype(), [&]<class F>() {
      for (size_t i = 0; i < pair.size(); ++i) {
        F* to = y.data<F>() + pair[i] / per * N;
        const F* from = mine.data<F>() + static_cast<int64_t>(i) * N;
        for (int64_t c = 0; c < N; ++c) to[c] += from[c];
      }
    });
    return y;
  }
};

ExpertExchange::ExpertExchange(comm::Communicator& group, const Tensor& expert_Tk, int64_t n_experts) {
  const int64_t T = expert_Tk.dim(0), k = expert_Tk.dim(1);
  const int n = group.size();
  std::vector<int> owner(static_cast<size_t>(n_experts));
  for (int r = 0; r < n; ++r) {
    const comm::Range c = comm::even_range(n_experts, n, r);
    std::fill(owner.begin() + c.begin, owner.begin() + c.end, r);
  }
  auto ways = std::make_shared<Ways>(Ways{group, T, k, {}, {}, {}, 0, {}});
  const auto e = expert_Tk.span<int32_t>();
  std::vector<int32_t> experts;
  ways->sent.resize(static_cast<size_t>(n)), ways->received.resize(static_cast<size_t>(n));
  for (int r = 0; r < n; ++r)
    for (int64_t i = 0; i < T * k; ++i) {
      const int32_t x = e[static_cast<size_t>(i)];
      if (x < 0 || x >= n_experts || owner[static_cast<size_t>(x)] != r) continue;
      ways->pair.push_back(i), experts.push_back(x);
      ++ways->sent[static_cast<size_t>(r)];
    }
  const std::vector<int64_t> one(static_cast<size_t>(n), 1);
  group.all_to_all(ways->sent, one, ways->received, one);
  ways->arrived = std::accumulate(ways->received.begin(), ways->received.end(), int64_t{0});
  ways->expert_R1 = Tensor::empty({ways->arrived, 1}, DType::i32);
  group.all_to_all(experts, ways->sent, ways->expert_R1, ways->received);
  ways_ = std::move(ways);
}

const Tensor& ExpertExchange::expert_R1() const { return ways_->expert_R1; }

grad::Var ExpertExchange::send_tokens(grad::Tape& tape, const grad::Var& x_TD) const {
  return tape.record(ways_->out(x_TD.value, ways_->slots), {x_TD},
                     [w = ways_](grad::Grads& g) { g.add(0, w->back(g.out(), w->slots, w->tokens)); });
}

grad::Var ExpertExchange::send_weights(grad::Tape& tape, const grad::Var& w_Tk) const {
  const int64_t n = ways_->tokens * ways_->slots;
  const Tensor w = w_Tk.value.contiguous() ? w_Tk.value : w_Tk.value.clone();
  return tape.record(ways_->out(w.reshape({n, 1}), 1), {w_Tk}, [w = ways_, n](grad::Grads& g) {
    g.add(0, w->back(g.out(), 1, n).reshape({w->tokens, w->slots}));
  });
}

grad::Var ExpertExchange::home(grad::Tape& tape, const grad::Var& y_RD) const {
  return tape.record(ways_->back(y_RD.value, ways_->slots, ways_->tokens), {y_RD},
                     [w = ways_](grad::Grads& g) { g.add(0, w->out(g.out(), w->slots)); });
}

}  // namespace quern::ffn
