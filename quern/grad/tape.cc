#include "quern/grad/tape.h"

#include "quern/base/threads.h"

namespace quern::grad {
namespace {

constexpr int64_t kAddGrain = 32768;  // elements a thread should get before a second one pays

template <class T>
void add_into(const Tensor& dst, const Tensor& src) {
  T* d = dst.data<T>();
  const T* s = src.data<T>();
  parallel_for(dst.size(), kAddGrain, [&](int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) d[i] += s[i];
  });
}

// Gradients of bf16 parameters are kept in f32: sums over a batch would drown in bf16.
DType gradient_dtype(DType value) { return value == DType::bf16 ? DType::f32 : value; }

// dst += src, elementwise.
void add_into(const Tensor& dst, const Tensor& src) {
  QUERN_CHECK(dst.shape() == src.shape() && dst.dtype() == src.dtype(), "gradient {} {} += {} {}",
              dtype_name(dst.dtype()), to_string(dst.shape()), dtype_name(src.dtype()), to_string(src.shape()));
  Tensor s = src.contiguous_copy_if_needed();
  if (dst.dtype() == DType::f64)
    add_into<double>(dst, s);
  else
    add_into<float>(dst, s);
}

}  // namespace

bool Grads::has_out(int output) const { return tape_.nodes_[node_].grads[output].defined(); }

const Tensor& Grads::out(int output) {
  Tape::Node& n = tape_.nodes_[node_];
  if (!n.grads[output].defined()) n.grads[output] = Tensor::zeros(n.shapes[output], n.dtype);
  return n.grads[output];
}

bool Grads::wants(int input) const { return tape_.nodes_[node_].inputs[input].needs_grad(); }

void Grads::add(int input, Tensor g) {
  const Var& v = tape_.nodes_[node_].inputs[input];
  if (v.needs_grad()) tape_.accumulate(v.node, v.output, std::move(g));
}

Tensor Grads::accumulator(int input) {
  const Var& v = tape_.nodes_[node_].inputs[input];
  QUERN_CHECK(v.needs_grad());
  Tape::Node& n = tape_.nodes_[v.node];
  Tensor& slot = n.parameter ? n.parameter->grad : n.grads[v.output];
  if (!slot.defined())
    slot = Tensor::zeros(n.shapes[v.output], n.dtype);
  else if (!slot.unique() || !slot.contiguous())
    slot = slot.clone();
  return slot;
}

Var Tape::param(Parameter& p) {
  if (on_parameter) on_parameter(p);
  QUERN_CHECK(p.value.defined(), "parameter of shape {} has no value", to_string(p.shape));
  Var v(p.value);
  if (seen_ && p.trainable) seen_->push_back(&p);
  if (!recording() || !p.trainable) return v;
  auto [it, fresh] = leaves_.try_emplace(&p, static_cast<int32_t>(nodes_.size()));
  if (fresh) {
    Node n;
    n.parameter = &p;
    n.grads.resize(1);
    n.shapes = {p.value.shape()};
    n.dtype = gradient_dtype(p.value.dtype());
    nodes_.push_back(std::move(n));
  }
  v.node = it->second;
  return v;
}

Var Tape::input(Tensor t) {
  Var v(std::move(t));
  if (!recording()) return v;
  Node n;
  n.grads.resize(1);
  n.shapes = {v.value.shape()};
  n.dtype = v.value.dtype();
  n.keep_grad = true;
  v.node = static_cast<int32_t>(nodes_.size());
  nodes_.push_back(std::move(n));
  return v;
}

bool Tape::needs(const std::vector<Var>& inputs) const {
  if (!recording()) return false;
  for (const Var& v : inputs)
    if (v.needs_grad()) return true;
  return false;
}

std::vector<Var> Tape::keep(std::vector<Tensor> values, std::vector<Var> inputs, Backward backward) {
  std::vector<Var> out(values.begin(), values.end());
  if (!needs(inputs)) return out;
  Node n;
  for (Var& v : inputs) v.value = Tensor();
  n.inputs = std::move(inputs);
  n.grads.resize(values.size());
  n.dtype = values[0].dtype();
  for (const Tensor& v : values) n.shapes.push_back(v.shape());
  n.backward = std::move(backward), n.operation = trace::operation_now();
  for (size_t i = 0; i < out.size(); ++i) {
    out[i].node = static_cast<int32_t>(nodes_.size());
    out[i].output = static_cast<int32_t>(i);
  }
  nodes_.push_back(std::move(n));
  return out;
}

void Tape::accumulate(int32_t node, int32_t output, Tensor g) {
  Node& n = nodes_[node];
  Tensor& slot = n.parameter ? n.parameter->grad : n.grads[output];
  if (!slot.defined()) {
    QUERN_CHECK(g.shape() == n.shapes[output], "gradient {} for a value {}", to_string(g.shape()),
                to_string(n.shapes[output]));
    // A parameter's gradient outlives this pass: never a handle on somebody else's buffer.
    slot = n.parameter && !g.unique() ? g.clone() : std::move(g);
    return;
  }
  if (!slot.unique() || !slot.contiguous()) slot = slot.clone();  // the first contribution may still be shared
  add_into(slot, g);
}

void Tape::backward(const Var& loss, double seed) {
  QUERN_CHECK(loss.value.size() == 1, "loss has shape {}", to_string(loss.value.shape()));
  backward({loss}, {Tensor::full(loss.value.shape(), loss.dtype(), seed)});
}

void Tape::backward(const std::vector<Var>& outputs, const std::vector<Tensor>& grads) {
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].needs_grad()) accumulate(outputs[i].node, outputs[i].output, grads[i]);
  run();
}

void Tape::run() {
  for (int32_t i = static_cast<int32_t>(nodes_.size()) - 1; i >= 0; --i) {
    if (nodes_[i].parameter) {
      if (on_grad_ready && nodes_[i].parameter->grad.defined()) on_grad_ready(*nodes_[i].parameter);
      continue;
    }
    if (!nodes_[i].backward) continue;
    bool reached = false;
    for (const Tensor& g : nodes_[i].grads) reached = reached || g.defined();
    Backward fn = std::move(nodes_[i].backward);
    nodes_[i].backward = nullptr;
    if (reached) {
      trace::Span span;
      if (trace::recording())
        span.begin(trace::Kind::operation, nodes_[i].operation.empty() ? "other" : nodes_[i].operation);
      span.backward();
      Grads g(*this, i);
      fn(g);
    }
    if (!nodes_[i].keep_grad)
      for (Tensor& g : nodes_[i].grads) g = Tensor();
  }
}

Tensor Tape::grad(const Var& v) const { return v.needs_grad() ? nodes_[v.node].grads[v.output] : Tensor(); }

std::vector<Var> Tape::recompute(const std::vector<Var>& inputs, Body body) {
  if (!recording()) return body(*this, inputs);
  std::vector<Tensor> in_values, out_values;
  for (const Var& v : inputs) in_values.push_back(v.value);
  std::vector<Parameter*> used;
  {
    Tape plain(inference, precision_);
    plain.seen_ = &used;
    plain.on_parameter = on_parameter;
    for (Var& v : body(plain, {in_values.begin(), in_values.end()})) out_values.push_back(std::move(v.value));
  }
  // The body's parameters are inputs of this op: it then counts as needing a gradient even when no input does, and
  // grad_ready of a parameter waits for it. Their gradients are added by the inner tape, straight into
  // Parameter::grad.
  std::vector<Var> tracked = inputs;
  for (Parameter* p : used) tracked.push_back(param(*p));
  return record_many(out_values, tracked, [in_values, body, precision = precision_](Grads& g) {
    Tape inner(training, precision);
    std::vector<Var> fresh;
    for (size_t i = 0; i < in_values.size(); ++i)
      fresh.push_back(g.wants(static_cast<int>(i)) ? inner.input(in_values[i]) : Var(in_values[i]));
    std::vector<Var> outs = body(inner, fresh);
    std::vector<Tensor> seeds;
    for (size_t i = 0; i < outs.size(); ++i) seeds.push_back(g.out(static_cast<int>(i)));
    inner.backward(outs, seeds);
    for (size_t i = 0; i < in_values.size(); ++i)
      if (Tensor t = inner.grad(fresh[i]); t.defined()) g.add(static_cast<int>(i), t);
  });
}

}  // namespace quern::grad
