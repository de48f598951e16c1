#include "quern/nn/linear.h"

#include "quern/nn/dispatch.h"
#include "quern/nn/frozen_linear.h"
#include "quern/nn/ops.h"
#include "quern/nn/rows.h"
#include "quern/trace/op_counters.h"
#include "quern/trace/trace.h"

namespace quern::nn {

Linear::Linear(int64_t n, int64_t k, Bias with_bias, grad::Init init) : weight({n, k}, init) {
  weight.matrix = true;
  weight.kind = grad::ParameterKind::matrix;
  if (with_bias == Bias::yes) bias = grad::Parameter({n}, grad::Init::constant(0));
}

void Linear::visit(const std::string& prefix, const ParameterVisitor& v) {
  name = prefix + ".weight";
  v(name, weight);
  if (bias.defined()) v(prefix + ".bias", bias);
}

void Linear::pack(const WeightPrepacking& t) {
  if (!t.packs()) return;
  packed = t.matrix(name, weight.shape[0], weight.shape[1], [&] { return weight.value; });
  low_rank = t.low_rank(name, weight.shape[0], weight.shape[1]);
  weight.value = Tensor();
}

grad::Var linear(grad::Tape& tape, const grad::Var& x_TK, const grad::Var& w_NK, grad::Precision precision) {
  const trace::Span span(trace::Kind::operation, "linear");
  const bool bf16 = precision == grad::Precision::bf16;
  Tensor x = x_TK.value, w = w_NK.value.to(x.dtype());
  Tensor y = Tensor::empty({x.dim(0), w.dim(0)}, x.dtype());
  trace::count_matmul(x.dim(0), w.size(), w.bytes());
  with_float(x.dtype(), [&]<class T>() {
    kernels::gemm<T>(x.view<const T, 2>(), w.view<const T, 2>(), y.view<T, 2>(), {.trans_b = true, .bf16 = bf16});
  });
  return tape.record(y, {x_TK, w_NK}, [x, w, bf16](grad::Grads& g) {
    with_float(x.dtype(), [&]<class T>() {
      auto gy = g.out().view<const T, 2>();
      if (g.wants(0)) {
        Tensor gx = Tensor::empty(x.shape(), x.dtype());
        kernels::gemm<T>(gy, w.view<const T, 2>(), gx.view<T, 2>(), {.bf16 = bf16});
        g.add(0, gx);
      }
      if (g.wants(1))
        kernels::gemm<T>(gy, x.view<const T, 2>(), g.accumulator(1).view<T, 2>(),
                         {.trans_a = true, .beta = 1, .bf16 = bf16});
    });
  });
}

grad::Var linear(grad::Tape& tape, const grad::Var& x_TK, Linear& l) {
  if (l.packed.defined()) {
    const grad::Var y = frozen_linear(tape, x_TK, l.packed, l.bias.value, {l.weight.shape[0]})[0];
    return l.low_rank.beside(tape, y, x_TK);
  }
  grad::Var y = linear(tape, x_TK, tape.param(l.weight), l.weight.matrix ? tape.precision() : grad::Precision::f32);
  return l.bias.defined() ? add_bias(tape, y, l.bias) : y;
}

void LinearGroup::pack(const WeightPrepacking& t) {
  if (!t.packs()) return;
  int64_t rows = 0, k = parts_[0].weight.shape[1];
  std::string names;
  bool biased = false;
  for (Linear& l : parts_) {
    rows += l.weight.shape[0], biased = biased || l.bias.defined();
    names += (names.empty() ? "" : " + ") + l.name;
  }
  packed_ = t.matrix(names, rows, k, [&] {
    Tensor all = Tensor::empty({rows, k}, parts_[0].weight.value.dtype());
    for (int64_t at = 0; Linear & l : parts_) {
      all.narrow(0, at, l.weight.shape[0]).copy_from(l.weight.value);
      at += l.weight.shape[0];
    }
    return all;
  });
  if (biased) packed_bias_ = Tensor::zeros({rows}, DType::f32);
  for (int64_t at = 0; Linear & l : parts_) {
    if (l.bias.defined()) packed_bias_.narrow(0, at, l.weight.shape[0]).copy_from(l.bias.value);
    l.weight.value = Tensor();
    l.low_rank = t.low_rank(l.name, l.weight.shape[0], k);
    at += l.weight.shape[0];
  }
}

std::vector<grad::Var> LinearGroup::forward_packed(grad::Tape& tape, const grad::Var& x_TK,
                                                   const std::vector<int>& outputs,
                                                   const std::vector<int64_t>& widths) const {
  std::vector<grad::Var> y = frozen_linear(tape, x_TK, packed_, packed_bias_, widths);
  auto l = parts_.begin();
  for (size_t o = 0; o < outputs.size(); ++o)
    for (int64_t i = 0, at = 0; i < outputs[o]; ++i, at += l->weight.shape[0], ++l)
      y[o] = l->low_rank.beside(tape, y[o], x_TK, at);
  return y;
}

std::vector<grad::Var> LinearGroup::forward(grad::Tape& tape, const grad::Var& x_TK,
                                            const std::vector<int>& outputs) {
  const trace::Span span(trace::Kind::operation, "linear");
  struct Columns {  // where a part's columns go, and its inputs on the tape
    size_t output;
    int64_t begin, n;
    int weight, bias;  // bias: -1 = none
  };
  std::vector<Columns> places;
  std::vector<int64_t> widths;
  std::vector<Linear*> used;
  for (auto l = parts_.begin(); int count : outputs) {
    widths.push_back(0);
    for (int i = 0; i < count; ++i, ++l) {
      places.push_back({widths.size() - 1, widths.back(), l->weight.shape[0], 0, -1});
      widths.back() += l->weight.shape[0];
      used.push_back(&*l);
    }
  }
  QUERN_CHECK(used.size() == parts_.size(), "{} of {} parts in outputs", used.size(), parts_.size());
  if (packed_.defined()) return forward_packed(tape, x_TK, outputs, widths);

  std::vector<grad::Var> inputs = {x_TK};
  for (size_t i = 0; i < used.size(); ++i) {
    places[i].weight = static_cast<int>(inputs.size());
    inputs.push_back(tape.param(used[i]->weight));
    if (!used[i]->bias.defined()) continue;
    places[i].bias = static_cast<int>(inputs.size());
    inputs.push_back(tape.param(used[i]->bias));
  }
  Tensor x = x_TK.value;
  const bool bf16 = tape.bf16();
  std::vector<Tensor> y, w;
  for (int64_t n : widths) y.push_back(Tensor::empty({x.dim(0), n}, x.dtype()));
  return with_float(x.dtype(), [&]<class T>() {
    for (const Columns& p : places) {
      w.push_back(inputs[p.weight].value.to(x.dtype()));
      trace::count_matmul(x.dim(0), w.back().size(), w.back().bytes());
      Tensor columns = y[p.output].narrow(1, p.begin, p.n);
      for (int64_t t = 0; p.bias >= 0 && t < x.dim(0); ++t)
        std::copy_n(inputs[p.bias].value.data<T>(), p.n, columns.view<T, 2>().row(t));
      kernels::gemm<T>(x.view<const T, 2>(), w.back().template view<const T, 2>(), columns.view<T, 2>(),
                       {.trans_b = true, .beta = p.bias >= 0 ? 1.0 : 0.0, .bf16 = bf16});
    }
    return tape.record_many(y, inputs, [x, w, places, bf16](grad::Grads& g) {
      Tensor gx = g.wants(0) ? Tensor::empty(x.shape(), x.dtype()) : Tensor();
      for (size_t i = 0; i < places.size(); ++i) {
        const Columns& p = places[i];
        Tensor gy = g.out(static_cast<int>(p.output)).narrow(1, p.begin, p.n);
        auto gv = gy.view<const T, 2>();
        if (gx.defined())
          kernels::gemm<T>(gv, w[i].template view<const T, 2>(), gx.view<T, 2>(),
                           {.beta = i == 0 ? 0.0 : 1.0, .bf16 = bf16});
        if (g.wants(p.weight))
          kernels::gemm<T>(gv, x.view<const T, 2>(), g.accumulator(p.weight).template view<T, 2>(),
                           {.trans_a = true, .beta = 1, .bf16 = bf16});
        if (p.bias >= 0 && g.wants(p.bias)) add_column_sums<T>(gv, {}, g.accumulator(p.bias).template view<T, 1>());
      }
      if (gx.defined()) g.add(0, gx);
    });
  });
}

}  // namespace quern::nn
