// Tape: reverse-mode automatic differentiation. Layers are written once, as forward code that records its backward.
//
//   Tape tape;                                  // Tape tape(Tape::inference) records nothing and keeps nothing
//   Var h = linear(tape, x, w);                 // an op computes its value, then calls tape.record(…)
//   tape.backward(loss);                        // fills Parameter::grad (adding) and input gradients
//
// Gradients of activations: the first consumer assigns, later ones add. Gradients of parameters always add, until
// zero_grad, and are f32 at least. A node may have several outputs. A backward function runs at most once. Ops live
// next to their layer (quern/nn, quern/mixers, quern/ffn), forward and backward side by side.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "quern/tensor/tensor.h"
#include "quern/trace/trace.h"

namespace quern::nn {
struct BatchAdapters;  // nn/row_adapters.h
}

namespace quern::grad {

// How a parameter starts when a model is made from nothing.
struct Init {
  enum class Kind { normal, constant, drawn } kind = Kind::normal;
  double value = 0.02;               // standard deviation, or the constant
  std::optional<double> last = {};   // the last element's own constant (the skip class's bias)
  double (*draw)(double) = nullptr;  // drawn: a value for each number of [0, 1)
  static Init normal(double std = 0.02) { return {.kind = Kind::normal, .value = std}; }
  static Init constant(double v) { return {.kind = Kind::constant, .value = v}; }
  static Init drawn(double (*draw)(double)) { return {.kind = Kind::drawn, .draw = draw}; }
};

// What a parameter is to an optimizer; its layer says so. Plain ones (norms, biases, convolutions, temperatures,
// decays, residual scales) are never decayed and never orthogonalized, so a new layer is safe until it says more.
enum class ParameterKind : uint8_t { plain, matrix, embedding, head, balance };

struct Parameter {
  Shape shape;
  Init init;
  Tensor value;           // undefined until loaded or initialized
  Tensor grad;            // undefined until the first backward
  bool trainable = true;  // false: a buffer (balancing biases), saved and loaded but never given a gradient
  bool matrix = false;    // a large product operand: may stay in the checkpoint's bf16 until pack()
  bool optional = false;  // may be absent from a checkpoint (then it keeps its initial value)
  ParameterKind kind = ParameterKind::plain;
  int fused = 1;  // equal parts one upon the other that are matrices of their own (gate and up: 2)

  Parameter() = default;
  Parameter(Shape s, Init i) : shape(std::move(s)), init(i) {}
  bool defined() const { return !shape.empty(); }  // false: this model has no such parameter
  void zero_grad() {
    if (grad.defined()) grad.fill(0);
  }
};

// A value that may be on a tape. Cheap to copy.
struct Var {
  Tensor value;
  int32_t node = -1;  // -1: a constant, no gradient
  int32_t output = 0;
  Var() = default;
  Var(Tensor v) : value(std::move(v)) {}
  bool needs_grad() const { return node >= 0; }
  int64_t dim(int i) const { return value.dim(i); }
  DType dtype() const { return value.dtype(); }
};

// What a backward function sees of its node.
class Grads {
 public:
  bool has_out(int output = 0) const;
  const Tensor& out(int output = 0);  // gradient of an output; zeros if nothing consumed it
  bool wants(int input) const;        // does this input need a gradient?
  void add(int input, Tensor g);      // contributes g (assigns or adds)
  Tensor accumulator(int input);      // a buffer to += into: the parameter's grad, or a zeroed one

 private:
  friend class Tape;
  Grads(class Tape& t, int32_t node) : tape_(t), node_(node) {}
  Tape& tape_;
  int32_t node_;
};

using Backward = std::function<void(Grads&)>;

// bf16: large products round their operands to bf16 and sum in f32; everything else stays f32.
enum class Precision { f32, bf16 };

class Tape {
 public:
  enum Mode { training, inference };
  explicit Tape(Mode mode = training, Precision precision = Precision::f32) : mode_(mode), precision_(precision) {}
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  bool recording() const { return mode_ == training; }
  Precision precision() const { return precision_; }
  bool bf16() const { return precision_ == Precision::bf16; }
  Var param(Parameter& p);  // a leaf; the same parameter gives the same leaf
  Var input(Tensor t);      // a leaf whose gradient can be read back with grad()

  // Records an op. If no input needs a gradient, or the tape is for inference, nothing is kept.
  template <class F>
  Var record(Tensor value, std::vector<Var> inputs, F&& backward) {
    if (!recording()) return Var(std::move(value));
    return std::move(keep({std::move(value)}, std::move(inputs), Backward(std::forward<F>(backward)))[0]);
  }
  template <class F>
  std::vector<Var> record_many(std::vector<Tensor> values, std::vector<Var> inputs, F&& backward) {
    if (!recording()) return {values.begin(), values.end()};
    return keep(std::move(values), std::move(inputs), Backward(std::forward<F>(backward)));
  }
  bool needs(const std::vector<Var>& inputs) const;  // would record() keep this op? (save less when not)

  void backward(const Var& loss, double seed = 1.0);  // loss: one element
  void backward(const std::vector<Var>& outputs, const std::vector<Tensor>& grads);
  Tensor grad(const Var& v) const;  // after backward; undefined if none arrived

  std::function<void(Parameter&)> on_parameter;   // called before a parameter's values are read
  std::function<void(Parameter&)> on_grad_ready;  // called once a parameter's last use has been differentiated

  // Which rows of this pass have low-rank paths of their own beside the weights; null: none. For inference.
  const nn::BatchAdapters* adapters = nullptr;
  bool bare = false;  // low-rank paths stand aside: the frozen model alone

  // Runs body without keeping its intermediate values and runs it again during backward (less memory, more time).
  // body must be a pure function of its inputs, parameters and counter-based random numbers.
  using Body = std::function<std::vector<Var>(Tape&, const std::vector<Var>&)>;
  std::vector<Var> recompute(const std::vector<Var>& inputs, Body body);

  // A layer of a model: plain, or recomputed on a tape that is told to save memory so.
  std::vector<Var> layer(const std::vector<Var>& inputs, Body body) {
    const trace::Span span(trace::Kind::layer, "layer", layers_++);
    return recompute_layers ? recompute(inputs, std::move(body)) : body(*this, inputs);
  }
  bool recompute_layers = false;

 private:
  friend class Grads;
  struct Node {
    std::vector<Var> inputs;  // values dropped: only node and output are kept
    std::vector<Tensor> grads;
    std::vector<Shape> shapes;
    DType dtype = DType::f32;
    Backward backward;
    std::string operation;  // the name of what recorded it, in a trace
    Parameter* parameter = nullptr;
    bool keep_grad = false;
  };
  std::vector<Var> keep(std::vector<Tensor> values, std::vector<Var> inputs, Backward backward);
  void accumulate(int32_t node, int32_t output, Tensor g);
  void run();

  Mode mode_;
  Precision precision_;
  int64_t layers_ = 0;
  std::vector<Parameter*>* seen_ = nullptr;  // when set: every trainable parameter asked for
  std::vector<Node> nodes_;
  std::unordered_map<Parameter*, int32_t> leaves_;
};

}  // namespace quern::grad
