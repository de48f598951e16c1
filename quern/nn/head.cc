// Embedding lookup, logits and the fused head loss on a tape.
#include "quern/kernels/cross_entropy/cross_entropy.h"
#include "quern/kernels/cross_entropy/head_objective.h"
#include "quern/kernels/embedding/embedding.h"
#include "quern/nn/dispatch.h"
#include "quern/nn/ops.h"
#include "quern/trace/op_counters.h"
#include "quern/trace/trace.h"

namespace quern::nn {

grad::Var embedding(grad::Tape& tape, grad::Parameter& table_VD, std::span<const int32_t> ids) {
  const trace::Span span(trace::Kind::operation, "embedding");
  grad::Var w = tape.param(table_VD);
  Tensor table = w.value;
  DType t = table.dtype() == DType::bf16 ? DType::f32 : table.dtype();
  Tensor y = Tensor::empty({static_cast<int64_t>(ids.size()), table.dim(1)}, t);
  if (table.dtype() == DType::bf16) {
    QUERN_CHECK(!tape.needs({w}), "an embedding is trained in f32");
    kernels::embedding<bf16, float>(table.view<const bf16, 2>(), ids, y.view<float, 2>());
    return y;
  }
  return with_float(t, [&]<class T>() {
    kernels::embedding<T, T>(table.view<const T, 2>(), ids, y.view<T, 2>());
    return tape.record(y, {w}, [keep = std::vector<int32_t>(ids.begin(), ids.end())](grad::Grads& g) {
      kernels::embedding_backward<T>(keep, g.out().view<const T, 2>(), g.accumulator(0).view<T, 2>());
    });
  });
}

grad::Var head_logits(grad::Tape& tape, const grad::Var& h_TD, grad::Parameter& w_VD) {
  const trace::Span span(trace::Kind::operation, "head");
  return linear(tape, h_TD, tape.param(w_VD));
}

namespace {

// A prepacked matrix is written anew for every chunk of tokens: chunks of many tokens make that a small part of their
// products.
constexpr int64_t kPackedChunkBytes = int64_t{256} << 20;

template <class T>
void set_matrix(const HeadWeight& w, kernels::HeadMatrix<T>& matrix, int64_t& chunk_bytes) {
  if (!w.packed.defined()) {
    matrix = w.value.value.view<const T, 2>();
    return;
  }
  if constexpr (std::is_same_v<T, float>) {
    matrix = {w.packed.n(), w.packed.k(), [&w](int64_t begin, View<float, 2> rows) { w.packed.rows(begin, rows); }};
    chunk_bytes = kPackedChunkBytes;
  } else {
    fail("prepacked matrices multiply f32 rows");
  }
}

void count(const Tensor& h, const HeadWeight& w) {
  if (w.packed.defined())
    trace::count_matmul(h.dim(0), w.packed.n() * w.packed.k(), w.packed.bytes());
  else
    trace::count_matmul(h.dim(0), w.value.value.size(), w.value.value.bytes());
}

// What run(g_loss, gradients) computes of {h, w}. The gradients are made with the loss, while a chunk's logits are at
// hand; backward only scales them.
template <class T, class Run>
grad::Var with_gradients(grad::Tape& tape, const std::vector<grad::Var>& inputs, Run&& run) {
  const Tensor &h = inputs[0].value, &w = inputs[1].value;
  if (!tape.needs(inputs)) return grad::Var(Tensor::full({1}, h.dtype(), run(0, {})));
  Tensor gh = Tensor::empty(h.shape(), h.dtype()),
         gw = inputs[1].needs_grad() ? Tensor::zeros(w.shape(), w.dtype()) : Tensor();
  const double loss = run(1, {gh.view<T, 2>(), gw.defined() ? gw.view<T, 2>() : View<T, 2>(), {}});
  return tape.record(Tensor::full({1}, h.dtype(), loss), inputs, [gh, gw](grad::Grads& g) {
    const double k = g.out().item();
    auto scaled = [k](const Tensor& t) {
      if (k != 1)
        for (T& x : t.span<T>()) x = static_cast<T>(x * k);
      return t;
    };
    g.add(0, scaled(gh));
    if (g.wants(1)) g.add(1, scaled(gw));
  });
}

}  // namespace

grad::Var head_loss(grad::Tape& tape, const grad::Var& h_TD, const HeadWeight& w, std::span<const int32_t> targets,
                    std::span<const double> weights) {
  const trace::Span span(trace::Kind::operation, "head and loss");
  Tensor h = h_TD.value;
  count(h, w);
  return with_float(h.dtype(), [&]<class T>() {
    Tensor weight;
    if (!weights.empty()) {
      weight = Tensor::empty({h.dim(0)}, h.dtype());
      std::copy(weights.begin(), weights.end(), weight.data<T>());
    }
    auto run = [&](double g_loss, kernels::HeadLossGrads<T> grads) {
      kernels::HeadLoss<T> in;
      in.h = h.view<const T, 2>();
      set_matrix(w, in.w, in.chunk_bytes);
      in.targets = targets;
      in.bf16 = tape.bf16();
      if (weight.defined()) in.weight = weight.view<const T, 1>();
      Arena& scratch = thread_arena();
      Arena::Scope scope(scratch);
      return kernels::head_cross_entropy<T>(in, g_loss, grads, {}, scratch);
    };
    return with_gradients<T>(tape, {h_TD, w.value}, run);
  });
}

grad::Var head_objective(grad::Tape& tape, const grad::Var& h_TD, const HeadWeight& w, const HeadTerms& terms) {
  const trace::Span span(trace::Kind::operation, "head and loss");
  Tensor h = h_TD.value;
  count(h, w);
  if (terms.rows) {
    QUERN_CHECK(h.dtype() == DType::f32, "objectives of rows are of f32 logits");
    return with_gradients<float>(tape, {h_TD, w.value}, [&](double, kernels::HeadLossGrads<float> grads) {
      kernels::HeadRows<float> in;
      in.h = h.view<const float, 2>();
      in.bf16 = tape.bf16();
      set_matrix(w, in.w, in.chunk_bytes);
      Arena& scratch = thread_arena();
      Arena::Scope scope(scratch);
      return kernels::head_rows<float>(in, *terms.rows, grads, scratch);
    });
  }
  return with_float(h.dtype(), [&]<class T>() {
    return with_gradients<T>(tape, {h_TD, w.value}, [&](double g_loss, kernels::HeadLossGrads<T> grads) {
      kernels::HeadObjective<T> in;
      in.h = h.view<const T, 2>();
      set_matrix(w, in.w, in.chunk_bytes);
      in.targets = terms.targets;
      in.temperature = terms.temperature;
      in.bf16 = tape.bf16();
      Arena& scratch = thread_arena();
      Arena::Scope scope(scratch);
      return kernels::head_objective<T>(in, terms.f, g_loss, grads, scratch);
    });
  });
}

}  // namespace quern::nn
